"""Window functions over partitions in an order.

Delta rule:  per instant and touched partition, minus the rows that may change with their old values, plus those with their new
             ones; how far a change shows is known from the functions' reach
State:       per partition a tree of its rows in the order, equal ones with their count
Output:      signed, net per instant
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sash.deltas import Delta, Int64s, Layout, forever
from sash.kernels.bundles import Bundle
from sash.operators.net_changes import NetChanges
from sash.operators.operator import OperatorContext, Timeless
from sash.operators.orders import row_order
from sash.operators.over.frame_aggregates import FrameAggregates
from sash.operators.over.kernels import over as kernel
from sash.operators.over.segments import Segments
from sash.operators.over.window_values import NOWHERE, numbers, sources
from sash.operators.top.kernels import RankedRows
from sash.plan.aggregates import AggregateCall
from sash.plan.over import Frame, OverCall
from sash.stores.ranking import KeyColumns, Ranking

if TYPE_CHECKING:
    from sash.operators.over.spec import OverSpec

FAR = 1 << 60  # a reach without limit
SMALLEST, LARGEST = 256, 1 << 17  # rows copied at once


class Over(Timeless):
    """Keep the rows of all partitions, and show them with what they get from each other."""

    def __init__(self, spec: OverSpec, context: OperatorContext) -> None:
        super().__init__(spec.layout)
        self._spec, self._input, self._interner = spec, spec.input.layout, context.interner
        self._behind, self._ahead = (FAR if far is None else far for far in (spec.reach.behind, spec.reach.ahead))
        key, orders = KeyColumns(self._input, spec.partition), row_order(self._input, spec.order)
        self._net_input, self._net = (NetChanges(layout, self._interner) for layout in (self._input, self.layout))
        self.ranking = Ranking(self._input, key, context.scope, self._interner)
        kept = Bundle(RankedRows, key.bundle, self.ranking.bundle, orders, self._interner.bundle)
        self._bundle = Bundle(kernel.OverRows, kept, orders[: len(spec.order)].copy())
        self._aggregates = [
            (FrameAggregates(frame, tuple(calls.values()), self._input.schema, context), tuple(calls))
            for frame, calls in _by_frame(spec.calls).items()
        ]

    @property
    def kept(self) -> int:
        return len(self.ranking)

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        delta = self._net_input.per_instant(inputs[0])
        self.ranking.reserve(len(delta), len(delta))
        cursor, found = np.zeros(kernel.CURSOR, np.int64), []
        while cursor[kernel.PLACE] < len(delta):
            room = max(min(max(2 * len(delta), SMALLEST), LARGEST), int(cursor[kernel.NEEDED]))
            rows, table = np.empty((room, self._input.width), np.int64), np.empty((room, kernel.SEGMENT_FIELDS), np.int64)
            count = self._copy(delta, cursor, rows, table)
            if count:
                segments = Segments(rows[:count], table[: cursor[kernel.SEGMENTS]], self._input, self._spec.order)
                found.append(self._net.per_instant(self._shown(segments)))
        return Delta.concatenate(found, self.layout.width)

    def _copy(self, delta: Delta, cursor: Int64s, rows: Int64s, table: Int64s) -> int:
        count: int = kernel.copy_partitions(
            delta.rows, delta.ts, delta.weight, cursor, self._behind, self._ahead, self._bundle.record, rows, table
        )
        return count

    def _shown(self, rows: Segments) -> Delta:
        """The rows that may have changed, with their values."""
        out = np.zeros((len(rows), self.layout.width), np.int64)
        out[:, : self._input.values] = rows.rows[:, : self._input.values]
        masks = self._input.width - self._input.values
        out[:, self.layout.values : self.layout.values + masks] = rows.rows[:, self._input.values :]
        for aggregates, places in self._aggregates:
            results = aggregates.values(rows)
            for column, place in enumerate(places):
                lanes, is_null = _column(results, aggregates.layout, column)
                self._write(out, place, lanes, is_null)
        for place, call in enumerate(self._spec.calls):
            if not isinstance(call.function, AggregateCall):
                self._write(out, place, *self._value(call, rows))
        table = rows.table[rows.of_rows][rows.is_shown]
        stamps, signs = np.ascontiguousarray(table[:, kernel.TS]), np.ascontiguousarray(table[:, kernel.SIGN])
        return Delta(out[rows.is_shown], stamps, forever(len(table)), signs)

    def _value(self, call: OverCall, rows: Segments) -> tuple[Int64s, npt.NDArray[np.bool_]]:
        """The lanes of a function that is no aggregate, and where it is NULL."""
        if call.argument is None:
            return numbers(call, rows)[:, None], np.zeros(len(rows), np.bool_)
        source = sources(call, rows)
        lanes, is_null = _column(rows.rows, self._input, call.argument)
        is_there = source != NOWHERE
        lanes, is_null = np.where(is_there[:, None], lanes[source], 0), is_null[source] | ~is_there
        if call.default is None:
            return lanes, is_null
        other, is_other_null = _column(rows.rows, self._input, call.default)
        return np.where(is_there[:, None], lanes, other), np.where(is_there, is_null, is_other_null)

    def _write(self, out: Int64s, place: int, lanes: Int64s, is_null: npt.NDArray[np.bool_]) -> None:
        column = len(self._input.schema) + place
        first = self.layout.lanes[column]
        out[:, first : first + lanes.shape[1]] = lanes
        mask, bit = self.layout.mask(column)
        out[:, mask] |= is_null.astype(np.int64) << bit


def _by_frame(calls: Sequence[OverCall]) -> dict[Frame, dict[int, AggregateCall]]:
    """The aggregates of every frame, by their places."""
    frames: dict[Frame, dict[int, AggregateCall]] = {}
    for place, call in enumerate(calls):
        if isinstance(call.function, AggregateCall):
            frames.setdefault(call.frame, {})[place] = call.function
    return frames


def _column(rows: Int64s, layout: Layout, column: int) -> tuple[Int64s, npt.NDArray[np.bool_]]:
    first, (mask, bit) = layout.lanes[column], layout.mask(column)
    return rows[:, first : first + layout.schema.types[column].lanes], (rows[:, mask] >> bit) & 1 == 1
