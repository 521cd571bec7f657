"""Join with a table whose changes touch only what comes later (NON RETROACTIVE).

Delta rule:  d(L lookup R) = dL join R, R as it is just before its own changes of that instant
State:       a keyed bag of the table; nothing of the left side
Output:      as the left input: a result lives as long as its left row
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sash.deltas import Delta
from sash.kernels import join as kernel
from sash.operators.base import Surroundings, Timeless
from sash.operators.join import Side, pair_shape
from sash.operators.pieces import Pieces
from sash.physical.specs import LookupSpec
from sash.state.bag import KeyedBag


class Lookup(Timeless):
    """Pair every arriving row with the table's rows of its key."""

    def __init__(self, spec: LookupSpec, surroundings: Surroundings) -> None:
        super().__init__(spec.layout)
        self._shape = pair_shape(spec)
        self._left, self._right = Side(spec.left.layout, spec.left_keys), Side(spec.right.layout, spec.right_keys)
        self._table = KeyedBag(spec.right.layout, self._right.lanes, surroundings.scope, surroundings.interner)

    @property
    def kept(self) -> int:
        return len(self._table)

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        left, right = inputs
        self.probes += len(left)
        table = self._table
        table.reserve(len(right))
        cursor, pieces = np.zeros(3, np.int64), Pieces(self.layout.width, len(left))
        while cursor[kernel.LEFT] < len(left) or cursor[kernel.RIGHT] < len(right):
            out = pieces.next()
            out.add(
                kernel.look_up(
                    left.rows, left.ts, left.expiry, left.weight, right.rows, right.ts, right.weight, self._left.lanes,
                    self._right.lanes, self._left.masks, self._right.masks, self._shape, cursor, table.lanes, table.registers,
                    table.table, table.key_table, table.nodes, table.free, *out.room,
                )
            )
        return pieces.delta()
