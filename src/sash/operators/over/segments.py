"""Copies of partitions, one after the other, and where the rows that belong together begin and end.

    rows      a a b b b │ a c          two segments; equal letters are peers
    start     0 0 0 0 0 │ 5 5          of the segment
    first     0 0 2 2 2 │ 5 6          of the peers
    group     0 0 1 1 1 │ 2 3          the number of the peers
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sash.deltas import Int64s, Layout
from sash.operators.over.kernels import frames as kernel
from sash.operators.over.kernels import over as over
from sash.plan.nodes import Order
from sash.plan.over import Frame, Unit
from sash.schema import Kind

MOST = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Segments:
    """Rows of lanes, and the table of their segments."""

    rows: Int64s
    table: Int64s
    layout: Layout
    order: tuple[Order, ...]

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def places(self) -> Int64s:
        return np.arange(len(self.rows))

    @cached_property
    def of_rows(self) -> Int64s:
        """The segment of every row."""
        return np.repeat(np.arange(len(self.table)), self.table[:, over.STOP] - self.table[:, over.START])

    @cached_property
    def start(self) -> Int64s:
        return np.asarray(self.table[self.of_rows, over.START])

    @cached_property
    def stop(self) -> Int64s:
        return np.asarray(self.table[self.of_rows, over.STOP])

    @cached_property
    def is_shown(self) -> npt.NDArray[np.bool_]:
        table = self.table[self.of_rows]
        return np.asarray((self.places >= table[:, over.SHOWN]) & (self.places < table[:, over.SHOWN_STOP]))

    @cached_property
    def _firsts(self) -> Int64s:
        """The first row of every group of peers, and the end of all rows."""
        changes = np.ones(len(self.rows), np.bool_)
        changes[1:] = self.start[1:] != self.start[:-1]
        for order in self.order:
            for lane in range(self.layout.lanes[order.column], self.layout.lanes[order.column] + self._lanes(order.column)):
                changes[1:] |= self.rows[1:, lane] != self.rows[:-1, lane]
            is_null = self.is_null(order.column)
            changes[1:] |= is_null[1:] != is_null[:-1]
        return np.append(np.flatnonzero(changes), len(self.rows))

    @cached_property
    def group(self) -> Int64s:
        return np.searchsorted(self._firsts, self.places, side="right") - 1

    @cached_property
    def first_peer(self) -> Int64s:
        return self._firsts[self.group]

    @cached_property
    def after_peers(self) -> Int64s:
        return self._firsts[self.group + 1]

    def is_null(self, column: int) -> npt.NDArray[np.bool_]:
        lane, bit = self.layout.mask(column)
        return np.asarray((self.rows[:, lane] >> bit) & 1 == 1)

    def _lanes(self, column: int) -> int:
        return self.layout.schema.types[column].lanes

    def bounds(self, frame: Frame) -> tuple[Int64s, Int64s]:
        """Where the frame of every row begins and ends; both rise from row to row."""
        low = self.start if frame.start is None else np.clip(self._edge(frame.unit, frame.start, False), self.start, self.stop)
        high = self.stop if frame.stop is None else np.clip(self._edge(frame.unit, frame.stop, True), self.start, self.stop)
        return low, np.maximum(low, high)

    def _edge(self, unit: Unit, offset: int | float, is_end: bool) -> Int64s:
        """The first row that is not before the frame's start, or that comes after its end."""
        if unit is Unit.ROWS:
            return self.places + int(np.clip(offset, -len(self), len(self))) + is_end
        if offset == 0:
            return self.after_peers if is_end else self.first_peer
        return self._groups_away(int(offset), is_end) if unit is Unit.GROUPS else self._values_away(offset, is_end)

    def _groups_away(self, offset: int, is_end: bool) -> Int64s:
        last = len(self._firsts) - 1
        return self._firsts[np.clip(self.group + int(np.clip(offset, -last, last)) + is_end, 0, last)]

    def _values_away(self, offset: int | float, is_end: bool) -> Int64s:
        """By the values of the one column; NULLs have their peers alone."""
        (order,) = self.order
        is_there = ~self.is_null(order.column)
        known = np.concatenate([[0], np.cumsum(is_there)])
        starts, stops = known[self.start][is_there], known[self.stop][is_there]
        values, bounds = self._rising(order, is_there, offset)
        found = np.empty(len(values), np.int64)
        kernel.first_not_before(values, bounds, starts, stops, is_end, found)
        edge = (self.after_peers if is_end else self.first_peer).copy()
        at = self.places[is_there]
        edge[is_there] = at + found - np.arange(len(at))  # rows with values are neighbours
        return edge

    def _rising(self, order: Order, is_there: npt.NDArray[np.bool_], offset: int | float) -> tuple[Int64s, Int64s]:
        """Integers in the order of the values, and those of the values that lie an offset away."""
        lanes = np.ascontiguousarray(self.rows[is_there, self.layout.lanes[order.column]])
        if self.layout.schema.types[order.column].kind is Kind.DOUBLE:
            numbers = lanes.view(np.float64)
            numbers = -numbers if order.is_descending else numbers
            return _in_order(numbers), _in_order(numbers + offset)
        values = ~lanes if order.is_descending else lanes
        moved = values + int(offset)
        limit = MOST if offset > 0 else ~MOST
        return values, np.where((moved > values) == (offset > 0), moved, limit)


def _in_order(numbers: npt.NDArray[np.float64]) -> Int64s:
    """Integers in the order of doubles, NaN after all."""
    numbers = numbers + 0.0  # no -0.0
    bits = numbers.view(np.int64)
    return np.where(np.isnan(numbers), MOST, np.where(bits < 0, bits ^ MOST, bits))
