"""The time of a shard: a clock for every stream, the times that views live in, the limit of a run, and where time has ended.

    ADVANCE, idle rules, the end, a look ─▶ controls ─▶ clocks of streams ─▶ times of views: what is final for each

A view lives in the time of the streams that it reads (`stream_times.py`). Operators may be shared by views of different times: a
port goes as far as any of them wants, and every view shows only what is final in its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sash.operators.spec import TIME, PortSpec
from sash.plan.streams import StreamSpec
from sash.plan.times import ASKED, Time
from sash.planner.job import Job
from sash.runtime.global_clock import ToldTime
from sash.runtime.instants import Instants
from sash.runtime.lateness import Limits
from sash.runtime.packets import Packet
from sash.runtime.stream_clock import StreamClock, note_advance, note_partitions, note_rows
from sash.runtime.stream_times import StreamsTime
from sash.schema import BEGINNING, FOREVER
from sash.stores.arena import Arena, Scope

# Registers: has a limit, the limit; the greatest timestamp of all streams, read or not; are they set
GREATEST, IS_SET = 2, 3
ASKED_NAME = "\x00asked"  # no stream has it


class Clocks:
    """The clocks of a job's streams, by name."""

    def __init__(self, arena: Arena) -> None:
        self._arena = arena
        self._registers = arena.array("shard", (4,))
        if not self._registers[IS_SET]:
            self._registers[:] = (0, 0, BEGINNING, 1)
        self._read_registers()
        self._told = ToldTime(arena.scope("time"))
        self._asked = ToldTime(arena.scope("asked time"))
        self.streams: dict[str, StreamClock] = {}
        self._times: dict[Time, StreamsTime] = {}
        self._readers: dict[str, list[StreamsTime]] = {}

    def _read_registers(self) -> None:
        """They are asked for often, and seldom written."""
        has_limit, limit, greatest, _ = self._registers.tolist()
        self._limit: int | None = limit - 1 if has_limit else None  # the last instant that is shown, if there is one
        self.event_time: int = greatest  # of all streams, read or not

    def __getitem__(self, stream: str) -> StreamClock:
        return self.streams[stream]

    def use(self, job: Job) -> None:
        """The streams of another job; those that it has in common with the one before go on."""
        scope, before = self._arena.scope("streams"), self.streams
        self.streams = {one.name: before.get(one.name) or StreamClock(one, scope.scope(one.name)) for one in job.streams}
        for stream in job.streams:
            self.streams[stream.name].has_time = job.has_time(stream)
        self._use_times(job.times)

    def _use_times(self, times: Iterable[Time]) -> None:
        gone, scope = self._times.keys() - set(times), self._arena.scope("times")
        self._times = {time: self._made(time, scope.scope(_key(time))) for time in times}
        for time in gone:
            self._arena.drop(f"times/{_key(time)}/")
        self._readers = {name: [own for time, own in self._times.items() if name in time] for name in self.streams}

    def _made(self, time: Time, scope: Scope) -> StreamsTime:
        if time == ASKED:
            return StreamsTime({}, self._asked, scope)
        return StreamsTime({name: self.streams[name] for name in time}, self._told, scope)

    def unread(self, stream: StreamSpec, first: int | None, greatest: int | None) -> None:
        """Rows came of a stream that no view reads."""
        clock = StreamClock(stream, self._arena.scope("streams").scope(stream.name))
        clock.take([(0, {"first": first, "greatest": greatest})])
        self._saw(greatest)

    def unread_splits(self, stream: str, splits: Sequence[Mapping[str, Any]]) -> None:
        """The same, where nothing is known of the stream but its name."""
        note_rows(self._arena.scope("streams").scope(stream), splits)
        for facts in splits:
            self._saw(facts["greatest"])

    def take(self, stream: str, splits: Sequence[tuple[int, Mapping[str, Any]]]) -> Limits:
        """Splits of a stream come at once, here or on other shards: below which ts their rows are late."""
        limits = self.streams[stream].take(splits)
        self._saw(self.streams[stream].greatest)
        return limits

    def came(self, stream: str, first: int, greatest: int) -> None:
        """Rows of a stream came here, none of them late: their least and their greatest timestamp."""
        for time in self._readers[stream]:
            if time.has_ended:
                time.resume()
        clock = self.streams[stream]
        clock.came(first, greatest)
        if clock.greatest > self.event_time:
            self._saw(clock.greatest)

    def know(self, stream: str, partitions: Sequence[str], delay: int) -> None:
        """A stream has these partitions, with rows or without."""
        if stream in self.streams:
            self.streams[stream].know_partitions(partitions)
        else:
            note_partitions(self._arena.scope("streams").scope(stream), partitions, delay)

    def _saw(self, greatest: int | None) -> None:
        if greatest is not None and greatest > self.event_time:
            self.event_time = self._registers[GREATEST] = greatest

    @property
    def now(self) -> int:
        """Where the latest time is."""
        return max((time.now for time in self._times.values()), default=self.told)

    @property
    def least(self) -> int:
        """Of the streams; without any, tables go by what time was told."""
        return min((clock.clock for clock in self.streams.values() if clock.clock != FOREVER), default=self._told.clock)

    @property
    def told(self) -> int:
        """How far those were told that time is who ask for it and read no stream."""
        return self._asked.clock

    def begin(self, name: str) -> int | None:
        """The first instant of a stream, or of time as such."""
        return self._asked.begin if name == TIME else self.streams[name].begin

    @property
    def of_streams(self) -> dict[str, int]:
        """All before it is over, for every stream."""
        return {name: clock.clock for name, clock in self.streams.items()}

    def span(self, stream: str) -> tuple[int, int] | None:
        """The first and the greatest timestamp of a stream so far."""
        clock = self.streams[stream]
        return None if clock.begin is None else (clock.begin, clock.greatest)

    def begin_at(self, streams: Iterable[str], instant: int) -> None:
        """Streams that have had no row yet begin, with those that are read beside them."""
        for name in streams:
            if self.streams[name].begin is None:
                self.streams[name].took(instant)

    def learn_beginnings(self, other: Clocks) -> None:
        """When streams began for another shard of the same level."""
        for name, clock in other.streams.items():
            if clock.begin is not None:
                self.streams[name].took(clock.begin)

    @property
    def is_any_moving(self) -> bool:
        return any(clock.clock != FOREVER for clock in self.streams.values())

    def time(self, time: Time) -> StreamsTime:
        return self._times[time]

    def final_before(self, time: Time) -> int:
        """What is shown of a view that lives in this time."""
        clock = self._times[time].clock
        return clock if self._limit is None else self._limited(clock)

    def instants(self) -> dict[Time, Instants]:
        """Of every time that a view lives in; nothing after the limit is shown."""
        return {time: self._instants_of(own) for time, own in self._times.items()}

    def together(self, times: Collection[Time], streams: Iterable[StreamSpec] = ()) -> Instants:
        """The same as if one view lived in all of these times, but what is final in one of them is not taken back.

        `streams` may be read by nobody so far.
        """
        every = tuple(sorted({name for time in times for name in time}))
        own = [self._times[time] for time in times if time in self._times]
        found = self._instants_of(self._times.get(every) or self._united(every, own, {one.name: one for one in streams}))
        return replace(found, now=max([found.now, *(self._limited(time.clock) - 1 for time in own if time.clock > BEGINNING)]))

    def _united(self, every: Time, parts: Sequence[StreamsTime], streams: Mapping[str, StreamSpec]) -> StreamsTime:
        """One that nobody lives in, over only as all of its parts are."""
        scope = self._arena.scope("streams")
        whole = StreamsTime(
            {name: self.streams.get(name) or StreamClock(streams[name], scope.scope(name)) for name in every}, self._told
        )
        if parts and all(part.has_ended for part in parts):
            whole.finish(max(whole.greatest, min(part.end for part in parts)))
        return whole

    def _instants_of(self, time: StreamsTime) -> Instants:
        return Instants(self._shown(time.now), self._limited(time.clock))

    def presents(self) -> dict[Time, int]:
        """The last instant of every time that is final."""
        return {time: self.final_before(time) - 1 for time in self._times}

    def of(self, port: PortSpec) -> int:
        """How far a port goes: as far as anybody who reads it wants. Tables and latent streams go by a time of their own."""
        if port.is_time:
            return self.final_before(port.timed_by)
        if port.is_table or port.stamped_by:
            return self._limited(self._of_others(self._times[port.stamped_by or port.timed_by], is_table=port.is_table))
        stream = str(port.stream)
        times = self._readers[stream]
        clock = times[0].clock_of(stream) if len(times) == 1 else max([time.clock_of(stream) for time in times])
        return clock if self._limit is None else self._limited(clock)

    def _of_others(self, time: StreamsTime, *, is_table: bool) -> int:
        """After the end nothing comes; the last view may end later than this time does."""
        if time.has_ended and time.has_streams:
            return max(other.end for other in self._times.values() if other.has_ended and other.has_streams) + 1
        return max(time.now, time.clock) if is_table else time.clock

    def resume(self, streams: Iterable[str]) -> None:
        """Something comes in these times after an end."""
        for name in streams:
            for time in self._readers.get(name, ()):
                time.resume()

    def change_of(self, port: PortSpec) -> int:
        """The instant of a change of a table that comes now, for those who read it here."""
        self._times[port.timed_by].resume()
        return self._times[port.timed_by].now

    def take_control(self, packet: Packet) -> bool:
        """Let time move as told; whether the end was told."""
        facts = packet.told()
        if facts.get("until") is not None:
            self._registers[:GREATEST] = (1, int(facts["until"]) + 1)
            self._read_registers()
        if facts.get("tell") is not None:
            self._tell(int(facts["tell"]), [ASKED])
        if facts.get("advance") is not None:
            self._advance(packet.name, int(facts["advance"]), facts.get("partitions"), facts.get("unread", ()))
        if facts.get("end"):
            limit = self._limit
            lasts = {time: time.last if limit is None else limit for time in self._times.values()}
            self._end(lasts, facts.get("unread", ()))
        if facts.get("look"):
            at = facts.get("at")  # where several views are looked at: one instant for all
            self._end({time: self._shown(time.now if at is None else int(at)) for time in self._times.values()}, ())
        return bool(facts.get("end") or facts.get("look"))

    def knowledge(self) -> dict[str, dict[str, Any]]:
        """All that is known, for a shard that knows nothing; under no name, what is not of one stream."""
        registers = {str(number): int(value) for number, value in enumerate(self._registers)}
        told: dict[str, dict[str, Any]] = {"": {"advanced": None, "registers": 1, **registers, **self._told.snapshot()}}
        told |= {ASKED_NAME: {"advanced": None, **self._asked.snapshot()}}
        return told | {name: clock.snapshot() for name, clock in self.streams.items()}

    def merge(self, name: str, facts: Mapping[str, Any]) -> None:
        """What another shard knows."""
        if name in self.streams:
            self.streams[name].merge(facts)
        elif "registers" in facts:
            self._registers[:] = [facts[str(n)] for n in range(len(self._registers))]
            self._read_registers()
            self._told.merge(facts)
        elif name == ASKED_NAME:
            self._asked.merge(facts)

    def _tell(self, now: int, times: Iterable[Time]) -> None:
        """Time as such has come so far, not that of a stream."""
        for time in times:
            (self._asked if time == ASKED else self._told).advance(now, now)
            if time in self._times:
                self._times[time].resume()

    def _advance(self, name: str, clock: int, partitions: Sequence[str] | None, unread: Iterable[str]) -> None:
        """All before the clock is over, of a stream, of some of its partitions, or of all."""
        self.resume([name] if name else self.streams)
        if not name:
            self._tell(clock, [ASKED, ()])
            self._advance_all(clock, unread)
        elif partitions is not None:
            if name in self.streams:
                self.streams[name].advance_partitions(partitions, clock)
        elif name in self.streams:
            self.streams[name].advance(clock)
        else:
            note_advance(self._arena.scope("streams").scope(name), clock)

    def _advance_all(self, clock: int, unread: Iterable[str]) -> None:
        """Of those that are declared and not read, too."""
        for stream in self.streams.values():
            stream.advance(clock)
        for name in unread:
            note_advance(self._arena.scope("streams").scope(name), clock)

    def _end(self, lasts: Mapping[StreamsTime, int], unread: Iterable[str]) -> None:
        """Make everything final: what lives in a time up to its last instant.

        For all streams it is then the latest of all instants: what comes later with an earlier one is late.
        """
        for time, last in lasts.items():
            time.finish(last)
        greatest = self.event_time if self._limit is None else self._limit
        if greatest > BEGINNING:
            self._advance_all(greatest + 1, unread)

    def _shown(self, now: int) -> int:
        return now if self._limit is None else min(now, self._limit)

    def _limited(self, clock: int) -> int:
        return clock if self._limit is None else min(clock, self._limit + 1)


def _key(time: Time) -> str:
    """A name for what is kept of a time."""
    return hashlib.sha1(repr(time).encode()).hexdigest()[:12]
