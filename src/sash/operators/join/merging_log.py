"""A log of rows in which equal ones are one to whoever looks for them (`kernels/merging.py`)."""

from __future__ import annotations

import numpy as np

from sash.deltas import Layout
from sash.kernels.row_log import TAIL
from sash.operators.join.kernels.merging import MERGING_EXTRA, MERGING_REGISTERS, UNTRIED, chain_anew
from sash.stores.arena import Scope
from sash.stores.interner import Interner
from sash.stores.row_log import FIRST_ROOM, RowLog


class MergingLog(RowLog):
    """Rows that leave in the order they came; all that have expired must have left before there is more room."""

    EXTRA = MERGING_EXTRA
    REGISTERS = MERGING_REGISTERS

    def __init__(self, layout: Layout, scope: Scope, interner: Interner) -> None:
        super().__init__(layout, scope, interner)
        self.copies = scope.array("copies", FIRST_ROOM)
        self.whole = np.arange(layout.width)  # the lanes by which rows are equal
        self.jumps = np.zeros(len(self.lines), np.int64)  # lines further on in chains; not state: only to ask memory for them

    def _forget(self, now: int) -> None:
        self.copies = self._scope.resize("copies", len(self.lines))
        self.copies[:] = 0
        self.jumps = np.zeros(len(self.lines), np.int64)
        self.registers[UNTRIED] = self.registers[TAIL] - 1
        chain_anew(self._width, self.registers, self.lines, self.table)
