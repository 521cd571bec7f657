"""What changes with time: whether instants that a row names have been reached.

Delta rule:  a row comes and goes with what is reached then; when an instant comes, minus the row as it was, plus as it is
State:       the rows with an instant ahead, in a tree by the next one, equal ones with their count
Output:      signed, net per instant
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sash.deltas import Delta
from sash.kernels.bundles import Bundle
from sash.operators.net_changes import NetChanges
from sash.operators.operator import Operator, OperatorContext
from sash.operators.orders import next_instant_first
from sash.operators.output_chunks import OutputChunks
from sash.operators.time.kernels import time_predicate as kernel
from sash.operators.top.kernels import RankedRows
from sash.stores.ranking import KeyColumns, Ranking

if TYPE_CHECKING:
    from sash.operators.time.spec import TimePredicateSpec


class TimePredicate(Operator):
    """Keep the rows that will change, and change them in time."""

    def __init__(self, spec: TimePredicateSpec, context: OperatorContext) -> None:
        super().__init__(spec.layout)
        layout, scope, interner = spec.left.layout, context.scope, context.interner
        places = [(layout.lanes[column], *layout.mask(column)) for column in spec.instants]
        self._nets, key = [NetChanges(each, interner) for each in (layout, self.layout)], KeyColumns(layout, ())
        self.ranking = Ranking(layout, key, scope, interner, extra=1)
        kept = Bundle(RankedRows, key.bundle, self.ranking.bundle, next_instant_first(layout), interner.bundle)
        self._bundle = Bundle(
            kernel.WaitingRows, kept, np.array(places, np.int64).reshape(len(places), 3),
            np.array([layout.values, layout.width, len(layout.schema)], np.int64), np.zeros((1, layout.width + 1), np.int64),
            scope.array("root", 1),
        )

    @property
    def kept(self) -> int:
        return len(self.ranking)

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        delta = self._nets[0].per_instant(inputs[0])
        self.ranking.reserve(len(delta), 0)
        cursor, pieces = np.zeros(1, np.int64), OutputChunks(self.layout.width, 2 * len(delta) + 2)
        while cursor[0] <= len(delta):
            out = pieces.next(2)
            rows, ts, _, weight = out.room
            out.add(kernel.reach(delta.rows, delta.ts, delta.weight, now, cursor, self._bundle.record, rows, ts, weight))
        return self._nets[1].per_instant(pieces.delta())
