"""Set operators, semi and anti joins; and the union of two bags, which needs no memory.

Delta rule:  Combine: per change, how much it moves the multiplicity of its row;  UnionAll: d(A + B) = dA + dB
State:       Combine: every distinct row with its counts on both sides;  UnionAll: none
Output:      Combine: signed, net per instant;  UnionAll: as its inputs
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sash.deltas import Delta
from sash.operators.net_changes import NetChanges
from sash.operators.operator import OperatorContext, Timeless
from sash.operators.sets.kernels import combine as kernel
from sash.plan.nodes import Combination
from sash.stores.bag import TwoSidedBag

if TYPE_CHECKING:
    from sash.operators.sets.spec import CombineSpec, UnionAllSpec

_HOW = {
    Combination.INTERSECT_ALL: kernel.INTERSECT_ALL,
    Combination.INTERSECT: kernel.INTERSECT,
    Combination.EXCEPT_ALL: kernel.EXCEPT_ALL,
    Combination.EXCEPT: kernel.EXCEPT,
    Combination.SEMI: kernel.SEMI,
    Combination.ANTI: kernel.ANTI,
}


class Combine(Timeless):
    """Count every row on both sides, and show as many as the combination says."""

    def __init__(self, spec: CombineSpec, context: OperatorContext) -> None:
        super().__init__(spec.layout)
        self._how = _HOW[spec.how]
        self._net = NetChanges(spec.layout, context.interner)
        self.bag = TwoSidedBag(spec.layout, context.scope, context.interner)

    @property
    def kept(self) -> int:
        return len(self.bag)

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        left, right = inputs
        if not len(left) and not len(right):
            return self.nothing
        bag, out = self.bag, Delta.room(len(left) + len(right), self.layout.width)
        bag.reserve(len(left) + len(right))
        count = kernel.combine(
            left.rows, left.ts, left.weight, bag.tags(left.rows), right.rows, right.ts, right.weight, bag.tags(right.rows),
            self._how, bag.lanes, bag.registers, bag.table, bag.nodes, bag.free, out.rows, out.ts, out.weight,
        )
        return self._net.per_instant(out.slice(0, count))


class UnionAll(Timeless):
    """The changes of both inputs, in the order of time."""

    def __init__(self, spec: UnionAllSpec, context: OperatorContext) -> None:
        super().__init__(spec.layout)

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        left, right = inputs
        if not len(left) or not len(right):
            return left if len(left) else right
        out = Delta.room(len(left) + len(right), self.layout.width, expires=True)
        kernel.merge_changes(
            left.rows, left.ts, left.expiry, left.weight, right.rows, right.ts, right.expiry, right.weight, out.rows, out.ts,
            out.expiry, out.weight,
        )
        return out
