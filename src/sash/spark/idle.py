"""Time goes on without rows, where the user lets it.

    IDLE AFTER d         a stream that has been silent for so long follows the least clock of those that are not;
                         where all are silent, its time goes on with the clock on the wall;
                         if its source has partitions, each of them does so by itself
    stamped on arrival   a silent stream is where the clock on the wall is: whatever comes will come later

Silence is counted only as far as the streams have been read: rows that wait in their source while the query is held up, or is
begun again, are not late for it.

An advance is put down with its value, like any other control event, so a restart meets it at the same place, whatever the clock
on the wall says then. When nothing is left that could leave a window or be waited for, nothing is put down any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sash.plan.streams import Stamp, StreamSpec
from sash.runtime.packets import Cargo, Packet
from sash.schema import SECOND
from sash.spark.shard_task import GREATEST, PARTITIONS

TICK = SECOND // 2  # between two advances by the clock on the wall


@dataclass(frozen=True)
class Partition:
    """Of a stream, one partition of its source."""

    stream: str
    name: str


Member = str | Partition  # what has a clock: a stream by its name, or a partition


class IdleRule:
    """Watches the streams of a running query; time is that of the wall, in microseconds, and an argument."""

    def __init__(self, streams: Iterable[StreamSpec], now: int, horizon: int = 0) -> None:
        self._streams: dict[Member, StreamSpec] = {}
        self._heard: dict[Member, int] = {}
        self._clocks: dict[Member, int] = {}
        self._told: dict[Member, int] = {}
        self.watch(streams, now, horizon)

    def watch(self, streams: Iterable[StreamSpec], now: int, horizon: int) -> None:
        """These streams, from now on; no row stays in a window for longer than `horizon`."""
        known = [member for member in self._streams if isinstance(member, Partition)]
        self._streams = {stream.name: stream for stream in streams if not stream.is_table}
        for member in known:
            self._know(member)
        self._heard = {member: self._heard.get(member, now) for member in self._streams}
        self._horizon = horizon

    @property
    def is_set(self) -> bool:
        return any(stream.idle is not None or _is_stamped(stream) for stream in self._streams.values())

    def observe(self, facts: Iterable[Mapping[str, int | None]], now: int) -> None:
        """What keepers told of a batch: among it, the greatest timestamp of every stream that had rows."""
        told = [(name.removeprefix(GREATEST), ts) for fact in facts for name, ts in fact.items() if GREATEST in name]
        for name, ts in told:
            if ts is not None and name in self._streams:
                self._saw(name, ts - self._streams[name].delay)
                self._heard[name] = now

    def saw_partitions(self, packets: Iterable[Packet], now: int) -> None:
        """Among what came of a batch, the clocks of all partitions of a stream, and which of them had rows."""
        for packet in packets:
            if packet.cargo is Cargo.FACTS and packet.name == PARTITIONS:
                told = packet.told()
                for name, clock in told["clocks"].items():
                    member = Partition(told["stream"], name)
                    if self._know(member):
                        self._heard.setdefault(member, now)
                        self._saw(member, clock)
                for name in told["heard"]:
                    self._heard[Partition(told["stream"], name)] = now

    def events(self, now: int, read_until: int | None = None) -> Iterator[dict[str, Any]]:
        """The control events by which clocks are to move, each told once; partitions that go to one instant go together."""
        together: dict[tuple[str, int], list[str]] = {}
        for member, clock in self.advances(now, read_until).items():
            if isinstance(member, Partition):
                together.setdefault((member.stream, clock), []).append(member.name)
            else:
                yield {"advance": clock, "stream": member}
        for (stream, clock), names in together.items():
            yield {"advance": clock, "stream": stream, "partitions": sorted(names)}

    def advances(self, now: int, read_until: int | None = None) -> dict[Member, int]:
        """The streams and partitions whose clocks are to move, and where to; each is told once. What came before `read_until` has
        been read; without it, all that has come."""
        moved = self._on_the_wall(now) | self._following(now if read_until is None else read_until)
        self._told |= moved
        return moved

    def _know(self, member: Partition) -> bool:
        """A partition takes the place of its stream, if that is watched."""
        if member in self._streams:
            return True
        others = (spec for known, spec in self._streams.items() if isinstance(known, Partition) and known.stream == member.stream)
        spec = self._streams.pop(member.stream, None) or next(others, None)
        if spec is not None:
            self._streams[member] = spec
        return spec is not None

    def _saw(self, member: Member, clock: int) -> None:
        self._clocks[member] = max(clock, self._clocks.get(member, clock))

    def _on_the_wall(self, now: int) -> dict[Member, int]:
        """Streams that are stamped on arrival, as long as somebody may wait for their time."""
        silent = [name for name, one in self._streams.items() if _is_stamped(one) and now - self._heard[name] >= TICK]
        return {name: now for name in silent if now - self._told.get(name, 0) >= TICK and self._is_awaited(name, now)}

    def _following(self, now: int) -> dict[Member, int]:
        idle = {name for name in self._streams if self._is_idle(name, now)}
        clocks = [self._known(name) for name in self._streams if name not in idle]
        known = [clock for clock in clocks if clock is not None]
        if len(known) < len(clocks) or not idle:
            return {}  # nobody to follow
        if not known:
            return self._all_alone(idle, now)
        to = min(known)
        return {name: to for name in idle if to > max(clock.get(name, to - 1) for clock in (self._clocks, self._told))}

    def _all_alone(self, idle: set[Member], now: int) -> dict[Member, int]:
        """Nothing comes at all: time goes on from the last row, as fast as on the wall."""
        if not self._clocks:
            return {}
        to = max(self._clocks.values()) + now - max(self._heard[name] for name in idle)
        return {name: to for name in idle if to - self._told.get(name, to - TICK) >= TICK and self._is_awaited(name, to)}

    def _is_awaited(self, name: Member, to: int) -> bool:
        """Whether a row of any stream may be in a window, or wait for this stream, after what it was told last."""
        last = max(self._clocks.values(), default=None)
        return last is not None and self._told.get(name, self._clocks.get(name, last)) <= last + self._horizon

    def _known(self, name: Member) -> int | None:
        clocks = [known[name] for known in (self._clocks, self._told) if name in known]
        return max(clocks, default=None) if _is_stamped(self._streams[name]) else self._clocks.get(name)

    def _is_idle(self, name: Member, now: int) -> bool:
        idle = self._streams[name].idle
        return idle is not None and now - self._heard[name] >= idle


def _is_stamped(stream: StreamSpec) -> bool:
    return stream.stamp is not Stamp.EXTERNAL
