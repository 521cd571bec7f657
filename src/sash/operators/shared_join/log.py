"""One side of a shared join: a log of rows that holds when they came, since when they leave differs by window."""

from __future__ import annotations

import numpy as np

from sash.deltas import Delta, Int64s, Layout
from sash.kernels.row_log import TAIL
from sash.operators.shared_join.kernels import TS, first_in_window
from sash.stores.arena import Scope
from sash.stores.interner import Interner
from sash.stores.row_log import RowLog


class SharedLog(RowLog):
    """Rows in the order they came. What is called their expiry elsewhere is their instant here."""

    def __init__(self, layout: Layout, scope: Scope, interner: Interner) -> None:
        super().__init__(layout, scope, interner)
        self.jumps = np.zeros(len(self.lines), np.int64)

    def make_room(self, extra: int, before: int) -> None:
        """For so many more rows; those that came at or before an instant are in no window any more."""
        self.reserve(extra, before)
        if len(self.jumps) != len(self.lines):
            self.jumps = np.zeros(len(self.lines), np.int64)

    def first_after(self, instant: int) -> int:
        """The number of the first row that came after an instant."""
        number: int = first_in_window(instant, self._width, self.registers, self.lines)
        return number

    def instant_of(self, row: int) -> int:
        instant: int = self.lines.item(row & (len(self.lines) - 1), self._width + TS)
        return instant

    @property
    def tail(self) -> int:
        count: int = self.registers.item(TAIL)
        return count

    def rows_after(self, instant: int) -> Delta:
        """The rows that came after an instant."""
        return self.rows().split(instant + 1)[1]

    def fill_with(self, rows: Delta, hashes: Int64s) -> None:
        """An empty log, with rows that came before."""
        self.fill(rows.rows, rows.ts, rows.weight, hashes)
        self.jumps = np.zeros(len(self.lines), np.int64)
