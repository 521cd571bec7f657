"""The partitions of a window with PARTITION BY, each a chain of its rows from the oldest to the newest."""

from __future__ import annotations

from sash.deltas import Layout
from sash.operators.windows.kernels import NODES, PARTITIONS
from sash.stores.arena import Scope
from sash.stores.hash_table import grown_table, table_length
from sash.stores.interner import Interner
from sash.stores.lanes import string_lanes

FIRST_ROOM = 64
PER_PARTITION = ("keys", "counts", "oldest", "newest")


class Partitions:
    """Arrays for partitions (found by key) and for rows (chained)."""

    def __init__(self, layout: Layout, scope: Scope, interner: Interner) -> None:
        self._scope = scope
        self.registers = scope.array("registers", 2)
        self.table = scope.array("table", 2 * FIRST_ROOM)
        self.keys = scope.array("keys", (FIRST_ROOM, layout.width))
        self.counts, self.oldest = scope.array("counts", FIRST_ROOM), scope.array("oldest", FIRST_ROOM)
        self.newest = scope.array("newest", FIRST_ROOM)
        self.following = scope.array("following", FIRST_ROOM)
        self.rows = scope.array("rows", (FIRST_ROOM, layout.width))
        lanes = string_lanes(layout)
        interner.hold(lambda: (self.rows, lanes))
        interner.hold(lambda: (self.keys, lanes))

    def __len__(self) -> int:
        """How many rows."""
        return int(self.counts[: self.registers[PARTITIONS]].sum())

    def reserve(self, extra: int) -> None:
        partitions, nodes = int(self.registers[PARTITIONS]) + extra, int(self.registers[NODES]) + extra
        if nodes > len(self.following):
            room = max(2 * len(self.following), nodes)
            self.following, self.rows = self._scope.resize("following", room), self._scope.resize("rows", room)
        if partitions > len(self.counts):
            room = max(2 * len(self.counts), partitions)
            self.keys, self.counts, self.oldest, self.newest = (self._scope.resize(name, room) for name in PER_PARTITION)
        if 2 * partitions > len(self.table):
            self.table = grown_table(self._scope, "table", self.table, table_length(partitions))
