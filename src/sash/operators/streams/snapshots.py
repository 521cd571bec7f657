"""RSTREAM: at every instant at which a relation changes, all its rows, as a stream.

Delta rule:  the rows after each instant with a net change
State:       a tree of all rows in the order of the full row
Output:      monotonic; the rows of an instant in the order of the full row, each as often as it is there
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sash.deltas import Delta, Int64s
from sash.kernels.bundles import Bundle
from sash.operators.net_changes import NetChanges, repeat
from sash.operators.operator import OperatorContext, Timeless
from sash.operators.orders import row_order
from sash.operators.output_chunks import OutputChunks
from sash.operators.top import kernels as kernel
from sash.stores.ranking import KeyColumns, Ranking

if TYPE_CHECKING:
    from sash.operators.streams.spec import SnapshotsSpec


class Snapshots(Timeless):
    """Keep all rows, and show them again and again."""

    def __init__(self, spec: SnapshotsSpec, context: OperatorContext) -> None:
        super().__init__(spec.layout)
        interner, key = context.interner, KeyColumns(spec.layout, ())
        self._net = NetChanges(spec.layout, interner)
        self._root = context.scope.array("root", 1)
        self.ranking = Ranking(spec.layout, key, context.scope, interner)
        orders = row_order(spec.layout)
        self._bundle = Bundle(kernel.RankedRows, key.bundle, self.ranking.bundle, orders, interner.bundle)

    @property
    def kept(self) -> int:
        return len(self.ranking)

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        delta = self._net.per_instant(inputs[0])
        self.ranking.reserve(len(delta), 0)
        cursor, pieces = np.zeros(2, np.int64), OutputChunks(self.layout.width, 2 * len(delta))
        while cursor[kernel.PLACE] < len(delta):
            out = pieces.next(max(1, int(cursor[kernel.NEEDED])))
            rows, ts, _, weight = out.room
            out.add(self._snapshots(delta, cursor, rows, ts, weight))
        whole = pieces.delta()
        return repeat(whole, whole.weight)

    def _snapshots(self, delta: Delta, cursor: Int64s, *out: Int64s) -> int:
        count: int = kernel.snapshots(
            delta.rows, delta.ts, delta.weight, cursor, self._root, self._bundle.record, *out
        )
        return count
