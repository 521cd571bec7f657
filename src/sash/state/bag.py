"""Bags of rows with counts: the answer of a view, and the two sides of a join of signed changes."""

from __future__ import annotations

import numpy as np

from sash.deltas import Int64s, Layout
from sash.kernels import bag as kernel
from sash.kernels.hashing import rebuild_table
from sash.state.arena import Scope
from sash.state.interner import Interner
from sash.state.lanes import string_lanes

FIRST_ROOM = 64


class RowBag:
    """Every distinct row once, with its count."""

    def __init__(self, layout: Layout, scope: Scope, interner: Interner) -> None:
        self._scope = scope
        self.lanes = np.arange(layout.width, dtype=np.int64)
        self.registers = scope.array("registers", 4)
        self.nodes = scope.array("nodes", (FIRST_ROOM, layout.width))
        self.counts = scope.array("counts", FIRST_ROOM)
        self.free = scope.array("free", FIRST_ROOM)
        self.table = scope.array("table", 2 * FIRST_ROOM)
        lanes = string_lanes(layout)
        interner.hold(lambda: (self.rows()[0], lanes))

    def __len__(self) -> int:
        """How many distinct rows."""
        return int(self.registers[kernel.LIVE])

    def add(self, rows: Int64s, weights: Int64s) -> None:
        self.reserve(len(weights))
        kernel.change_counts(
            rows, weights, self.lanes, self.registers, self.table, self.nodes, self.counts, self.free
        )

    def rows(self) -> tuple[Int64s, Int64s]:
        """The distinct rows and their counts, in no order."""
        live = np.flatnonzero(self.counts[: self.registers[kernel.USED]])
        return self.nodes[live], self.counts[live]

    def reserve(self, extra: int) -> None:
        """Make room for so many more distinct rows."""
        wanted = int(self.registers[kernel.LIVE]) + extra
        if wanted > len(self.counts):
            self._resize(max(2 * len(self.counts), wanted))
        if 2 * wanted > len(self.table):
            self.table = self._grow_table("table", self.table, wanted)

    def _resize(self, room: int) -> None:
        self.nodes, self.counts = self._scope.resize("nodes", room), self._scope.resize("counts", room)
        self.free = self._scope.resize("free", room)

    def _grow_table(self, name: str, old: Int64s, wanted: int) -> Int64s:
        entries = old.copy()
        table = self._scope.resize(name, 1 << (2 * wanted).bit_length())
        table[:] = 0
        rebuild_table(entries, table)
        return table


class KeyedBag(RowBag):
    """A bag whose rows are also found by key."""

    def __init__(self, layout: Layout, key_lanes: Int64s, scope: Scope, interner: Interner) -> None:
        super().__init__(layout, scope, interner)
        self.key_lanes = key_lanes
        self.key_table = scope.array("key table", 2 * FIRST_ROOM)
        self.following = scope.array("following", FIRST_ROOM)
        self.previous = scope.array("previous", FIRST_ROOM)

    def reserve(self, extra: int) -> None:
        super().reserve(extra)
        if len(self.key_table) < len(self.table):
            self.key_table = self._grow_table("key table", self.key_table, len(self.table) // 2 - 1)

    def _resize(self, room: int) -> None:
        super()._resize(room)
        self.following, self.previous = self._scope.resize("following", room), self._scope.resize("previous", room)


class TwoSidedBag(RowBag):
    """A bag whose rows have two counts: `counts` on the left side, `others` on the right one."""

    def __init__(self, layout: Layout, scope: Scope, interner: Interner) -> None:
        super().__init__(layout, scope, interner)
        self.others = scope.array("others", FIRST_ROOM)

    def rows(self) -> tuple[Int64s, Int64s]:
        """The distinct rows of both sides, and their counts on the left one."""
        used = self.registers[kernel.USED]
        live = np.flatnonzero((self.counts[:used] != 0) | (self.others[:used] != 0))
        return self.nodes[live], self.counts[live]

    def _resize(self, room: int) -> None:
        super()._resize(room)
        self.others = self._scope.resize("others", room)
