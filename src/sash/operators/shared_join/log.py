"""One side of a shared join: a log of rows that holds when they came, since when they leave differs by window."""

from __future__ import annotations

import numpy as np

from sash.deltas import Delta, Int64s
from sash.kernels.bundles import Bundle
from sash.kernels.row_log import TAIL
from sash.operators.shared_join.kernels import SHARED_EXTRA, TS, SharedLines, first_in_window
from sash.stores.row_log import RowLog


class SharedLog(RowLog):
    """Rows in the order they came. What is called their expiry elsewhere is their instant here."""

    EXTRA = SHARED_EXTRA

    def _bundle(self) -> Bundle:
        return Bundle(SharedLines, self.registers, self.lines, self.table, *self._notes())

    def _forget(self, now: int) -> None:
        super()._forget(now)
        jumps, stops = self._notes()
        self.bundle.replace(jumps=jumps, stops=stops)

    def _notes(self) -> tuple[Int64s, Int64s]:
        """What is no state: lines further on in chains, and where walks of rows go on."""
        return np.zeros(len(self.lines), np.int64), np.zeros(len(self.lines), np.int64)

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
