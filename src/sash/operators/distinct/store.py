"""Distinct rows, each with the expiry of its youngest copy. (`kernels/distinct.py` draws them.)"""

from __future__ import annotations

import numpy as np

from sash.deltas import Int64s, Layout
from sash.kernels.bag import FREED, LIVE, USED
from sash.kernels.prefetching import tag_rows
from sash.operators.distinct.kernels import ALARMS, EXTRA, GREATEST, HEAD, REGISTERS
from sash.schema import FOREVER
from sash.stores.arena import Scope
from sash.stores.hash_table import grown_table, table_length
from sash.stores.interner import Interner
from sash.stores.lanes import string_lanes

FIRST_ROOM = 64


class DistinctRows:
    """Nodes, found by row; with alarms where rows leave in any order."""

    def __init__(self, layout: Layout, scope: Scope, interner: Interner, *, has_alarms: bool) -> None:
        self._scope = scope
        self._has_alarms = has_alarms
        self.lanes = np.arange(layout.width, dtype=np.int64)
        self.registers = scope.array("registers", REGISTERS)
        self.nodes = scope.array("nodes", (FIRST_ROOM, layout.width + EXTRA))
        self.free = scope.array("free", FIRST_ROOM)
        self.table = scope.array("table", 2 * FIRST_ROOM)
        self.heap = scope.array("heap", (FIRST_ROOM if has_alarms else 1, 2))
        lanes = string_lanes(layout)
        interner.hold(lambda: (self._live(), lanes))

    def __len__(self) -> int:
        return int(self.registers[LIVE])

    @property
    def first(self) -> int:
        """When the next row may leave; FOREVER if none will."""
        if self._has_alarms:
            return int(self.heap[0, 0]) if self.registers[ALARMS] else FOREVER
        head = int(self.registers[HEAD])
        return int(self.nodes[head - 1, len(self.lanes) + GREATEST]) if head else FOREVER

    @property
    def shown(self) -> Int64s:
        """All of them."""
        return np.ascontiguousarray(self._live()[:, : len(self.lanes)])

    def tags(self, rows: Int64s) -> Int64s:
        """By which rows are found."""
        tags = np.empty(len(rows), np.int64)
        tag_rows(rows, self.lanes, tags)
        return tags

    def reserve(self, extra: int) -> None:
        """Make room for so many more rows."""
        wanted = len(self) + extra
        if wanted > len(self.nodes):
            room = max(2 * len(self.nodes), wanted)
            self.nodes, self.free = self._scope.resize("nodes", room), self._scope.resize("free", room)
            if self._has_alarms:
                self.heap = self._scope.resize("heap", room)
        if 2 * wanted > len(self.table):
            self.table = grown_table(self._scope, "table", self.table, table_length(wanted))

    def _live(self) -> Int64s:
        is_live = np.ones(int(self.registers[USED]), np.bool_)
        is_live[self.free[: self.registers[FREED]]] = False
        return np.asarray(self.nodes[: len(is_live)][is_live])
