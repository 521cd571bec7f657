"""Negation on key columns.

Delta rule:  per change of either side, the rows of its key that cross the rank max(0, n - m), the youngest row having rank 0
State:       per key a tree of the left rows, the youngest first; the number of right rows
Output:      signed, net per instant

A row is as young as the instant at which the bag got one more of it; among rows of one instant the greater one is younger; of
equal rows the oldest leaves first. A row that leaves and comes at one instant has not moved.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sash.deltas import Delta, Int64s
from sash.kernels import minus as kernel
from sash.operators.base import Surroundings, Timeless
from sash.operators.changes import NetChanges
from sash.operators.orders import youngest_first
from sash.operators.pieces import Pieces
from sash.physical.specs import MinusSpec
from sash.state.ranking import AgedRanking, KeyColumns


class Minus(Timeless):
    """Show the youngest rows of every key that the right side leaves over."""

    def __init__(self, spec: MinusSpec, surroundings: Surroundings) -> None:
        super().__init__(spec.layout)
        self._interner = surroundings.interner
        self._left, self._right = KeyColumns(spec.left.layout, spec.left_keys), KeyColumns(spec.right.layout, spec.right_keys)
        self._key, self._key_lanes = np.zeros((1, self._left.width), np.int64), np.arange(self._left.width)
        self._line, self._lanes = np.zeros((1, self.layout.width + 1), np.int64), np.arange(self.layout.width)
        self._orders = youngest_first(self.layout)
        self._net = NetChanges(self.layout, self._interner)
        self.ranking = AgedRanking(self.layout, self._left, surroundings.scope, self._interner)

    @property
    def kept(self) -> int:
        return len(self.ranking)

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        left, right = self._net.per_instant(inputs[0]), inputs[1]
        self.ranking.reserve(len(left), len(left) + len(right))
        cursor, pieces = np.zeros(4, np.int64), Pieces(self.layout.width, 2 * (len(left) + len(right)))
        while cursor[kernel.LEFT] < len(left) or cursor[kernel.RIGHT] < len(right):
            out = pieces.next(max(1, int(cursor[kernel.NEEDED])))
            rows, ts, _, weight = out.room
            out.add(self._changes(left, right, cursor, rows, ts, weight))
        return self._net.per_instant(pieces.delta())

    def _changes(self, left: Delta, right: Delta, cursor: Int64s, *out: Int64s) -> int:
        ranking, strings = self.ranking, self._interner
        count: int = kernel.minus_changes(
            left.rows, left.ts, left.weight, right.rows, right.ts, right.weight, cursor, self._left.lanes, self._left.nulls,
            self._right.lanes, self._right.nulls, self._key, self._key_lanes, self._line, self._lanes, self._orders,
            ranking.registers, ranking.table, ranking.keys, ranking.partitions, ranking.stored, ranking.nodes,
            ranking.row_table, ranking.younger, strings.starts, strings.lengths, strings.heap, *out,
        )
        return count
