"""One side of a join of rows that carry their expiry: a log of rows, chained by key from the newest back.

    row        0    1    2    3    4          table: key of 3 -> 3, key of 4 -> 4
    previous   -    -    0    2    1          a probe walks 3, 2, 0

Rows are only added at the end. When the log is full, the rows that are still alive move together and are chained anew; when more
than half of them are, it doubles. So a row is moved a bounded number of times, and the log is never more than a few times as
large as what is alive.
"""

from __future__ import annotations

import numpy as np

from sash.deltas import Int64s, Layout
from sash.kernels.join import TAIL, forget_expired
from sash.state.arena import Scope
from sash.state.interner import Interner
from sash.state.lanes import string_lanes

FIRST_ROOM = 64


class RowLog:
    """Rows with expiry and weight, found by key."""

    def __init__(self, layout: Layout, key_lanes: Int64s, scope: Scope, interner: Interner) -> None:
        self._scope = scope
        self.key_lanes = key_lanes
        self.registers = scope.array("registers", 1)
        self.rows = scope.array("rows", (FIRST_ROOM, layout.width))
        self.expiry, self.weight = scope.array("expiry", FIRST_ROOM), scope.array("weight", FIRST_ROOM)
        self.previous, self.table = scope.array("previous", FIRST_ROOM), scope.array("table", 2 * FIRST_ROOM)
        lanes = string_lanes(layout)
        interner.hold(lambda: (self.rows[: self.registers[TAIL]], lanes))

    def __len__(self) -> int:
        return int(self.registers[TAIL])

    def reserve(self, extra: int, now: int) -> None:
        """Make room for so many more rows; what expired at or before `now` may go."""
        if len(self) + extra <= len(self.expiry):
            return
        alive = int(np.count_nonzero(self.expiry[: len(self)] > now))
        if 2 * (alive + extra) > len(self.expiry):
            self._resize(1 << (2 * (alive + extra)).bit_length())
        forget_expired(now, self.key_lanes, self.registers, self.rows, self.expiry, self.weight, self.previous, self.table)

    def _resize(self, room: int) -> None:
        self.rows, self.expiry = self._scope.resize("rows", room), self._scope.resize("expiry", room)
        self.weight, self.previous = self._scope.resize("weight", room), self._scope.resize("previous", room)
        self.table = self._scope.resize("table", 2 * room)
