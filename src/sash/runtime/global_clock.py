"""What a shard was told of the time as such, not of a single stream: by ADVANCE, and by the end of the input."""

from __future__ import annotations

from collections.abc import Mapping

from sash.schema import BEGINNING
from sash.stores.arena import Scope

IS_TOLD, FIRST, LAST = 0, 1, 2


class ToldTime:
    """The first instant at which it was, and how far it has come."""

    def __init__(self, scope: Scope) -> None:
        self._registers = scope.array("told", 3)

    @property
    def begin(self) -> int | None:
        return int(self._registers[FIRST]) if self._registers[IS_TOLD] else None

    @property
    def clock(self) -> int:
        return int(self._registers[LAST]) if self._registers[IS_TOLD] else BEGINNING

    def advance(self, clock: int, at: int) -> None:
        """It is now this instant, and all before the clock is over."""
        if not self._registers[IS_TOLD]:
            self._registers[:] = (1, at, clock)
        self._registers[LAST] = max(int(self._registers[LAST]), clock)

    def snapshot(self) -> dict[str, int | None]:
        """All that is known, for one who knows nothing."""
        return {"time began": self.begin, "time is": self.clock}

    def merge(self, told: Mapping[str, int | None]) -> None:
        if told["time began"] is not None:
            self.advance(told["time is"] or 0, told["time began"])
