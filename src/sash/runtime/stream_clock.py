"""What a shard knows of the time of a stream.

A clock at c promises that later rows have ts >= c. It is moved by the stream's own rows, less the declared delay; by an arrival,
where arrivals are stamped; by ADVANCE and idle rules; and by the end of the input. Never by a guess. Where the source has
partitions, each has a clock of its own, and the stream's is the least of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sash.deltas import Int64s
from sash.plan.streams import Stamp, StreamSpec
from sash.runtime.lateness import Limits, judge, pieces
from sash.runtime.partition_clocks import PartitionClocks
from sash.schema import BEGINNING, FOREVER
from sash.stores.arena import Scope

GREATEST, FIRST, ADVANCED = 0, 1, 2


class StreamClock:
    """Greatest and first timestamp so far, and the clock that follows."""

    def __init__(self, spec: StreamSpec, scope: Scope) -> None:
        self._spec = spec
        self.has_time = not spec.is_table  # nobody waits for a table, nor for a stream that takes the time of others
        self._ahead = -spec.delay if spec.stamp is Stamp.EXTERNAL else 1  # of the greatest timestamp
        self._registers = _registers(scope)
        self._greatest, self._first, self._advanced = map(int, self._registers[:3])  # the same, without the arena
        self._partitions = None if spec.position is None else PartitionClocks(scope.scope("partitions"))

    @property
    def clock(self) -> int:
        if not self.has_time:
            return FOREVER
        if self._partitions is not None:
            return max(self._partitions.least(self._spec.delay), self._advanced)
        by_rows = self._greatest + self._ahead if self._greatest > BEGINNING else BEGINNING
        return by_rows if by_rows > self._advanced else self._advanced

    @property
    def is_arrival(self) -> bool:
        """Whether its rows are stamped when they arrive: by one clock, the same for all such streams."""
        return self.has_time and self._spec.stamp is not Stamp.EXTERNAL

    @property
    def greatest(self) -> int:
        """BEGINNING while there was no row with a time."""
        return self._greatest if self.has_time else BEGINNING

    @property
    def begin(self) -> int | None:
        """The instant of the first row; None while there was none."""
        return None if self._first == FOREVER else self._first

    @property
    def partitions(self) -> dict[str, int]:
        """The clock of every partition by its name, where the source tells partitions."""
        clocks = {} if self._partitions is None else self._partitions.clocks(self._spec.delay)
        return {name: max(clock, self._advanced) for name, clock in clocks.items()}

    def take(self, splits: Sequence[tuple[int, Mapping[str, Any]]]) -> Limits:
        """Splits come at once, here or on other shards: their facts by order. Below which ts their rows are late."""
        limits = Limits(self.late_below)
        if self._partitions is None or not self.has_time:
            for _, facts in splits:
                self._saw(facts["first"], facts["greatest"], limits.below)
            return limits
        found, advanced = pieces(splits), self._advanced
        self._partitions.know([piece.partition for piece in found], self.clock)
        judged = judge(self._spec.name, found, self._partitions, self._spec.delay)
        limits = Limits(limits.below, {key: max(limit, advanced) for key, limit in judged.items()})
        for piece in found:
            self._saw(piece.least, piece.greatest, limits.of_pieces[piece.order, piece.partition])
        return limits

    @property
    def late_below(self) -> int:
        """A row that comes now is late if its ts is below this."""
        return max(self._greatest - self._spec.delay, self._advanced) if self.has_time else BEGINNING

    def _saw(self, first: int | None, greatest: int | None, late_below: int) -> None:
        """These are the least and the greatest timestamp of a split."""
        if first is None or greatest is None or not self.has_time or greatest < late_below:
            return
        if first >= late_below:  # else it was late, and the least that was not is known only where it is
            self.took(first)
        self._reached(greatest)

    def came(self, first: int, greatest: int) -> None:
        """The same of rows that came here, none of them late."""
        if self.has_time:
            if first < self._first:
                self.took(first)
            if greatest > self._greatest:
                self._greatest = self._registers[GREATEST] = greatest

    def took(self, first: int) -> None:
        """Rows were taken in that were not late; this is the least timestamp of them."""
        if self.has_time and first < self._first:
            self._first = self._registers[FIRST] = first

    def _reached(self, greatest: int) -> None:
        if greatest > self._greatest:
            self._greatest = self._registers[GREATEST] = greatest

    def snapshot(self) -> dict[str, Any]:
        """All that is known, for one who knows nothing."""
        known = {"greatest": self.greatest, "first": self._first, "advanced": self._advanced}
        return known if self._partitions is None else known | {"partitions": self._partitions.snapshot()}

    def merge(self, told: Mapping[str, Any]) -> None:
        """What another shard knows."""
        self._greatest = self._registers[GREATEST] = max(self.greatest, told["greatest"] or 0)
        self._first = self._registers[FIRST] = min(self._first, told["first"] or 0)
        self.advance(told["advanced"] or 0)
        if self._partitions is not None:
            self._partitions.merge(told["partitions"])

    def advance(self, clock: int) -> None:
        if clock > self._advanced:
            self._advanced = self._registers[ADVANCED] = clock

    def know_partitions(self, names: Iterable[str]) -> None:
        """These are there; those that are new start at the clock of the stream."""
        if self._partitions is not None:
            self._partitions.know(names, self.clock)

    def advance_partitions(self, names: Iterable[str], clock: int) -> None:
        """Some partitions have fallen silent: nothing before this clock is waited for in them."""
        if self._partitions is not None:
            self._partitions.advance(names, clock)


def note_rows(scope: Scope, splits: Sequence[Mapping[str, Any]]) -> None:
    """Rows came that nobody reads: a later clock of their stream begins after them."""
    registers = _registers(scope)
    for facts in splits:
        if facts["first"] is not None:
            if registers[FIRST] == FOREVER:
                registers[FIRST] = facts["first"]
            registers[GREATEST] = max(int(registers[GREATEST]), facts["greatest"])
    if any("partitions" in facts for facts in splits):
        found = pieces(enumerate(splits))
        clocks = note_partitions(scope, [piece.partition for piece in found], splits[0]["delay"])
        for piece in found:
            clocks.observe(piece.partition, piece.greatest)


def note_partitions(scope: Scope, names: Iterable[str], delay: int) -> PartitionClocks:
    """The partitions of a stream that nobody reads."""
    clocks = PartitionClocks(scope.scope("partitions"))
    clocks.know(names, max(clocks.least(delay), int(_registers(scope)[ADVANCED])))
    return clocks


def note_advance(scope: Scope, clock: int) -> None:
    """The same for time that was told of a stream."""
    registers = _registers(scope)
    registers[ADVANCED] = max(int(registers[ADVANCED]), clock)


def _registers(scope: Scope) -> Int64s:
    registers = scope.array("clock", 4)
    if not registers[3]:
        registers[:] = (BEGINNING, FOREVER, BEGINNING, 1)
    return registers
