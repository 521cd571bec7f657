"""What a job in this process takes in: rows of its streams, changes of its tables, and the time that is told.

Rows become lanes and go straight to the ports of the shard; those that need a closer look, changes of tables, and what time is
told, are packets here too.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from sash.deltas import Int64s
from sash.plan.streams import StreamSpec
from sash.planner.job import Job
from sash.runtime.entrance import Came, Entrance
from sash.runtime.history_limit import History
from sash.runtime.keeping_host import KeepingHost, Rest
from sash.runtime.losses import LossWarnings, unreadable_rows
from sash.runtime.lost_rows import LostRows
from sash.runtime.observing import StreamObserver
from sash.runtime.packets import OUTSIDE, AsTheyAre, Cargo, Packet
from sash.runtime.packing import DEAD_SCHEMA, NO_DEAD, pack_split, part, to_everyone
from sash.runtime.progress import Progress
from sash.runtime.shard import Outcome
from sash.schema import BEGINNING
from sash.stores.arena import Arena

Changes = dict[str, list[pa.RecordBatch]]

AS_THEY_ARE = AsTheyAre()


class TakingHost(KeepingHost):
    """Takes rows, step by step."""

    def __init__(self, job: Job, arena: Arena | None, history: History, histories: Mapping[str, History], rest: Rest) -> None:
        super().__init__(job, arena, history, histories, rest)
        self.late: dict[str, LostRows] = {}
        self.dead: dict[str, LostRows] = {}
        self._orders: dict[str, int] = {}
        self._started = self._stepped = self._begun
        self._steps, self._rows, self._last_step = 0, 0, 0.0
        self._is_end = False  # whether nothing has come since the end of the input
        self._warnings = LossWarnings()
        self._observers: dict[str, StreamObserver] = {}
        self._entrances: dict[str, Entrance] = {}
        self._watch_streams()

    def _watch_streams(self) -> None:
        read = {stream.name for stream in self.job.streams}
        self._entrances = {name: entrance for name, entrance in self._entrances.items() if name in read}
        for stream in self.job.streams:
            self.late.setdefault(stream.name, LostRows(self._history))
            self.dead.setdefault(stream.name, LostRows(self._history))
            self._observers.setdefault(stream.name, StreamObserver(stream))
            if stream.name not in self._entrances or self._entrances[stream.name].spec != stream:
                self._entrances[stream.name] = Entrance(stream, self._shard.interner)

    def reads(self, stream: str) -> bool:
        """Whether a view reads a stream."""
        return stream in self._entrances

    def take(self, stream: str, rows: pa.RecordBatch, dead: pa.RecordBatch, arrival: int | None = None) -> None:
        """Rows of a stream, in their order; `arrival` stamps the first one where arrivals are stamped."""
        started = time.monotonic()
        self._shard.prepare()
        came = self._entrances[stream].read(rows, arrival, self._shard.clocks[stream].late_below)
        if came is None:
            self.step(self.packets(stream, rows, dead, arrival))
            return
        self._observers[stream].observe(rows)
        if dead.num_rows:
            self.dead[stream].append(dead)
            self._warnings.hear([unreadable_rows(stream, dead)], self.job.streams)
        self._take_lanes(stream, came, started)

    def lanes(self, stream: str, rows: object) -> Int64s | None:
        """Few rows of a stream as programs have them, for `take_lanes`, if it is plain what they are."""
        self._shard.prepare()
        return self._entrances[stream].lanes(rows)

    def take_lanes(self, stream: str, lanes: Int64s, arrival: int | None) -> None:
        """The same of rows that are lanes."""
        started, entrance = time.monotonic(), self._entrances[stream]
        came = entrance.with_times(lanes, arrival, self._shard.clocks[stream].late_below)
        if came is None:
            self.step(self.packets(stream, entrance.columns(lanes), NO_DEAD, arrival))
            return
        if self._observers[stream].counts(len(lanes)):
            self._observers[stream].look_at(entrance.columns(lanes))
        self._take_lanes(stream, came, started)

    def _take_lanes(self, stream: str, came: Came, started: float) -> None:
        self._rows, self._begun = self._rows + len(came.delta.ts), started
        out = self._shard.take(stream, came)
        self._clockwork.reached(came.greatest, started)
        self._take_out(out)

    def take_unread(self, stream: StreamSpec, rows: pa.RecordBatch, arrival: int | None) -> None:
        """Rows came that no view reads; only how late it is is known of them."""
        ts = part(stream, rows, arrival).ts
        if ts is not None and len(ts):
            self._shard.clocks.unread(stream, int(ts.min()), int(ts.max()))

    def packets(self, stream: str, rows: pa.RecordBatch, dead: pa.RecordBatch, arrival: int | None) -> Iterable[Packet]:
        order = self._orders[stream] = self._orders.get(stream, 0) + 1
        self._observers[stream].observe(rows)
        return pack_split(self.job, self.job.stream(stream), order, rows, dead, arrival, AS_THEY_ARE)

    def advance(self, clock: int, stream: str = "", unread: Sequence[str] = ()) -> None:
        """No row before `clock` will come any more; `unread` are the streams that no view reads."""
        self.step(self._control({"advance": clock, "unread": list(unread)}, stream))

    def end(self, until: int | None = None, unread: Sequence[str] = ()) -> None:
        self.step(self._control({"end": 1, "until": until, "unread": list(unread)}))
        self._is_end = True

    def tell(self, now: int) -> None:
        """It is now this instant, for those who ask for the time and read no stream."""
        self.step(self._control({"tell": now}))

    def limit(self, until: int) -> None:
        """Nothing after this instant is to be shown."""
        self.step(self._control({"until": until}))

    def _control(self, facts: dict[str, Any], stream: str = "") -> Iterable[Packet]:
        return to_everyone(self.job, Cargo.CONTROL, stream, 0, facts)

    def step(self, packets: Iterable[Packet]) -> None:
        self._begun, came = time.monotonic(), list(packets)
        out = self._shard.work(came)
        self._rows += sum(packet.told()["rows"] for packet in came if packet.cargo is Cargo.SPLIT)
        self._clockwork.reached(self.now, self._begun)
        out.rows += [packet for packet in came if packet.level == OUTSIDE]
        self._take_out(out)

    def _take_out(self, out: Outcome) -> None:
        self._take_part(out)
        for packet in out.rows:
            if packet.cargo is Cargo.LATE:
                self.late[packet.name].add(packet.batch(), self.event_time)
            elif packet.cargo is Cargo.DEAD:
                self.dead[packet.name].add(packet.batch(), self.event_time)
        if out.rows:
            self._warnings.hear(out.rows, self.job.streams)
        now = time.monotonic()
        self._steps += 1
        self._last_step, self._stepped, self._is_end = now - self._stepped, now, False

    def taken_rows(self) -> dict[str, Changes]:
        """All changes, late and dead rows since the last call; they are kept no longer."""
        changes = {kept: kept.changes.taken() for kept in self._kept.values()}
        return {
            "changes": {name: changes[shown.kept] for name, shown in self.views.items()},
            "late": {name: log.taken() for name, log in self.late.items()},
            "dead": {name: log.taken() for name, log in self.dead.items()},
        }

    def lost(self, stream: StreamSpec, cargo: Cargo) -> pa.Table:
        """The rows of a stream that were late, or the letters for those that could not be read: the newest, as far as kept."""
        logs, schema = (self.late, stream.schema.arrow) if cargo is Cargo.LATE else (self.dead, DEAD_SCHEMA)
        return pa.Table.from_batches(logs[stream.name].batches() if stream.name in logs else [], schema)

    @property
    def is_finished(self) -> bool:
        """Was the end of the input the last that came?"""
        return self._is_end

    @property
    def progress(self) -> Progress:
        """What has come and gone so far."""
        late, dead = (sum(log.count for log in logs.values()) for logs in (self.late, self.dead))
        return Progress(
            self._steps - 1, self._last_step, self._stepped - self._started, self._rows, self._changes, late, dead,
            self.event_time if self.event_time > BEGINNING else None, self._arena.used, self._is_end,
        )
