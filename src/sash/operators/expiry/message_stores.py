"""What is remembered for messages: the instants at which rows will leave, and the rows of a join with the pairs they count.

(`kernels/messages.py` and `kernels/message_join.py` draw them.)
"""

from __future__ import annotations

import numpy as np

from sash.deltas import Int64s
from sash.operators.expiry.kernels import message_join as kernel
from sash.operators.expiry.kernels.messages import FIRST, IS_SET, LAST, MERGES, NOBODY_LEAVES, REACHED, REGISTERS, SIZE
from sash.schema import FOREVER
from sash.stores.arena import Scope
from sash.stores.row_log import RowLog

FIRST_ROOM = 64


class InstantList:
    """Instants in the order in which they come, each once; and what an operator knows of the messages it sends."""

    def __init__(self, scope: Scope, *, merges: bool) -> None:
        self._scope = scope
        self.registers = scope.array("registers", REGISTERS)
        if not self.registers[IS_SET]:
            self.registers[[IS_SET, MERGES, LAST, REACHED]] = 1, merges, NOBODY_LEAVES, NOBODY_LEAVES
        self.instants = self._new()

    def __len__(self) -> int:
        return int(self.registers[SIZE])

    @property
    def first(self) -> int:
        """The least; FOREVER if there is none."""
        return int(self.instants[self.registers[FIRST] & (len(self.instants) - 1)]) if len(self) else FOREVER

    def reserve(self, extra: int) -> None:
        """Make room for so many more; a ring is unrolled to the start of a larger one."""
        if len(self) + extra <= len(self.instants):
            return
        places = (int(self.registers[FIRST]) + np.arange(len(self))) & (len(self.instants) - 1)
        kept = self.instants[places]
        self.instants = self._scope.resize("instants", 1 << (len(self) + extra - 1).bit_length())
        self.instants[: len(self)] = kept
        self.registers[FIRST] = 0

    def _new(self) -> Int64s:
        return self._scope.array("instants", FIRST_ROOM)


class InstantHeap(InstantList):
    """Instants in any order."""

    @property
    def first(self) -> int:
        return int(self.instants[0, 0]) if len(self) else FOREVER

    def reserve(self, extra: int) -> None:
        if len(self) + extra > len(self.instants):
            self.instants = self._scope.resize("instants", max(2 * len(self.instants), len(self) + extra))

    def _new(self) -> Int64s:
        return self._scope.array("instants", (FIRST_ROOM, 2))


class NoInstants(InstantList):
    """For a join whose rows are passed at the heads of its logs: a heap of one line means that there is none."""

    def reserve(self, extra: int) -> None:
        return

    def _new(self) -> Int64s:
        return self._scope.array("instants", (1, 2))


class PairLog(RowLog):
    """One side of a join, whose rows count the pairs that leave with them."""

    EXTRA = kernel.EXTRA
