"""What a GROUP BY of sums over a sliding window remembers. (`kernels/sliding_sums.py` draws it.)"""

from __future__ import annotations

import numpy as np

from sash.deltas import Int64s
from sash.kernels.bundles import Bundle
from sash.operators.group_by.kernels import sliding_sums as kernel
from sash.operators.group_by.kernels.sliding_extremes import EXPIRY, LINKS, VALUES
from sash.operators.group_by.opcodes import ROWS
from sash.operators.group_by.tables import GroupTables
from sash.schema import FOREVER
from sash.stores.arena import Scope
from sash.stores.hash_table import grown_table

FIRST_ROOM = 64


class SlidingGroups:
    """Groups, and what every live row added to its group."""

    def __init__(self, scope: Scope, tables: GroupTables, width: int) -> None:
        self._scope = scope
        self.row_at = tables.cells
        self.registers = scope.array("registers", kernel.REGISTERS)
        self.ring = scope.array("ring", (FIRST_ROOM, VALUES + len(tables.feeds) + LINKS * len(tables.sets)))
        self.lines = scope.array("lines", (FIRST_ROOM, tables.cells + width))
        self.table = scope.array("table", 2 * FIRST_ROOM)
        self.bundle = Bundle(kernel.SlidingState, self.registers, self.ring, self.table, self.lines)
        self._spare = 0  # rows for which there is room in any case

    def __len__(self) -> int:
        """Live rows and groups."""
        return self.live_rows + self.live_groups

    @property
    def live_rows(self) -> int:
        count: int = self.registers.item(kernel.TAIL) - self.registers.item(kernel.HEAD)
        return count

    @property
    def live_groups(self) -> int:
        count: int = self.registers.item(kernel.LIVE)
        return count

    @property
    def shown(self) -> Int64s:
        """The rows that all groups show."""
        used = self.lines[1 : self.registers[kernel.USED] + 1]
        return np.ascontiguousarray(used[used[:, ROWS] != 0, self.row_at :])

    @property
    def first_to_leave(self) -> int:
        """When the oldest live row leaves."""
        head = self.registers.item(kernel.HEAD)
        if head == self.registers.item(kernel.TAIL):
            return FOREVER
        first: int = self.ring.item(head & (len(self.ring) - 1), EXPIRY)
        return first

    def reserve(self, extra: int) -> None:
        """Make room for so many more rows, each with a group of its own."""
        self._spare -= extra
        if self._spare < 0:
            self.make_room(extra)
            self.count_room()
            self._spare -= extra

    def count_room(self) -> None:
        """See for how many rows there is room."""
        self._spare = min(len(self.ring) - self.live_rows, len(self.lines) - self.live_groups) - 1

    def make_room(self, extra: int) -> None:
        self._reserve_ring(self.live_rows + extra)
        groups = self.live_groups + extra + 1
        if groups > len(self.lines):
            self.lines = self._scope.resize("lines", 1 << (groups - 1).bit_length())
            self.bundle.replace(lines=self.lines)
        if 2 * len(self.lines) > len(self.table):
            self.table = grown_table(self._scope, "table", self.table, 2 * len(self.lines))
            self.bundle.replace(table=self.table)

    def _reserve_ring(self, wanted: int) -> None:
        if wanted < len(self.ring):  # one place more than rows: for a row that never leaves
            return
        order = np.arange(self.registers[kernel.HEAD], self.registers[kernel.TAIL])
        held = self.ring[order & (len(self.ring) - 1)]
        self.ring = self._scope.resize("ring", 1 << wanted.bit_length())
        self.ring[order & (len(self.ring) - 1)] = held
        self.bundle.replace(ring=self.ring)
