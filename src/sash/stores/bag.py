"""Bags of rows with counts: the answer of a view, and the two sides of a join of signed changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from sash.deltas import Int64s, Layout
from sash.kernels import bag as kernel
from sash.kernels.answers import add_to_answer, tag_answers
from sash.kernels.bag import TOUCHED
from sash.kernels.bundles import Bundle
from sash.kernels.hashing import HALF
from sash.kernels.prefetching import tag_rows
from sash.kernels.view_index import forget_touched
from sash.stores.arena import Scope
from sash.stores.hash_table import grown_table, table_length
from sash.stores.interner import Interner
from sash.stores.lanes import string_lanes
from sash.stores.view_index import IndexShape, ViewIndex

FIRST_ROOM = 64
NOTHING_TOUCHED = np.empty((0, 2), np.int64)
AT_ONCE = 1 << 12  # changes of an answer: most rows come and go soon


class RowBag:
    """Every distinct row once, with its count."""

    EXTRA = 1  # lanes of a node after those of its row

    def __init__(self, layout: Layout, scope: Scope, interner: Interner, more: int = 0) -> None:
        """Rows of a layout, each with so many more lanes at its end."""
        self._scope = scope
        self._width = layout.width + more
        self.lanes = np.arange(self._width, dtype=np.int64)
        self.registers = scope.array("registers", 4)
        self.nodes = scope.array("nodes", (FIRST_ROOM, self._width + self.EXTRA))
        self.free = scope.array("free", FIRST_ROOM)
        self.table = scope.array("table", 2 * FIRST_ROOM)
        lanes = string_lanes(layout)
        interner.hold(lambda: (self._live(), lanes))

    def __len__(self) -> int:
        """How many distinct rows."""
        return int(self.registers[kernel.LIVE])

    def add(self, rows: Int64s, weights: Int64s) -> None:
        self.reserve(len(weights))
        kernel.change_counts(rows, weights, self.lanes, self.tags(rows), self.registers, self.table, self.nodes, self.free)

    def tags(self, rows: Int64s) -> Int64s:
        """By which rows are found."""
        tags = np.empty(len(rows), np.int64)
        tag_rows(rows, self.lanes, tags)
        return tags

    def rows(self) -> tuple[Int64s, Int64s]:
        """The distinct rows and their counts, in no order."""
        live = self._live()
        return np.ascontiguousarray(live[:, : self._width]), np.ascontiguousarray(live[:, self._width + kernel.COUNT])

    def reserve(self, extra: int) -> None:
        """Make room for so many more distinct rows."""
        wanted = int(self.registers[kernel.LIVE]) + extra
        if wanted > len(self.nodes):
            room = max(2 * len(self.nodes), wanted)
            self.nodes, self.free = self._scope.resize("nodes", room), self._scope.resize("free", room)
        if 2 * wanted > len(self.table):
            self.table = self._grow_table("table", self.table, wanted)

    def _live(self) -> Int64s:
        nodes = self.nodes[: self.registers[kernel.USED]]
        return np.asarray(nodes[nodes[:, self._width + kernel.COUNT] != 0])

    def _grow_table(self, name: str, old: Int64s, wanted: int) -> Int64s:
        return grown_table(self._scope, name, old, table_length(wanted))


@dataclass
class Lagging:
    """An index, and the nodes that have changed since it was last asked: parts, in each of which a node is once."""

    index: ViewIndex
    parts: list[Int64s] = field(default_factory=list)
    count: int = 0  # of nodes in all parts

    def note(self, nodes: Int64s, most: int) -> None:
        """There are so many nodes at most, so what nobody asks for does not grow for ever."""
        self.parts.append(nodes)
        self.count += len(nodes)
        if self.count > most:
            self.parts = [self._once()]
            self.count = len(self.parts[0])

    def caught_up(self) -> ViewIndex:
        if self.parts:
            nodes, self.parts, self.count = self._once(), [], 0
            self.index.refresh(nodes, len(nodes))
        return self.index

    def _once(self) -> Int64s:
        return self.parts[0] if len(self.parts) == 1 else np.unique(np.concatenate(self.parts))[:, np.newaxis]


class AnswerBag(RowBag):
    """A bag that no operator looks into: rows come and go, and all of them, or those of a key, are asked for now and then."""

    def __init__(self, layout: Layout, scope: Scope, interner: Interner, key_columns: int | None = None) -> None:
        """So many first columns tell rows apart, if that is known."""
        super().__init__(layout, scope, interner)
        has_less = key_columns is not None and 0 < key_columns < len(layout.schema)
        self._tagged = layout.lanes[key_columns] if has_less and key_columns is not None else self._width
        self.key_columns = key_columns if has_less else None  # by which rows can be found
        self.count_lane = self._width + kernel.COUNT
        self.registers[kernel.USED] = max(1, self.registers[kernel.USED])  # in an index, node 0 is nobody
        self._watch, self._touched = scope.scope("watch"), NOTHING_TOUCHED
        self._indexes: dict[IndexShape, Lagging] = {}

    def reserve(self, extra: int) -> None:
        super().reserve(extra + 1)
        if self._indexes and len(self._touched) < len(self.nodes):
            self._touched = self._watch.resize("touched", len(self.nodes))

    def keep_indexes(self, shapes: Iterable[IndexShape], make: Callable[[IndexShape, Scope], ViewIndex]) -> None:
        """Have these indexes from now on, and no others. A new one is filled with all that is there."""
        wanted = frozenset(shapes)
        if wanted == self._indexes.keys():
            return
        self._note_touched()
        for shape in [shape for shape in self._indexes if shape not in wanted]:
            self._indexes.pop(shape).index.close()
        new = [shape for shape in sorted(wanted, key=str) if shape not in self._indexes]
        if new and not self._indexes:
            self._touched = self._watch.array("touched", (len(self.nodes), 2))
        every = np.flatnonzero(self.nodes[: self.registers[kernel.USED], self.count_lane])
        for shape in new:
            index = make(shape, self._scope.scope(f"index {shape.method} {shape.columns}"))
            self._indexes[shape] = Lagging(index)
            index.refresh(np.ascontiguousarray(every[:, np.newaxis]), len(every))
        if not self._indexes and len(self._touched):
            self._watch.drop()
            self._touched = NOTHING_TOUCHED

    def index(self, shape: IndexShape) -> ViewIndex:
        """One of them, as it is now. The others pay when they are asked."""
        self._note_touched()
        return self._indexes[shape].caught_up()

    def at(self, nodes: Int64s) -> tuple[Int64s, Int64s]:
        """The rows of some nodes, and their counts."""
        found = self.nodes[nodes]
        return np.ascontiguousarray(found[:, : self._width]), found[:, self.count_lane]

    def _note_touched(self) -> None:
        """Every index knows what it has to take in."""
        count = int(self.registers[TOUCHED])
        if count:
            nodes = self._touched[:count, :1].copy()
            for lagging in self._indexes.values():
                lagging.note(nodes, len(self.nodes))
            forget_touched(count, self._touched)
            self.registers[TOUCHED] = 0

    def find(self, line: Int64s) -> tuple[Int64s, Int64s]:
        """The rows, and their counts, that may have the key of a row: all that have it, perhaps others too."""
        (tag,), last, places = self.tags(line).tolist(), len(self.table) - 1, []
        slot = tag & last
        while entry := int(self.table[slot]):
            if entry >> 32 & HALF == tag:
                places.append((entry & HALF) - 1)
            slot = (slot + 1) & last
        return self.at(np.array(places, np.int64))

    def add(self, rows: Int64s, weights: Int64s) -> None:
        """At most so many at a time that the bag, which makes room for all, need not be much larger than it will be."""
        for start in range(0, len(weights), AT_ONCE):
            part, counts = rows[start : start + AT_ONCE], weights[start : start + AT_ONCE]
            self.reserve(len(counts))
            add_to_answer(part, counts, self.tags(part), self.registers, self.table, self.nodes, self.free, self._touched)

    def tags(self, rows: Int64s) -> Int64s:
        tags = np.empty(len(rows), np.int64)
        tag_answers(rows, self._tagged, tags)
        return tags


class KeyedBag(RowBag):
    """A bag whose rows are also found by key."""

    EXTRA = 3

    def __init__(self, layout: Layout, key_lanes: Int64s, scope: Scope, interner: Interner, more: int = 0) -> None:
        super().__init__(layout, scope, interner, more)
        self.key_table = scope.array("key table", 2 * FIRST_ROOM)
        self.bundle = Bundle(
            kernel.KeyedNodes, self.registers, self.table, self.key_table, self.nodes, self.free, self.lanes, key_lanes
        )

    def reserve(self, extra: int) -> None:
        nodes, table = self.nodes, self.table
        super().reserve(extra)
        if len(self.key_table) < len(self.table):
            self.key_table = self._grow_table("key table", self.key_table, len(self.table) // 2 - 1)
        if self.nodes is not nodes or self.table is not table:
            self.bundle.replace(table=self.table, key_table=self.key_table, nodes=self.nodes, free=self.free)


class TwoSidedBag(RowBag):
    """A bag whose rows have two counts, one a side."""

    EXTRA = 2

    def _live(self) -> Int64s:
        nodes, width = self.nodes[: self.registers[kernel.USED]], self._width
        return np.asarray(nodes[(nodes[:, width + kernel.COUNT] != 0) | (nodes[:, width + kernel.OTHER] != 0)])
