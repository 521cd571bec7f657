"""What a tap of shared groups remembers: a line for every group, with its cells and the row that it shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sash.deltas import Int64s
from sash.interned import remembered
from sash.kernels.bundles import PARTS, Bundle
from sash.operators.group_by.opcodes import SHOWN
from sash.operators.group_by.tables import group_tables
from sash.operators.net_changes import NetChanges
from sash.operators.shared_groups.feeds import PartFeed, PartLayout, feeds_of
from sash.operators.shared_groups.kernels import records
from sash.stores.arena import Scope
from sash.stores.interner import Interner

if TYPE_CHECKING:
    from sash.operators.group_by.spec import SlicedGroupBySpec

FIRST_ROOM = 4


class TapLines:
    """Of one tap, in a scope of an arena."""

    WORDS = PARTS * len(records.Tap._fields)  # of its record

    def __init__(self, tap: SlicedGroupBySpec, scope: Scope, layout: PartLayout, interner: Interner) -> None:
        self._tables, self._scope = group_tables(tap.below_window), scope
        self.width, self.net = tap.layout.width, NetChanges(tap.layout, interner)
        self.is_new = not scope.has("lines")
        self._limbs_at = self._tables.cells + self.width
        feeds, self._ranges = layout.tap_feeds(self._tables, self._limbs_at)
        self._lines = scope.array("lines", (FIRST_ROOM, self._limbs_at + layout.limbs_of(self._tables)))
        shape = np.array([self._tables.cells, self.width, tap.layout.values], np.int64)
        self._bundle = Bundle(records.Tap, self._tables.bundle(self.width), feeds, self._lines, shape, self._ranges)

    @staticmethod
    def feeds(tap: SlicedGroupBySpec) -> list[PartFeed]:
        """What it wants parts to add up."""
        return _feeds(tap)

    @property
    def record(self) -> Int64s:
        return self._bundle.record.ravel()

    @property
    def shown(self) -> Int64s:
        """The rows that all groups show."""
        return np.ascontiguousarray(self._lines[self._lines[:, SHOWN] != 0, self._tables.cells : self._limbs_at])

    def reserve(self, groups: int) -> None:
        """Have a line for all groups with a number below."""
        if groups > len(self._lines):
            self._lines = self._scope.resize("lines", 1 << (groups - 1).bit_length())
            self._bundle.replace(lines=self._lines)

    def read(self, layout: PartLayout) -> None:
        """Parts have another layout from now on, with all limbs that they had."""
        feeds, ranges = layout.tap_feeds(self._tables, self._limbs_at)
        if ranges.tolist() != self._ranges.tolist():
            self._spread(ranges, layout.limbs_of(self._tables))
        self._bundle.replace(feeds=feeds, lines=self._lines, ranges=ranges)

    def _spread(self, ranges: Int64s, limbs: int) -> None:
        """Lay lines out for more limbs."""
        held, before, self._ranges = self._lines.copy(), self._ranges, ranges
        self._scope.drop()
        self._lines = self._scope.array("lines", (len(held), self._limbs_at + limbs))
        self._lines[:, : self._limbs_at] = held[:, : self._limbs_at]
        for (cell, base, length), (to, first, _) in zip(before.tolist(), ranges.tolist(), strict=True):
            self._lines[:, to + base - first : to + base - first + length] = held[:, cell : cell + length]

    def drop(self) -> None:
        self._scope.drop()


@remembered
def _feeds(tap: SlicedGroupBySpec) -> list[PartFeed]:
    return feeds_of(group_tables(tap.below_window))
