"""ASOF join: every left row with the nearest right row of its key.

Delta rule:  a left row comes and goes with its match; a right row that comes or goes changes the match of the left rows between
             it and the next one, from what they have without it
State:       per key a tree of the left rows and one of the right rows, in the order of what is compared
Output:      signed, net per instant
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sash.deltas import Delta, Int64s, Layout
from sash.kernels.bundles import Bundle
from sash.operators.as_of import kernels as kernel
from sash.operators.join.sides import Side
from sash.operators.net_changes import NetChanges
from sash.operators.operator import Operator, OperatorContext
from sash.operators.orders import row_order
from sash.operators.output_chunks import OutputChunks
from sash.plan.nodes import Order
from sash.stores.ranking import KeyColumns, Ranking

if TYPE_CHECKING:
    from sash.operators.as_of.spec import AsOfSpec


class AsOfSide:
    """The fixed facts of one side: its key, what is compared, and the order of its tree."""

    def __init__(self, layout: Layout, keys: tuple[int, ...], at: int, is_forward: bool) -> None:
        self.key = KeyColumns(layout, keys)
        orders = row_order(layout, [Order(at, is_descending=is_forward)])
        masks, probe = Side(layout, (*keys, at)).masks, np.zeros((1, layout.width), np.int64)
        self.bundle = Bundle(kernel.AsOfSide, self.key.bundle, masks, probe, orders, orders[:1].copy())


class AsOf(Operator):
    """Keep the rows of both sides, and show every left row with its match."""

    def __init__(self, spec: AsOfSpec, context: OperatorContext) -> None:
        super().__init__(spec.layout)
        scope, interner = context.scope, context.interner
        left, right = spec.left.layout, spec.right.layout
        one = AsOfSide(left, spec.left_keys, spec.left_at, spec.is_forward)
        other = AsOfSide(right, spec.right_keys, spec.right_at, spec.is_forward)
        lanes = left.schema.types[spec.left_at].lanes
        facts = [left.lanes[spec.left_at], right.lanes[spec.right_at], lanes, spec.is_strict, spec.is_outer]
        shape = [left.values, right.values, len(left.schema), left.width]
        self._nets = tuple(NetChanges(layout, interner) for layout in (left, right, self.layout))
        self.ranking = Ranking(left, one.key, scope.scope("left"), interner)
        self.right = Ranking(right, other.key, scope.scope("right"), interner)
        self._bundle = Bundle(
            kernel.AsOfJoin, one.bundle, other.bundle, self.ranking.bundle, self.right.bundle, np.array(facts, np.int64),
            np.array(shape, np.int64), interner.bundle,
        )
        for column in range(len(right.schema)):
            lane, bit = right.mask(column)
            self.right.stored[0, lane] |= 1 << bit  # node 0 is nobody: a row of NULLs

    @property
    def kept(self) -> int:
        return len(self.ranking) + len(self.right)

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        left, right = (net.per_instant(delta) for net, delta in zip(self._nets, inputs, strict=False))
        self.ranking.reserve(len(left), len(left) + len(right))
        self.right.reserve(len(right), 0)
        cursor, pieces = np.zeros(kernel.CURSOR, np.int64), OutputChunks(self.layout.width, 2 * (len(left) + len(right)))
        while cursor[kernel.LEFT_PLACE] < len(left) or cursor[kernel.RIGHT_PLACE] < len(right):
            out = pieces.next(max(1, int(cursor[kernel.NEEDED])))
            rows, ts, _, weight = out.room
            out.add(self._changes(left, right, cursor, rows, ts, weight))
        return self._nets[-1].per_instant(pieces.delta())

    def _changes(self, left: Delta, right: Delta, cursor: Int64s, *out: Int64s) -> int:
        count: int = kernel.as_of_changes(
            left.rows, left.ts, left.weight, right.rows, right.ts, right.weight, cursor, self._bundle.record, *out
        )
        return count
