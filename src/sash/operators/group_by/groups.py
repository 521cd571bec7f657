"""What a GROUP BY remembers: groups, the values of their sets, and the way to both.

    table  ->  cells | lines           one row for every group: what it adds up, the output row it shows
    node table  ->  nodes | beside     one for every distinct value of a set of a group; the value beside it

The limbs of DOUBLE sums are the last cells of a group. How many there are depends on the values seen, so the cells are
one flat array with a stride that can grow.
"""

from __future__ import annotations

import numpy as np

from sash.deltas import Int64s
from sash.kernels.bundles import Bundle
from sash.kernels.exact_sum import RANGE_CELL, RANGE_COLUMNS, RANGE_LENGTH, spread_cells
from sash.operators.group_by.kernels.groups import GroupState
from sash.operators.group_by.kernels.limb_ranges import wanted_ranges
from sash.operators.group_by.kernels.registers import (
    LAST,
    LIVE_GROUPS,
    LIVE_NODES,
    OVERFLOWS,
    REGISTERS,
    STRIDE,
    TOUCHED_GROUP,
    TOUCHED_NODE,
    USED_GROUPS,
    USED_NODES,
)
from sash.operators.group_by.kernels.value_nodes import BESIDE_FIELDS, BESIDE_MAJOR, MAJOR, NODE_FIELDS, OWNER, OWNER_BITS
from sash.operators.group_by.opcodes import BY_STRING, SET_BESIDE, SET_ORDER
from sash.operators.group_by.tables import GroupTables
from sash.stores.arena import Array, Scope
from sash.stores.hash_table import grown_table

FIRST_GROUPS, FIRST_NODES = 16, 16


class Groups:
    """The groups of one GROUP BY, in a scope of an arena."""

    def __init__(self, scope: Scope, tables: GroupTables, width: int) -> None:
        self._scope = scope
        self._tables = tables
        self.registers = scope.array("registers", REGISTERS)
        if self.registers[STRIDE] == 0:
            self.registers[STRIDE] = tables.cells
            self.registers[TOUCHED_GROUP] = self.registers[TOUCHED_NODE] = LAST
        self.ranges = scope.array("ranges", (tables.ranges, RANGE_COLUMNS))
        self._wanted = np.zeros_like(self.ranges)
        self.lines = scope.array("lines", (FIRST_GROUPS, width))
        self._flat_cells = scope.array("cells", FIRST_GROUPS * tables.cells)
        self.table = scope.array("table", _table_length(FIRST_GROUPS))
        nodes = 1 << (FIRST_NODES + len(tables.sets)).bit_length() if len(tables.sets) else 1
        self.nodes = scope.array("nodes", (nodes, NODE_FIELDS))
        self.beside = scope.array("beside", (nodes if tables.has_pairs else 1, BESIDE_FIELDS))
        self.node_table = scope.array("node_table", _table_length(nodes))
        self.bundle = Bundle(
            GroupState, self.registers, self.ranges, self.table, self.cells, self.lines, self.nodes, self.beside, self.node_table
        )

    @property
    def cells(self) -> Int64s:
        return self._flat_cells.reshape(len(self.lines), int(self.registers[STRIDE]))

    @property
    def live_groups(self) -> int:
        return int(self.registers[LIVE_GROUPS])

    @property
    def live_values(self) -> int:
        """How many distinct values the sets keep."""
        return int(self.registers[LIVE_NODES])

    @property
    def overflows(self) -> int:
        """How many sums were shown as NULL because they do not fit their type."""
        return int(self.registers[OVERFLOWS])

    def grow(self) -> bool:
        """Make room where the kernel found none; the answer is whether that was here."""
        lacks_groups = bool(self.registers[LIVE_GROUPS] >= len(self.lines) - 1)
        lacks_nodes = bool(self.registers[LIVE_NODES] > len(self.nodes) - 1 - len(self._tables.sets))
        if lacks_groups:
            self.lines = self._scope.resize("lines", 2 * len(self.lines))
            self._flat_cells = self._scope.resize("cells", 2 * len(self._flat_cells))
            self.table = grown_table(self._scope, "table", self.table, _table_length(len(self.lines)))
            self.bundle.replace(lines=self.lines, cells=self.cells, table=self.table)
        if lacks_nodes:
            self.nodes = self._scope.resize("nodes", 2 * len(self.nodes))
            self.node_table = grown_table(self._scope, "node_table", self.node_table, _table_length(len(self.nodes)))
            if self._tables.has_pairs:
                self.beside = self._scope.resize("beside", len(self.nodes))
            self.bundle.replace(nodes=self.nodes, node_table=self.node_table, beside=self.beside)
        return lacks_groups or lacks_nodes

    def widen(self, rows: Int64s, weight: Int64s) -> None:
        """Make room for the DOUBLE values of these rows: limbs for their exponents."""
        if len(self.ranges) and wanted_ranges(rows, weight, self._tables.feeds, self.ranges, self._wanted):
            self._lay_out(self._wanted)

    def _lay_out(self, ranges: Int64s) -> None:
        lengths = ranges[:, RANGE_LENGTH]
        ranges[:, RANGE_CELL] = self._tables.cells + np.cumsum(lengths) - lengths
        old_stride, stride = int(self.registers[STRIDE]), self._tables.cells + int(lengths.sum())
        self._flat_cells = self._scope.resize("cells", len(self.lines) * stride)
        groups = int(self.registers[USED_GROUPS]) + 1
        held = np.empty(old_stride, np.int64)
        spread_cells(self._flat_cells, groups, old_stride, stride, self._tables.cells, self.ranges, ranges, held)
        self.ranges[:] = ranges
        self.registers[STRIDE] = stride
        self.bundle.replace(cells=self.cells)

    def string_values(self) -> tuple[Int64s, Int64s]:
        """The codes that are values of sets, as rows of one lane."""
        return self._codes(self.nodes, MAJOR, SET_ORDER)

    def strings_beside(self) -> tuple[Int64s, Int64s]:
        """The codes that lie beside values, as rows of one lane."""
        return self._codes(self.beside, BESIDE_MAJOR, SET_BESIDE)

    def _codes(self, values: Array, field: int, order: int) -> tuple[Int64s, Int64s]:
        used = slice(1, int(self.registers[USED_NODES]) + 1)
        by_string = np.flatnonzero(self._tables.sets[:, order] == BY_STRING)
        is_string = np.isin(self.nodes[used, OWNER] & (1 << OWNER_BITS) - 1, by_string)
        return np.ascontiguousarray(values[used][is_string][:, field : field + 1]), np.zeros(1, np.int64)


def _table_length(entries: int) -> int:
    """A power of two that leaves a hash table half empty."""
    return 1 << (2 * entries - 1).bit_length()
