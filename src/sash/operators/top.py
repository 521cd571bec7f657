"""The first rows of every partition, in an order.

Delta rule:  per change, the rows that cross a border of the ranks shown; with numbers, all ranks from the first changed one on
State:       per partition a tree of its rows in the order, equal ones with their count
Output:      signed; net per instant. A row whose number changes leaves and comes back with the other one
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sash.deltas import Delta
from sash.kernels import top as kernel
from sash.operators.base import Operator, Surroundings
from sash.operators.changes import NetChanges
from sash.operators.orders import row_order
from sash.operators.pieces import Pieces
from sash.physical.specs import TopSpec
from sash.state.ranking import KeyColumns, Ranking


class Top(Operator):
    """Keep the rows of all ranks, show some of them."""

    def __init__(self, spec: TopSpec, surroundings: Surroundings) -> None:
        super().__init__(spec.layout)
        layout, interner = spec.input.layout, surroundings.interner
        self._start, self._stop = spec.offset, spec.offset + spec.count
        self._key = KeyColumns(layout, spec.partition)
        self._orders = row_order(layout, spec.order)
        self._interner = interner
        self._net_input, self._net = NetChanges(layout, interner), NetChanges(spec.layout, interner)
        self.ranking = Ranking(layout, self._key, surroundings.scope, interner)
        self._scratch = np.zeros((1, self._key.width), np.int64), np.arange(self._key.width)

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        delta = self._net_input.per_instant(inputs[0])
        self.ranking.reserve(len(delta), len(delta))
        cursor, pieces = np.zeros(2, np.int64), Pieces(self.layout.width, 2 * len(delta))
        while cursor[kernel.PLACE] < len(delta):
            out = pieces.next(int(cursor[kernel.NEEDED]))
            out.add(self._changes(delta, cursor, out.room))
        return self._net.per_instant(pieces.delta())

    def _changes(self, delta: Delta, cursor: Int64s, room: Room) -> int:
        rows, ts, _, weight = room
        ranking, strings = self.ranking, self._interner
        count: int = kernel.top_changes(
            delta.rows, delta.ts, delta.weight, cursor, self._start, self._stop, self._key.lanes, self._key.nulls,
            *self._scratch, self._orders, ranking.registers, ranking.table, ranking.keys, ranking.partitions,
            ranking.stored, ranking.nodes, strings.starts, strings.lengths, strings.heap, rows, ts, weight,
        )
        return count
