"""The first rows of every partition, in an order.

Delta rule:  per change, the rows that cross a border of the ranks shown; with numbers, all ranks from the first changed one on
State:       per partition a tree of its rows in the order, equal ones with their count
Output:      signed, net per instant; a row whose number changes leaves and comes back with the other one
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sash.deltas import Delta, Int64s
from sash.kernels.bundles import Bundle
from sash.operators.net_changes import NetChanges
from sash.operators.operator import Operator, OperatorContext, Timeless
from sash.operators.orders import row_order
from sash.operators.output_chunks import OutputChunks
from sash.operators.top import kernels as kernel
from sash.schema import FOREVER
from sash.stores.ranking import KeyColumns, Ranking

if TYPE_CHECKING:
    from sash.operators.top.spec import TopSpec


class Top(Timeless):
    """Keep the rows of all ranks, show some of them."""

    def __init__(self, spec: TopSpec, context: OperatorContext) -> None:
        super().__init__(spec.layout)
        self._input, self._interner = spec.input.layout, context.interner
        self._start, self._stop = spec.offset, min(spec.offset + spec.count, FOREVER)
        key = KeyColumns(self._input, spec.partition)
        self._net_input, self._net = (NetChanges(layout, self._interner) for layout in (self._input, self.layout))
        self.ranking = Ranking(self._input, key, context.scope, self._interner)
        orders = row_order(self._input, spec.order)
        self._bundle = Bundle(kernel.RankedRows, key.bundle, self.ranking.bundle, orders, self._interner.bundle)

    @property
    def kept(self) -> int:
        return len(self.ranking)

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        delta = self._net_input.per_instant(inputs[0])
        self.ranking.reserve(len(delta), len(delta))
        cursor, pieces = np.zeros(2, np.int64), OutputChunks(self.layout.width, 2 * len(delta))
        while cursor[kernel.PLACE] < len(delta):
            out = pieces.next(max(1, int(cursor[kernel.NEEDED])))
            rows, ts, _, weight = out.room
            out.add(self._changes(delta, cursor, rows, ts, weight))
        return self._net.per_instant(pieces.delta())

    def _changes(self, delta: Delta, cursor: Int64s, *out: Int64s) -> int:
        count: int = kernel.top_changes(
            delta.rows, delta.ts, delta.weight, cursor, self._start, self._stop, self._bundle.record, *out
        )
        return count


class NumberedTop(Top):
    """The same, with the number of every row as the last column."""

    def _changes(self, delta: Delta, cursor: Int64s, *out: Int64s) -> int:
        count: int = kernel.numbered_changes(
            delta.rows, delta.ts, delta.weight, cursor, self._start, self._stop, self._input.values, self._bundle.record, *out
        )
        return count


def top(spec: TopSpec, context: OperatorContext) -> Operator:
    kind = Top if spec.numbered is None else NumberedTop
    return kind(spec, context)
