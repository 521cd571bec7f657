"""What groups added in slices: the ring of parts, and the groups that have some. (`kernels.py` draws it.)"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sash.deltas import Delta, Int64s, forever, once
from sash.kernels.bundles import Bundle
from sash.operators.group_by import opcodes as words
from sash.operators.group_by.kernels.sliding_sums import HEAD, LIVE, TAIL
from sash.operators.group_by.tables import key_tables
from sash.operators.many_outputs import Past
from sash.operators.shared_groups.feeds import PartFeed, PartLayout, Span
from sash.operators.shared_groups.kernels import records, slices
from sash.operators.shared_groups.kernels.records import COUNT, END, GROUP, NEWEST, REACHED
from sash.stores.arena import Scope
from sash.stores.hash_table import grown_table
from sash.stores.interner import Interner
from sash.stores.lanes import string_lanes

if TYPE_CHECKING:
    from sash.operators.shared_groups.spec import SharedGroupsSpec

FIRST_ROOM = 64
SAVED_FIELDS = records.AT + 1  # of a feed; the spans of limbs are saved beside them
FIRST_PART = 1 << 40  # numbers of parts begin here, so that there is room for older ones
LONG_AGO = -(1 << 62)


@dataclass(frozen=True)
class PastParts(Past):
    """Parts by the end of their slices: a row has the lanes of a key, then those of the part from its count on."""

    layout: PartLayout

    def copy(self) -> PastParts:
        return replace(self, inputs=tuple(delta.copy() for delta in self.inputs))


class Parts:
    """The parts of all groups, in the order of their slices."""

    def __init__(self, spec: SharedGroupsSpec, scope: Scope, interner: Interner) -> None:
        self._tables, self._key = key_tables(spec.input.layout, spec.layout, spec.keys), spec.layout
        self._input_width = spec.input.layout.width
        self._scope = scope
        self.registers = scope.array("registers", records.REGISTERS)
        if not self.registers[TAIL]:
            self.registers[[HEAD, TAIL, records.LINKED]], self.registers[REACHED] = FIRST_PART, LONG_AGO
        self._groups = scope.array("groups", (FIRST_ROOM, words.FIRST_CELL + self._key.width))
        self._table = scope.array("table", 2 * FIRST_ROOM)
        self.layout = PartLayout.read(scope.array("feeds", (0, SAVED_FIELDS)), scope.array("spans", (0, 2)))
        self._ring, self._newest = self._laid_out(FIRST_ROOM)
        shape = np.array([spec.width, self._key.values], np.int64)
        self.bundle = Bundle(
            records.Parts, self._tables.bundle(self._key.width), self.layout.lines, shape, self.registers, self._table,
            self._groups, self._ring, self._newest,
        )
        codes = string_lanes(self._key)
        interner.hold(lambda: (self._keys(), codes))

    def __len__(self) -> int:
        return self._tail - self._head

    @property
    def _head(self) -> int:
        number: int = self.registers.item(HEAD)
        return number

    @property
    def _tail(self) -> int:
        number: int = self.registers.item(TAIL)
        return number

    @property
    def live_groups(self) -> int:
        count: int = self.registers.item(LIVE)
        return count

    @property
    def reached(self) -> int:
        instant: int = self.registers.item(REACHED)
        return instant

    def go_on(self, reached: int) -> None:
        """Nothing happens up to this instant."""
        self.registers[REACHED] = max(self.reached, reached)

    def tags(self, rows: Int64s) -> Int64s:
        tags = np.empty(len(rows), np.int64)
        slices.tag_rows(rows, self.bundle.record, tags)
        return tags

    def reserve(self, extra: int) -> None:
        """Make room for so many more parts, each with a group of its own."""
        self._reserve_ring(len(self) + extra)
        groups = self.live_groups + extra + 1
        if groups > len(self._groups):
            self._groups = self._scope.resize("groups", 1 << (groups - 1).bit_length())
            self._newest = self._scope.scope("ring").resize("newest", len(self._groups))
            self.bundle.replace(groups=self._groups, newest=self._newest)
        if 2 * len(self._groups) > len(self._table):
            self._table = grown_table(self._scope, "table", self._table, 2 * len(self._groups))
            self.bundle.replace(table=self._table)

    def _reserve_ring(self, wanted: int) -> None:
        if wanted <= len(self._ring):
            return
        held, numbers = self._live_parts(), self._numbers()
        self._ring = self._scope.scope("ring").resize("ring", 1 << (wanted - 1).bit_length())
        self._ring[numbers & (len(self._ring) - 1)] = held
        self.bundle.replace(ring=self._ring)

    def _numbers(self) -> Int64s:
        return np.arange(self._head, self._tail)

    def _live_parts(self) -> Int64s:
        found: Int64s = self._ring[self._numbers() & (len(self._ring) - 1)]
        return found

    def _keys(self) -> Int64s:
        """The keys of all groups that have parts."""
        live = np.unique(self._live_parts()[:, GROUP])
        return np.ascontiguousarray(self._groups[live, words.FIRST_CELL :])

    # Feeds come and go.

    def use(self, feeds: Iterable[PartFeed]) -> None:
        """Add up these from now on, and no others. Of those that are new there is nothing yet."""
        layout = self.layout.with_feeds(feeds)
        if layout.places.keys() != self.layout.places.keys():
            self._lay_out(layout)

    def widen(self, spans: Mapping[PartFeed, Span]) -> bool:
        """Have limbs enough for these; whether there are more than before."""
        layout = self.layout.widened(spans)
        is_other = layout is not self.layout
        if is_other:
            self._lay_out(layout)
        return is_other

    def _lay_out(self, layout: PartLayout) -> None:
        """Give parts the lanes of another layout."""
        old, held, numbers, newest = self.layout, self._live_parts(), self._numbers(), self._newest.copy()
        room = len(self._ring)
        self.layout = layout
        self._scope.scope("ring").drop()
        self._ring, self._newest = self._laid_out(room)
        parts = np.zeros((len(held), layout.width), np.int64)
        parts[:, : records.SUMS] = held[:, : records.SUMS]
        old.moved(held, layout, parts)
        self._ring[numbers & (room - 1)] = parts
        before = list(old.places)
        for place, feed in enumerate(layout.places):
            if feed in old.places:
                self._newest[:, place] = newest[:, before.index(feed)]
        self._scope.array("feeds", (0, SAVED_FIELDS))
        self._scope.resize("feeds", len(layout.places))[:] = layout.lines[:, :SAVED_FIELDS]
        self._scope.resize("spans", len(layout.places))[:] = layout.lines[:, SAVED_FIELDS:]
        self.bundle.replace(feeds=layout.lines, ring=self._ring, newest=self._newest)

    def _laid_out(self, room: int) -> tuple[Int64s, Int64s]:
        """The ring, and the newest parts of groups, for the feeds there are."""
        scope = self._scope.scope("ring")
        newest = scope.array("newest", (len(self._groups), len(self.layout.places)))
        return scope.array("ring", (room, self.layout.width)), newest

    # What was before.

    def past(self) -> PastParts:
        parts = self._live_parts()
        rows = np.column_stack([self._groups[parts[:, GROUP], words.FIRST_CELL :], parts[:, COUNT:]])
        count = len(parts)
        delta = Delta(np.ascontiguousarray(rows), parts[:, END].copy(), forever(count), once(count))
        return PastParts((delta,), self.reached, self.layout)

    def recall(self, past: PastParts) -> None:
        """Have all that somebody knows of slices: those that are here already may lack what feeds added up that came since."""
        (delta,), theirs = past.inputs, past.layout
        self.widen(theirs.spans)
        keys, values = delta.rows[:, : self._key.width], delta.rows[:, self._key.width - COUNT :]
        parts = np.zeros((len(delta), self.layout.width), np.int64)
        parts[:, COUNT], parts[:, END] = values[:, COUNT], delta.ts
        theirs.moved(values, self.layout, parts)
        self.reserve(len(parts))
        parts[:, GROUP] = self._find_groups(keys)
        first = self._ring[self._head & (len(self._ring) - 1), END] if len(self) else delta.ts[-1] + 1 if len(delta) else 0
        is_older = parts[:, END] < first
        self._complete(parts[~is_older])
        self._put_before(parts[is_older])
        self._newest[:] = 0
        slices.link_anew(self.bundle.record)

    def _find_groups(self, keys: Int64s) -> Int64s:
        """The groups of keys, new ones if need be."""
        rows, found = np.zeros((len(keys), self._input_width), np.int64), np.empty(len(keys), np.int64)
        for lane, line in enumerate(self._tables.keys.tolist()):
            rows[:, line[words.KEY_LANE]] = keys[:, lane]
            is_null = keys[:, line[words.KEY_TO_MASK]] >> line[words.KEY_TO_BIT] & 1
            rows[:, line[words.KEY_MASK]] |= is_null << line[words.KEY_BIT]
        slices.find_groups(rows, self.tags(rows), self.bundle.record, found)
        return found

    def _complete(self, parts: Int64s) -> None:
        """Take over all that they know of parts that are here."""
        own = self._live_parts()
        places = {part: place for place, part in enumerate(map(tuple, own[:, [END, GROUP]].tolist()))}
        found = [places[end, group] for end, group in parts[:, [END, GROUP]].tolist()]
        mine = own[found]
        for feed, at in self.layout.places.items():
            lanes = slice(at, at + self.layout.lanes(feed))
            mine[:, lanes] = np.where(mine[:, at : at + 1] == 0, parts[:, lanes], mine[:, lanes])
        self._ring[self._numbers()[found] & (len(self._ring) - 1)] = mine

    def _put_before(self, parts: Int64s) -> None:
        """Parts of slices before all that are here."""
        self.registers[HEAD] -= len(parts)
        numbers = np.arange(self._head, self._head + len(parts))
        self._ring[numbers & (len(self._ring) - 1)] = parts
        np.add.at(self._groups[:, words.ROWS], parts[:, GROUP], 1)
        groups, last = np.unique(parts[::-1, GROUP], return_index=True)
        has_none = self._groups[groups, NEWEST] == 0
        self._groups[groups[has_none], NEWEST] = numbers[::-1][last[has_none]] + 1
