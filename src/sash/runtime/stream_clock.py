"""What a shard knows of the time of a stream.

A clock at c promises that later rows have ts >= c. It is moved by the stream's own rows, less the declared delay; by an arrival,
where arrivals are stamped; by ADVANCE and idle rules; and by the end of the input. Never by a guess.
"""

from __future__ import annotations

from collections.abc import Mapping

from sash.deltas import Int64s
from sash.logical.streams import Stamp, StreamSpec
from sash.schema import BEGINNING, FOREVER
from sash.state.arena import Scope

GREATEST, FIRST, ADVANCED = 0, 1, 2


class StreamClock:
    """Greatest and first timestamp so far, and the clock that follows."""

    def __init__(self, spec: StreamSpec, scope: Scope) -> None:
        self._spec = spec
        self.has_time = not spec.is_table  # nobody waits for a table, nor for a stream that takes the time of others
        self._registers = _registers(scope)

    @property
    def clock(self) -> int:
        if not self.has_time:
            return FOREVER
        by_rows = self.greatest
        if self.greatest > BEGINNING:
            by_rows = self.greatest + 1 if self._spec.stamp is not Stamp.EXTERNAL else self.greatest - self._spec.delay
        return max(by_rows, int(self._registers[ADVANCED]))

    @property
    def is_arrival(self) -> bool:
        """Whether its rows are stamped when they arrive: by one clock, the same for all such streams."""
        return self.has_time and self._spec.stamp is not Stamp.EXTERNAL

    @property
    def greatest(self) -> int:
        """BEGINNING while there was no row with a time."""
        return int(self._registers[GREATEST]) if self.has_time else BEGINNING

    @property
    def begin(self) -> int | None:
        """The instant of the first row; None while there was none."""
        first = int(self._registers[FIRST])
        return None if first == FOREVER else first

    @property
    def late_below(self) -> int:
        """A row that comes now is late if its ts is below this."""
        if not self.has_time:
            return BEGINNING
        return max(self.greatest - self._spec.delay, int(self._registers[ADVANCED]))

    def saw(self, first: int | None, greatest: int | None) -> None:
        """A split was taken in, here or on another shard; these are the least and the greatest timestamp in it."""
        if first is None or greatest is None or not self.has_time:
            return
        if first >= self.late_below:  # else it was late, and the least that was not is known only where it is
            self.took(first)
        self._registers[GREATEST] = max(self.greatest, greatest)

    def took(self, first: int) -> None:
        """Rows were taken in that were not late; this is the least timestamp of them."""
        if self.has_time:
            self._registers[FIRST] = min(int(self._registers[FIRST]), first)

    def told(self) -> dict[str, int | None]:
        """All that is known, for one who knows nothing."""
        return {"greatest": self.greatest, "first": int(self._registers[FIRST]), "advanced": int(self._registers[ADVANCED])}

    def learn(self, told: Mapping[str, int | None]) -> None:
        """What another shard knows."""
        self._registers[GREATEST] = max(self.greatest, told["greatest"] or 0)
        self._registers[FIRST] = min(int(self._registers[FIRST]), told["first"] or 0)
        self.advance(told["advanced"] or 0)

    def advance(self, clock: int) -> None:
        self._registers[ADVANCED] = max(int(self._registers[ADVANCED]), clock)


def note_rows(scope: Scope, first: int, greatest: int) -> None:
    """Rows came that nobody reads: a later clock of their stream begins after them."""
    registers = _registers(scope)
    if registers[FIRST] == FOREVER:
        registers[FIRST] = first
    registers[GREATEST] = max(int(registers[GREATEST]), greatest)


def _registers(scope: Scope) -> Int64s:
    registers = scope.array("clock", 4)
    if not registers[3]:
        registers[:] = (BEGINNING, FOREVER, BEGINNING, 1)
    return registers
