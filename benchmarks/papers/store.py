"""The stores of the papers. (`kernels/lists.py` draws them.)"""

from __future__ import annotations

from benchmarks.papers.kernels import CHAIN_EXTRA, COUNT, LIST_EXTRA, REGISTERS
from sash.deltas import Int64s, Layout
from sash.stores.arena import Scope
from sash.stores.interner import Interner
from sash.stores.lanes import string_lanes
from sash.stores.row_log import RowLog

FIRST_ROOM = 64
BUCKETS = 1 << 10  # of a hash table


class ScannedList:
    """Lines in one list."""

    EXTRA = LIST_EXTRA

    def __init__(self, layout: Layout, scope: Scope, interner: Interner) -> None:
        self._scope = scope
        self.registers = scope.array("registers", REGISTERS)
        self.lines = scope.array("lines", (FIRST_ROOM, layout.width + self.EXTRA))
        lanes = string_lanes(layout)
        interner.hold(lambda: (self.lines, lanes))

    def __len__(self) -> int:
        return int(self.registers[COUNT])

    def reserve(self, extra: int) -> None:
        if len(self) + extra > len(self.lines):
            self.lines = self._scope.resize("lines", max(2 * len(self.lines), len(self) + extra))


class ChainedLists(ScannedList):
    """Lines in several lists: partitions by expiration, or buckets."""

    EXTRA = CHAIN_EXTRA

    def __init__(self, layout: Layout, scope: Scope, interner: Interner, lists: int = BUCKETS) -> None:
        super().__init__(layout, scope, interner)
        self.heads = scope.array("heads", lists)

    @property
    def arrays(self) -> tuple[Int64s, Int64s, Int64s]:
        return self.registers, self.lines, self.heads


class BucketLog(RowLog):
    """A log whose table does not grow with it."""

    def _table_room(self, room: int) -> int:
        return BUCKETS
