"""Partitions of rows, each in an order. (`kernels/ranking.py` draws them.)"""

from __future__ import annotations

import numpy as np

from sash.deltas import MASK_BITS, Int64s, Layout
from sash.kernels.bundles import Bundle
from sash.kernels.ranking import (
    LIVE_NODES,
    LIVE_PARTITIONS,
    PARTITION_FIELDS,
    REGISTERS,
    USED_NODES,
    Aged,
    KeyPlaces,
    Ranked,
)
from sash.kernels.tree import COUNT, NODE_FIELDS, Tree
from sash.stores.arena import Scope
from sash.stores.hash_table import grown_table, table_length
from sash.stores.interner import Interner
from sash.stores.lanes import string_lanes

FIRST_ROOM = 64


class KeyColumns:
    """Which lanes and mask bits of a row make its key; keys of equal types are written alike, whatever rows they are from."""

    def __init__(self, layout: Layout, columns: tuple[int, ...]) -> None:
        types = layout.schema.types
        lanes = [layout.lanes[column] + lane for column in columns for lane in range(types[column].lanes)]
        self.lanes = np.array(lanes, np.int64)
        self.nulls = np.array([layout.mask(column) for column in columns], np.int64).reshape(len(columns), 2)
        self.width = len(lanes) + max(1, -(-len(columns) // MASK_BITS))
        strings = {layout.lanes[column] for column in columns if types[column].is_interned}
        self.bundle = Bundle(KeyPlaces, self.lanes, self.nulls)
        self.strings = np.array([place for place, lane in enumerate(lanes) if lane in strings], np.int64)


class Ranking:
    """Rows with counts, found by partition and order; `extra` lanes follow those of the row."""

    def __init__(self, layout: Layout, key: KeyColumns, scope: Scope, interner: Interner, extra: int = 0) -> None:
        self._scope = scope
        self.registers = scope.array("registers", REGISTERS)
        self.table = scope.array("table", 2 * FIRST_ROOM)
        self.keys = scope.array("keys", (FIRST_ROOM, key.width))
        self.partitions = scope.array("partitions", (FIRST_ROOM, PARTITION_FIELDS))
        self.stored = scope.array("stored", (FIRST_ROOM, layout.width + extra))
        self.nodes = scope.array("nodes", (FIRST_ROOM, NODE_FIELDS))
        self.tree = Bundle(Tree, self.stored, self.nodes)
        self.bundle = Bundle(
            Ranked, self.registers, self.table, self.keys, self.partitions, self.tree, np.zeros((1, key.width), np.int64),
            np.arange(key.width),
        )
        lanes = string_lanes(layout)
        interner.hold(lambda: (self._live_rows(), lanes))
        interner.hold(lambda: (self.keys, key.strings))

    def __len__(self) -> int:
        """How many distinct rows."""
        return int(self.registers[LIVE_NODES])

    @property
    def live_partitions(self) -> int:
        return int(self.registers[LIVE_PARTITIONS])

    def reserve(self, rows: int, partitions: int) -> None:
        """Make room for so many more distinct rows and partitions; number 0 is nobody of both."""
        if len(self) + rows + 1 > len(self.nodes):
            self._resize(max(2 * len(self.nodes), len(self) + rows + 1))
        partitions += self.live_partitions + 1
        if partitions > len(self.partitions):
            room = max(2 * len(self.partitions), partitions)
            self.keys, self.partitions = self._scope.resize("keys", room), self._scope.resize("partitions", room)
            self.bundle.replace(keys=self.keys, partitions=self.partitions)
        if 2 * partitions > len(self.table):
            self.table = self._grown("table", self.table, partitions)
            self.bundle.replace(table=self.table)

    def _resize(self, room: int) -> None:
        self.stored, self.nodes = self._scope.resize("stored", room), self._scope.resize("nodes", room)
        self.tree.replace(stored=self.stored, nodes=self.nodes)

    def _grown(self, name: str, table: Int64s, wanted: int) -> Int64s:
        return grown_table(self._scope, name, table, table_length(wanted))

    def _live_rows(self) -> Int64s:
        used = int(self.registers[USED_NODES]) + 1
        return np.asarray(self.stored[:used][self.nodes[:used, COUNT] != 0])


class AgedRanking(Ranking):
    """Rows in the order in which they came, found also by row. (`kernels/minus.py` draws them.)"""

    def __init__(self, layout: Layout, key: KeyColumns, scope: Scope, interner: Interner) -> None:
        super().__init__(layout, key, scope, interner)
        self.row_table = scope.array("row table", 2 * FIRST_ROOM)
        self.aged = Bundle(Aged, self.bundle, self.row_table, np.arange(layout.width))

    def reserve(self, rows: int, partitions: int) -> None:
        super().reserve(rows, partitions)
        if 2 * (len(self) + rows) > len(self.row_table):
            self.row_table = self._grown("row table", self.row_table, len(self) + rows)
            self.aged.replace(row_table=self.row_table)
