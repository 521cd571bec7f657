"""The time of a shard: a clock for every stream, the limit of a run, and where time has ended.

    ADVANCE, idle rules, the end, a look ─▶ controls ─▶ clocks of streams ─▶ the least of them: what is final
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sash.logical.streams import StreamSpec
from sash.physical.job import Job
from sash.physical.specs import TIME, PortSpec
from sash.runtime.packets import Cargo, Packet
from sash.runtime.stream_clock import StreamClock, note_rows
from sash.runtime.told_time import ToldTime
from sash.schema import BEGINNING, FOREVER
from sash.state.arena import Arena

# Registers: has a limit, the limit; has ended, at which instant; has a table changed, at which instant
HAS_LIMIT, LIMIT, HAS_ENDED, ENDED, HAS_CHANGED, CHANGED = range(6)


class Clocks:
    """The clocks of a job's streams, by name."""

    def __init__(self, arena: Arena) -> None:
        self._arena = arena
        self._registers = arena.array("shard", (6,))
        self._time = ToldTime(arena.scope("time"))
        self._has_streams = False
        self.streams: dict[str, StreamClock] = {}

    def __getitem__(self, stream: str) -> StreamClock:
        return self.streams[stream]

    def use(self, job: Job) -> None:
        """The streams of another job; those that it has in common with the one before go on."""
        scope, before = self._arena.scope("streams"), self.streams
        self.streams = {one.name: before.get(one.name) or StreamClock(one, scope.scope(one.name)) for one in job.streams}
        for stream in job.streams:
            self.streams[stream.name].has_time = job.has_time(stream)
        self._has_streams = any(not stream.is_table for stream in job.streams)

    def unread(self, stream: StreamSpec, first: int | None, greatest: int | None) -> None:
        """Rows came of a stream that no view reads."""
        StreamClock(stream, self._arena.scope("streams").scope(stream.name)).saw(first, greatest)

    def unread_split(self, stream: str, first: int | None, greatest: int | None) -> None:
        """The same, where nothing is known of the stream but its name."""
        if first is not None and greatest is not None:
            note_rows(self._arena.scope("streams").scope(stream), first, greatest)

    @property
    def event_time(self) -> int:
        """The greatest timestamp of all streams so far."""
        return max((clock.greatest for clock in self.streams.values()), default=BEGINNING)

    @property
    def now(self) -> int:
        """Where time is: at the greatest timestamp, or at the least clock if that is later."""
        return int(self._registers[ENDED]) if self._registers[HAS_ENDED] else max(self.event_time, self.least)

    @property
    def least(self) -> int:
        """Of the streams; without any, tables go by what time was told."""
        return min((clock.clock for clock in self.streams.values() if clock.clock != FOREVER), default=self._time.clock)

    @property
    def begins(self) -> dict[str, int | None]:
        """The first instant of every stream, and of time as such."""
        begins = {name: clock.begin for name, clock in self.streams.items()}
        known = [begin for begin in (*begins.values(), self._time.begin) if begin is not None]
        return begins | {TIME: min(known, default=None)}

    @property
    def is_any_moving(self) -> bool:
        return any(clock.clock != FOREVER for clock in self.streams.values())

    @property
    def told(self) -> int:
        """The least clock, up to the limit."""
        return self._limited(self.least)

    def of(self, port: PortSpec) -> int:
        """A latent stream has the time of the query's others."""
        return self._limited(min(self.streams[name].clock for name in port.stamped_by or (str(port.stream),)))

    @property
    def end(self) -> int:
        """The last instant, once the end was told."""
        return int(self._registers[ENDED])

    @property
    def table_change(self) -> int:
        """The instant of the last change of a table."""
        return int(self._registers[CHANGED])

    def next_table_change(self, now: int) -> None:
        """Every change of a table has an instant of its own, not before anything that is final."""
        last = self.table_change + 1 if self._registers[HAS_CHANGED] else BEGINNING
        self._registers[HAS_CHANGED:] = (1, max(last, now))

    def resume(self) -> None:
        """Rows come after an end."""
        self._registers[HAS_ENDED] = 0

    def share_arrivals(self) -> None:
        """One clock stamps the arrivals of all streams, so none will come before the last one of any."""
        clocks = [clock for clock in self.streams.values() if clock.is_arrival]
        last = max((clock.greatest for clock in clocks), default=BEGINNING)
        if last > BEGINNING:
            for clock in clocks:
                clock.advance(last + 1)

    def take_controls(self, packets: Sequence[Packet]) -> bool:
        """Let time move as told; whether the end was told."""
        is_end = False
        for packet in packets:
            if packet.cargo is Cargo.CONTROL:
                facts = packet.facts()
                if facts.get("until") is not None:
                    self._registers[:HAS_ENDED] = (1, int(facts["until"] or 0) + 1)
                if facts.get("advance") is not None:
                    self.resume()
                    clock = int(facts["advance"] or 0)
                    self._advance(packet.name, clock, clock)
                if facts.get("end"):
                    is_end = True
                    self._end(self.event_time if self._has_streams else self.now)
                if facts.get("look"):
                    is_end = True
                    self._end(max(self.now, self.table_change) if self._registers[HAS_CHANGED] else self.now)
        return is_end

    def knowledge(self) -> dict[str, dict[str, int | None]]:
        """All that is known, for a shard that knows nothing; under no name, what is not of one stream."""
        registers = {str(number): int(value) for number, value in enumerate(self._registers)}
        told: dict[str, dict[str, int | None]] = {"": {"advanced": None, "registers": 1, **registers, **self._time.told()}}
        return told | {name: clock.told() for name, clock in self.streams.items()}

    def learn(self, name: str, facts: Mapping[str, int | None]) -> None:
        """What another shard knows."""
        if name in self.streams:
            self.streams[name].learn(facts)
        elif "registers" in facts:
            self._registers[:] = [facts[str(n)] for n in range(len(self._registers))]
            self._time.learn(facts)

    def _advance(self, name: str, clock: int, now: int) -> None:
        """All before the clock is over, of a stream or of all; it is now this instant."""
        if not name or not self._has_streams:
            self._time.advance(clock, now)
        for stream, stream_clock in self.streams.items():
            if name in ("", stream):
                stream_clock.advance(clock)

    def _end(self, last: int) -> None:
        """Make everything final up to an instant, or to the limit."""
        end = int(self._registers[LIMIT]) if self._registers[HAS_LIMIT] else last + 1
        self._registers[HAS_ENDED:HAS_CHANGED] = (1, end - 1)
        if last > BEGINNING or self._registers[HAS_LIMIT]:
            self._advance("", end, end - 1)

    def _limited(self, clock: int) -> int:
        return min(clock, int(self._registers[LIMIT])) if self._registers[HAS_LIMIT] else clock
