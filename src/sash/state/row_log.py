"""One side of a join of rows that carry their expiry: a log of rows, chained by hash from the newest back.

    line   lanes of the row | expiry | weight | the line before it in its bucket        one place in memory for all of it
    table  bucket -> newest line

Rows are only added at the end, so in a log of rows that expire in order, all before the oldest one alive are gone, and chains end
there. A probe that meets an expired row elsewhere cuts it out of its chain. When the log is full, the rows that are alive move together and are chained anew, and when they are many, it grows. So a row is moved a bounded number of times,
and the log is never more than a few times as large as what is alive.
"""

from __future__ import annotations

import numpy as np

from sash.deltas import Int64s, Layout
from sash.kernels.join import EXPIRY, EXTRA, TAIL, forget_expired
from sash.state.arena import Scope
from sash.state.interner import Interner
from sash.state.lanes import string_lanes

FIRST_ROOM = 64


class RowLog:
    """Rows with expiry and weight, found by key."""

    def __init__(self, layout: Layout, key_lanes: Int64s, scope: Scope, interner: Interner) -> None:
        self._scope = scope
        self._key_lanes = key_lanes
        self._expiry = layout.width + EXPIRY
        self.registers = scope.array("registers", 2)
        self.lines = scope.array("lines", (FIRST_ROOM, layout.width + EXTRA))
        self.table = scope.array("table", FIRST_ROOM)
        lanes = string_lanes(layout)
        interner.hold(lambda: (self.lines[: self.registers[TAIL]], lanes))

    def __len__(self) -> int:
        return int(self.registers[TAIL])

    def alive(self, now: int) -> int:
        """How many rows are not expired."""
        return int(np.count_nonzero(self.lines[: len(self), self._expiry] > now))

    def reserve(self, extra: int, now: int) -> None:
        """Make room for so many more rows; what expired at or before `now` may go."""
        if len(self) + extra <= len(self.lines):
            return
        room = 2 * (self.alive(now) + extra)
        if room > len(self.lines):
            self.lines = self._scope.resize("lines", room)
            self.table = self._scope.resize("table", 1 << (room - 1).bit_length())
        forget_expired(now, self._key_lanes, self.registers, self.lines, self.table)
