"""Counts of ranges of one column: what an answer is like, without a look at its rows.

    borders          |    3    |      7 |   20        about as many rows in each range when they were drawn
    lowest, highest  [1    2.5] [3     6] [7 … 19]    of all values that were in a range since then: what is there is between them
    counts            812       790       31

Borders are drawn anew when one range has come to hold far too much, after as many changes as half of the rows: so a change costs
the logarithm of the rows, however values move. NULL and NaN, which is above all numbers, are counted apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sash.deltas import Int64s, Layout
from sash.kernels.view_index import NODE
from sash.schema import Kind
from sash.stores.arena import Scope
from sash.stores.view_index import ViewIndex

if TYPE_CHECKING:
    from sash.stores.bag import AnswerBag

Floats = npt.NDArray[np.float64]

LOPSIDED = 4  # times as many rows as the ranges have on average: then borders are drawn anew
EXACT = 2.0**53  # whole numbers up to here are floats
RANGE, COUNT, FIELDS = 0, 1, 2  # of a node: its place among the counts and one, 0 if it is not counted; how often it is
NULL, NAN, FIRST = 0, 1, 2  # among the counts: what is no number, then the ranges


class Numbers:
    """A column of numbers, as floats."""

    def __init__(self, layout: Layout, column: int) -> None:
        self._type, self._lane = layout.schema.types[column], layout.lanes[column]
        self._mask, self._bit = layout.mask(column)

    def of(self, rows: Int64s) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """The values of rows, and which of them are NULL."""
        lane = np.ascontiguousarray(rows[:, self._lane])
        is_null = (rows[:, self._mask] >> self._bit & 1) != 0
        if self._type.kind is Kind.DOUBLE:
            return lane.view(np.float64), is_null
        return lane.astype(np.float64) / 10.0 ** (self._type.scale if self._type.kind is Kind.DECIMAL else 0), is_null

    def around(self, lowest: Floats, highest: Floats) -> tuple[Floats, Floats]:
        """Floats that no value of a range is below or above: some numbers lie beside the float that stands for them."""
        if self._type.kind in (Kind.DOUBLE, Kind.INT):
            return lowest, highest
        beside = np.maximum(np.abs(lowest), np.abs(highest)) >= (EXACT if self._type.kind is Kind.BIGINT else 0.0)
        below, above = np.nextafter(lowest, -np.inf), np.nextafter(highest, np.inf)
        return np.where(beside, below, lowest), np.where(beside, above, highest)


@dataclass(frozen=True, eq=False)
class Ranges:
    """How many rows have a value in each range, from the lowest on; those that are empty are left out."""

    lowest: Floats
    highest: Floats
    counts: Int64s
    nulls: int
    nans: int


class GroupIndex(ViewIndex):
    """The ranges of a column of numbers."""

    def __init__(self, bag: AnswerBag, scope: Scope, numbers: Numbers, groups: int) -> None:
        super().__init__(bag, scope)
        self._numbers, self._groups = numbers, groups
        self._placed = scope.array("placed", (len(bag.nodes), FIELDS))
        self._changed = 0  # since borders were drawn
        self._borders = np.empty(0)
        self._counts = np.zeros(FIRST + 1, np.int64)
        self._lowest, self._highest = np.full(FIRST + 1, np.inf), np.full(FIRST + 1, -np.inf)

    def refresh(self, touched: Int64s, count: int) -> None:
        if len(self._placed) < len(self._bag.nodes):
            self._placed = self._scope.resize("placed", len(self._bag.nodes))
        nodes = touched[:count, NODE]
        before = self._placed[nodes]
        is_in = before[:, RANGE] > 0
        self._add(before[is_in, RANGE] - 1, -before[is_in, COUNT])
        self._place(nodes)
        self._changed += count
        if 2 * self._changed >= int(self._counts.sum()) and self._is_lopsided():
            self._draw()

    def _is_lopsided(self) -> bool:
        """Whether a range has far more rows than it should have, or is half-way to having all."""
        rows, most = int(self._counts[FIRST:].sum()), int(self._counts[FIRST:].max())
        average = -(-rows // self._groups)
        return most > min(LOPSIDED * average, (average + rows) // 2)

    def ranges(self, rows: Int64s, weights: Int64s) -> Ranges:
        """With changes of rows that are looked at, not kept."""
        counts, lowest, highest = self._counts.copy(), self._lowest.copy(), self._highest.copy()
        if len(weights):
            values, places = self._places(rows)
            np.add.at(counts, places, weights)
            came = (weights > 0) & (places >= FIRST)
            np.minimum.at(lowest, places[came], values[came])
            np.maximum.at(highest, places[came], values[came])
        kept = FIRST + np.flatnonzero(counts[FIRST:])
        return Ranges(*self._numbers.around(lowest[kept], highest[kept]), counts[kept], int(counts[NULL]), int(counts[NAN]))

    def _place(self, nodes: Int64s) -> None:
        """Count nodes as they are by now."""
        rows = self._bag.nodes[nodes]
        counts = rows[:, self._bag.count_lane]
        values, places = self._places(rows)
        self._placed[nodes, RANGE], self._placed[nodes, COUNT] = np.where(counts != 0, places + 1, 0), counts
        self._add(places, counts)
        here = (counts > 0) & (places >= FIRST)
        np.minimum.at(self._lowest, places[here], values[here])
        np.maximum.at(self._highest, places[here], values[here])

    def _places(self, rows: Int64s) -> tuple[Floats, Int64s]:
        """The values of rows, and where they are counted."""
        values, is_null = self._numbers.of(rows)
        ranges = FIRST + np.searchsorted(self._borders, values, side="right")
        return values, np.where(is_null, NULL, np.where(np.isnan(values), NAN, ranges))

    def _add(self, places: Int64s, counts: Int64s) -> None:
        np.add.at(self._counts, places, counts)

    def _draw(self) -> None:
        """Borders between about as many rows."""
        every = np.flatnonzero(self._placed[:, RANGE])
        values, counts = self._numbers.of(self._bag.nodes[every])[0], self._placed[every, COUNT]
        is_number = self._placed[every, RANGE] > FIRST
        order = np.argsort(values[is_number])
        sorted_values, reached = values[is_number][order], np.cumsum(counts[is_number][order])
        wanted = reached[-1] * np.arange(1, self._groups) // self._groups if len(reached) else np.empty(0, np.int64)
        self._borders = np.unique(sorted_values[np.searchsorted(reached, wanted, side="right")])
        self._counts = np.zeros(FIRST + len(self._borders) + 1, np.int64)
        self._lowest, self._highest = (np.full(len(self._counts), end) for end in (np.inf, -np.inf))
        self._place(every)
        self._changed = 0
