"""How far back in a stream an answer looks.

    [RANGE 5 MINUTES]                          5 minutes
    [ROWS 100]                                 100 rows
    a window of 3 on a view with one of 5      3 + 5
    no window, PARTITION BY … ROWS             to the first row
"""

from __future__ import annotations

from dataclasses import dataclass

from sash.schema import FOREVER


@dataclass(frozen=True)
class Lookback:
    """Microseconds before now, or that many of the last rows, whichever is more."""

    time: int = 0  # FOREVER: to the first row
    rows: int = 0
    is_fresh: bool = False  # rows of before the creation cannot be made right: a table, or time, has changed since they came

    @property
    def is_bounded(self) -> bool:
        return self.time < FOREVER and not self.is_fresh

    def behind(self, operator: Lookback) -> Lookback:
        """That of an operator over what has this one. So many rows before an instant in the past are not to be counted."""
        if operator.rows:
            return operator  # of the stream itself: nothing but an operator right over one counts its rows
        is_fresh = self.is_fresh or operator.is_fresh
        if not operator.time:
            return Lookback(self.time, self.rows, is_fresh)
        total = FOREVER if self.rows or FOREVER in (self.time, operator.time) else self.time + operator.time
        return Lookback(total, 0, is_fresh)

    def joined(self, other: Lookback) -> Lookback:
        return Lookback(max(self.time, other.time), max(self.rows, other.rows), self.is_fresh or other.is_fresh)


NO_LOOKBACK = Lookback()  # an answer is made of what comes now
TO_THE_FIRST_ROW = Lookback(FOREVER)
ONLY_NEW_ROWS = Lookback(is_fresh=True)
