"""A log of rows in which equal ones are one to whoever looks for them (`kernels/merging.py`)."""

from __future__ import annotations

import numpy as np

from sash.deltas import Int64s
from sash.kernels.bundles import Bundle
from sash.kernels.row_log import TAIL, WEIGHT
from sash.operators.join.kernels.merging import (
    COUNT,
    MERGES,
    MERGING_EXTRA,
    MERGING_REGISTERS,
    UNTRIED,
    MergingLines,
    chain_anew,
)
from sash.stores.row_log import FIRST_ROOM, RowLog


class MergingLog(RowLog):
    """Rows that leave in the order they came; all that have expired must have left before there is more room."""

    EXTRA = MERGING_EXTRA
    REGISTERS = MERGING_REGISTERS

    def _bundle(self) -> Bundle:
        self._copies = self._scope.array("copies", FIRST_ROOM)
        whole = np.arange(self._width)  # the lanes by which rows are equal
        jumps = np.zeros(len(self.lines), np.int64)  # lines further on in chains; not state: only to ask memory for them
        return Bundle(MergingLines, self.registers, self.lines, self.table, self._copies, whole, jumps)

    @property
    def is_merging(self) -> bool:
        """Whether copies are looked for, since there are many."""
        return bool(self.registers[MERGES])

    def _put(self, lines: Int64s) -> None:
        lines[:, self._width + COUNT] = lines[:, self._width + WEIGHT]
        super()._put(lines)

    def _forget(self, now: int) -> None:
        self._copies = self._scope.resize("copies", len(self.lines))
        self._copies[:] = 0
        self.bundle.replace(copies=self._copies, jumps=np.zeros(len(self.lines), np.int64))
        self.registers[UNTRIED] = self.registers[TAIL] - 1
        chain_anew(self._width, self.bundle.record)
