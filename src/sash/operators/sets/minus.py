"""Negation on key columns.

Delta rule:  per change of either side, the rows of its key that cross the rank max(0, n - m), the youngest row having rank 0
State:       per key a list of the left rows in the order of age, with the border of what is shown; the number of right rows
Output:      signed, net per instant

A row is as young as the instant at which the bag got one more of it; among rows of one instant the one that came later in its
stream is younger, among derived rows the greater one; of equal rows the oldest leaves first. A row that leaves and comes at one
instant has not moved.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sash.deltas import Delta, Int64s
from sash.kernels.bundles import Bundle
from sash.kernels.prefetching import tag_rows
from sash.operators.net_changes import NetChanges, net_in_order
from sash.operators.operator import OperatorContext, Timeless
from sash.operators.output_chunks import OutputChunks
from sash.operators.sets.kernels import minus as kernel
from sash.stores.ranking import AgedRanking, KeyColumns

if TYPE_CHECKING:
    from sash.operators.sets.spec import MinusSpec


class Minus(Timeless):
    """Show the youngest rows of every key that the right side leaves over."""

    def __init__(self, spec: MinusSpec, context: OperatorContext) -> None:
        super().__init__(spec.layout)
        self._interner = context.interner
        left, right = KeyColumns(spec.left.layout, spec.left_keys), KeyColumns(spec.right.layout, spec.right_keys)
        self._lanes = np.arange(self.layout.width)
        self._settled = net_in_order if spec.by_position else self._net_by_row
        self._net = NetChanges(self.layout, self._interner)
        self.ranking = AgedRanking(self.layout, left, context.scope, self._interner)
        self._bundle = Bundle(kernel.MinusSides, left.bundle, right.bundle, self.ranking.aged)

    @property
    def kept(self) -> int:
        return len(self.ranking)

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        left, right = self._settled(inputs[0]), inputs[1]
        tags = np.empty(len(left), np.int64)
        tag_rows(left.rows, self._lanes, tags)
        cursor, pieces = np.zeros(4, np.int64), OutputChunks(self.layout.width, len(left) + len(right))
        while cursor[kernel.LEFT] < len(left) or cursor[kernel.RIGHT] < len(right):
            self.ranking.reserve(1, 1)
            out = pieces.next(max(1, int(cursor[kernel.NEEDED])))
            rows, ts, _, weight = out.room
            out.add(self._changes(left, tags, right, cursor, rows, ts, weight))
        return self._net.per_instant(pieces.delta())

    def _net_by_row(self, delta: Delta) -> Delta:
        return self._net.per_instant(delta)

    def _changes(self, left: Delta, tags: Int64s, right: Delta, cursor: Int64s, *out: Int64s) -> int:
        count: int = kernel.minus_changes(
            left.rows, left.ts, left.weight, tags, right.rows, right.ts, right.weight, cursor, self._bundle.record, *out
        )
        return count
