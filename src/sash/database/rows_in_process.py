"""What the database in this process takes in: rows that are pushed, or read from files, and time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from sash.database.common_joins import CommonJoins
from sash.database.database import Database
from sash.database.following import Follower
from sash.database.indexes import shapes_of
from sash.database.instants import Instant, parse_instant
from sash.database.options import check_count
from sash.database.replan import Replanner
from sash.database.sinks import MOST_WAITING, EmbeddedFeed
from sash.database.tables import TableRows, changed_rows, whole_rows
from sash.errors import SashError
from sash.plan.streams import Stamp, StreamSpec
from sash.planner.job import Job
from sash.planner.placement import Expiry
from sash.runtime.change_log import Reader
from sash.runtime.embedded import EmbeddedHost
from sash.runtime.history_limit import DEFAULT, Asked, parse_history
from sash.runtime.idle_clock import IdleClock
from sash.runtime.keeping_host import Rest
from sash.runtime.packets import Packet
from sash.runtime.progress import Progress
from sash.schema import BEGINNING
from sash.sinks.runner import LOOK
from sash.sources.batches import batches
from sash.sources.convert import convert
from sash.sources.pushed_messages import read_pushed
from sash.sources.read import read
from sash.sources.result import NO_LETTERS, ReadResult
from sash.sources.splits import Split
from sash.sql.bind.changes import DeleteRows, InsertRows, UpdateRows
from sash.stores.arena import Arena
from sash.turns import in_turn

PUSH_ROWS = 1 << 18  # a larger push is worked off in pieces


def now_in_microseconds() -> int:
    return time.time_ns() // 1000


class RowsInProcess(Database):
    """A database whose rows are in every answer when they have been taken."""

    def __init__(
        self, clock: Callable[[], int] = now_in_microseconds, base: Path | str | None = None, expiry: str = "auto",
        schedule: str = "auto", *, join_schedule: str = "auto", backfill: bool = True, history: Asked | None = None,
        until: Instant | None = None, flush: bool = True, batch_rows: int | None = None,
        on_progress: Callable[[Progress], None] | None = None, indexes: str = "auto",
    ) -> None:
        super().__init__(base, expiry, schedule, join_schedule, indexes)
        check_count("batch_rows", batch_rows)
        self._until, self._flush, self._batch_rows = None if until is None else parse_instant(until), flush, batch_rows
        self._on_progress = on_progress
        self._job = Job((), (), (), 1, 1, remembers=backfill)
        self._history = DEFAULT if history is None else parse_history(history)
        self._clock = clock
        self._arena = Arena.anonymous()
        self._last_arrival = self._seen = 0
        self._host: EmbeddedHost | None = None
        self._idle_clock = IdleClock(clock())
        self._tables: dict[str, TableRows] = {}
        self._has_rows, self._creations = False, 0
        self._table_instant, self._is_advanced = BEGINNING - 1, False
        self._replanner, self._common_joins = Replanner(), CommonJoins(self.queries)

    @in_turn
    def push(self, name: str, rows: Any) -> None:
        spec = self._taking_rows(name)
        messages = read_pushed(spec, rows)
        if messages is None and isinstance(rows, list) and self._take_few(spec, rows):
            return
        result = convert(spec, rows) if messages is None else messages
        batch = self._table_to_change(spec).insert(result.batch) if spec.is_table else result.batch
        self._take(spec, batch, result.dead)

    @in_turn
    def delete(self, name: str, rows: Any) -> None:
        spec = self._updatable_table(name)
        result = convert(spec, rows)
        self._take(spec, self._table_to_change(spec).delete(result.batch), result.dead)

    @in_turn
    def table(self, name: str, rows: Any) -> None:
        spec = self._updatable_table(name)
        self._take(spec, self._table_to_change(spec).become(whole_rows(spec, rows)), NO_LETTERS)

    @in_turn
    def advance(self, to: Instant, stream: str = "") -> None:
        host, name = self._running(), self._stream(stream).name if stream else ""
        self._is_advanced = True
        instant = parse_instant(to, max(host.event_time, 0))
        with self.turns.work():
            host.advance(instant, name, self._unread())

    def poll(self) -> None:
        self.following.look(only_due=True)
        self._poll()

    @in_turn
    def _poll(self) -> None:
        host, now = self._running(), max(self._clock(), self._last_arrival + 1)
        if not host.graph.waits_before(now):
            return
        if host.job.asks_tables_for_time and not self._is_advanced:
            self._tell_the_time(host)
        for stream, clock in self._idle_clock.advances(host.job, host.clocks, now).items():
            self._last_arrival = max(self._last_arrival, now - 1)
            with self.turns.work():
                host.advance(clock, stream)

    @in_turn
    def end(self) -> None:
        host = self._running()
        with self.turns.work():
            host.end(unread=self._unread())

    def run(self) -> None:
        """As said of every database; `on_progress` is called between two batches, outside of turns."""
        self.following.look()
        host = self._begin_run()
        for batch in batches(host.job.streams, self.base, self._batch_rows):
            self._run_batch(batch)
            self._tell(host)
        if self._flush:
            self._end_run()
        self._tell(host)
        self.sinks.drain()

    @in_turn
    def _begin_run(self) -> EmbeddedHost:
        host = self._running()
        if self._until is not None:
            with self.turns.work():
                host.limit(self._until)
        return host

    @in_turn
    def _run_batch(self, splits: Sequence[Split]) -> None:
        """What cannot be read changes nothing: all is read before any of it is taken."""
        host, specs = self._running(), [self._stream(split.stream) for split in splits]
        results = [(spec, read(spec, split)) for spec, split in zip(specs, splits, strict=True)]
        before, self._has_rows = host.progress.rows, True
        with self.turns.work():
            host.step(packet for spec, result in results for packet in self._packets(spec, result))
        self._maybe_replan(host.progress.rows - before)

    @in_turn
    def _end_run(self) -> None:
        host = self._running()
        with self.turns.work():
            host.end(self._until, self._unread())

    def _packets(self, spec: StreamSpec, result: ReadResult) -> Iterable[Packet]:
        if spec.is_table:
            self._table(spec).insert(result.batch)
        arrival = self._arrival(spec, result.batch.num_rows)
        return self._running().packets(spec.name, result.batch, result.dead, arrival)

    def _tell(self, host: EmbeddedHost) -> None:
        if self._on_progress is not None:
            self._on_progress(host.progress)

    def _unread(self) -> list[str]:
        """The streams that no view reads."""
        read = {stream.name for stream in self._job.streams}
        return [stream.name for stream in self.catalog.streams.values() if not stream.is_table and stream.name not in read]

    def _take(self, spec: StreamSpec, batch: pa.RecordBatch, dead: pa.RecordBatch) -> None:
        host = self._running()
        self._wait_for_readers(host)
        self._hear(spec)
        self._has_rows = True
        if not host.reads(spec.name):
            with self.turns.work():
                host.take_unread(spec, batch, self._arrival(spec, batch.num_rows))
            return
        if spec.is_table and host.job.asks_tables_for_time:
            self._tell_the_time(host)
        count = batch.num_rows
        for start in range(0, max(1, count), PUSH_ROWS):
            piece = batch if count <= PUSH_ROWS else batch.slice(start, PUSH_ROWS)
            with self.turns.work():
                host.take(spec.name, piece, dead if start == 0 else dead.slice(0, 0), self._arrival(spec, piece.num_rows))
            self._maybe_replan(piece.num_rows)

    def _take_few(self, spec: StreamSpec, rows: list[Any]) -> bool:
        """Rows as programs have them, if they are few, and plain, and somebody reads them."""
        host = self._running()
        self._wait_for_readers(host)
        lanes = host.lanes(spec.name, rows) if host.reads(spec.name) else None
        if lanes is None:
            return False
        self._hear(spec)
        self._has_rows = True
        with self.turns.work():
            host.take_lanes(spec.name, lanes, self._arrival(spec, len(lanes)))
        self._maybe_replan(len(lanes))
        return True

    def _wait_for_readers(self, host: EmbeddedHost) -> None:
        """Those who asked for it read first; one that this very thread reads would never."""

        def is_free() -> bool:
            reader = host.blocking()
            if reader is not None and self._is_of_a_sink(reader):
                return False
            if reader is not None and reader.thread == threading.get_ident():
                raise SashError("this thread would wait for a subscription that it reads itself", "read it in another thread")
            return reader is None

        if not host.has_readers_to_wait_for:
            return
        while not self.turns.is_closed and not is_free():
            self.turns.wait_for(is_free, LOOK)
        self.turns.check()

    def _is_of_a_sink(self, reader: Reader) -> bool:
        """Rows are not taken while changes wait for a sink that can write none of them: an error, once the sink has tried."""
        for one in self.sinks.active.values():
            if one.runner is not None and isinstance(one.feed, EmbeddedFeed) and one.feed.is_read_by(reader):
                error = one.runner.status.error
                if error is not None:
                    raise SashError(f"no rows were taken, as {MOST_WAITING:,} changes wait: {error.message}", error.hint)
                return True
        return False

    def _tell_the_time(self, host: EmbeddedHost) -> None:
        """Where NOW() is asked and there is no stream, table changes move time: by the wall clock, until somebody advances."""
        wall = BEGINNING if self._is_advanced else self._clock()
        self._table_instant = max(self._table_instant + 1, host.told, wall)
        with self.turns.work():
            host.tell(self._table_instant)

    def _arrival(self, spec: StreamSpec, rows: int) -> int | None:
        """Arrivals are stamped by one clock for all streams, each later than the one before."""
        if spec.stamp is Stamp.EXTERNAL or spec.is_table:
            return None
        arrival = max(self._clock(), self._last_arrival + 1)
        self._last_arrival = arrival + rows - 1
        return arrival

    def _maybe_replan(self, rows: int) -> None:
        """Plan views anew, if their streams have come to look very different from what was thought."""
        if self._may_replan and self._replanner.is_due(rows):
            host = self._running()
            self._common_joins.judge_anew(host)
            with self.turns.work():
                self._replanner.look(host, self.queries, self.materialized().values(), self.catalog.streams.values())
            self._job = host.job
            self._move_joins()

    @property
    def _may_replan(self) -> bool:
        return self.expiry is Expiry.AUTO and self._job.remembers

    def _move_joins(self) -> None:
        """Let queries use common joins, or joins of their own, now that others have come or gone."""
        streams = self.catalog.streams.values()
        moves = list(self._common_joins.moves())
        if not moves:
            return
        host = self._running()
        with self.turns.work():
            moved = host.replan([view for view, _, _ in moves], streams)
        self._job = host.job
        for view, plan, choice in moves:
            if view.name in moved:
                self.queries.replanned(view, plan, choice)

    def _hear(self, spec: StreamSpec) -> None:
        """Rows come of a stream, which may be declared to fall silent."""
        if spec.idle is not None:
            self._idle_clock.observe(spec.name, self._clock())

    def _table(self, spec: StreamSpec) -> TableRows:
        return self._tables.setdefault(spec.name, TableRows(spec))

    def _table_to_change(self, spec: StreamSpec) -> TableRows:
        """A table whose change will be taken at once: who must be waited for, or refuses it, does so while it is as it was."""
        self._wait_for_readers(self._running())
        return self._table(spec)

    def _change_rows(self, change: InsertRows | UpdateRows | DeleteRows) -> None:
        if isinstance(change, InsertRows):
            self.push(change.into.name, list(change.rows))
            return
        self._take(change.table, changed_rows(self._table_to_change(change.table), change), NO_LETTERS)

    @in_turn
    def _apply_followed(self, spec: StreamSpec, follower: Follower, fetched: Any) -> None:
        if self.catalog.streams.get(spec.name.lower()) != spec:
            return  # it was dropped meanwhile
        change = follower.change(self._table_to_change(spec), fetched)
        if change.rows.num_rows or change.dead.num_rows:
            self._take(spec, change.rows, change.dead)

    def _running(self) -> EmbeddedHost:
        if self._host is None:
            views = (*self.materialized().values(), *self.catalog.windows.values())
            asked = {view.name: parse_history(view.history) for view in views if view.history is not None}
            self._host = EmbeddedHost(self._job, self._arena, self._history, asked, Rest(self.turns.rest, self._awaited))
            self._host.keep_indexes(shapes_of(self.catalog))
        return self._host

    def _awaited(self) -> list[str]:
        """The views that somebody waits for, while rows are worked off."""
        found = (self.catalog.views.get(view) for view in list(self.turns.wishes.values()))
        return [view.name for view in found if view is not None]
