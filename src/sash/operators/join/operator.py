"""Equi-join of two inputs.

Delta rule:  d(L join R) = dL join R  +  L join dR, change by change in the order of time
State:       Join: a log of rows per side, chained by key; expired rows are met once and then forgotten
             SignedJoin: a keyed bag per side
Output:      Join: a pair lives until the first of its two rows expires
             SignedJoin: signed, the weight of a pair is the product of the weights

A NULL key equals nothing, so rows with one are neither kept nor paired. Without keys every pair matches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sash.deltas import Delta
from sash.kernels.bundles import Bundle
from sash.operators.join.kernels.equi_join import ExpiringJoin, SignedSides, join_expiring, join_signed
from sash.operators.join.sides import Sides
from sash.operators.operator import OperatorContext, Timeless
from sash.operators.output_chunks import FanoutEstimate, OutputChunks
from sash.operators.piecewise import Piecewise
from sash.stores.bag import KeyedBag
from sash.stores.row_log import RowLog

if TYPE_CHECKING:
    from sash.operators.join.spec import JoinSpec, SignedJoinSpec

SLICE = 1 << 14  # rows of a side that a log makes room for at once


class Join(Piecewise, Timeless):
    """Pair every arriving row with the live rows of the other side."""

    LOG = RowLog

    def __init__(self, spec: JoinSpec, context: OperatorContext) -> None:
        super().__init__(spec.layout)
        scope, interner = context.scope, context.interner
        self._sides, self._yield = Sides(spec, spec.left_keys, spec.right_keys), FanoutEstimate()
        self._logs = (
            self.LOG(spec.left.layout, scope.scope("left"), interner),
            self.LOG(spec.right.layout, scope.scope("right"), interner),
        )
        self._bundle = Bundle(ExpiringJoin, self._sides.bundle, *(log.bundle for log in self._logs))

    @property
    def kept(self) -> int:
        return sum(map(len, self._logs))

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        left, right = inputs
        if not len(left) and not len(right):
            return self.nothing
        came = len(left) + len(right)
        self.probes += came
        pieces = OutputChunks(self.layout.width, max(came, self._yield.in_parts(came)), expires=True)
        return self.give(pieces, self._work_on(left, right, now, pieces), came, self._yield)

    def _work_on(self, left: Delta, right: Delta, now: int, pieces: OutputChunks) -> Iterator[None]:
        for left_part, right_part, _ in in_slices(left, right, now, SLICE):
            yield from self._join(left_part, right_part, pieces)

    def _join(self, left: Delta, right: Delta, pieces: OutputChunks) -> Iterator[None]:
        l_log, r_log = self._logs
        now = min(int(delta.ts[0]) for delta in (left, right) if len(delta))
        l_log.reserve(len(left), now)
        r_log.reserve(len(right), now)
        self._sides.start(len(left), len(right))
        while not self._sides.is_done:
            out = pieces.next()
            out.add(
                join_expiring(
                    left.rows, left.ts, left.expiry, left.weight, right.rows, right.ts, right.expiry, right.weight,
                    self._bundle.record, *out.room,
                )
            )
            yield


class SignedJoin(Piecewise, Timeless):
    """Pair every change with the rows of the other side."""

    def __init__(self, spec: SignedJoinSpec, context: OperatorContext) -> None:
        super().__init__(spec.layout)
        scope, interner = context.scope, context.interner
        self._sides, self._yield = Sides(spec, spec.left_keys, spec.right_keys), FanoutEstimate()
        self._bags = (
            KeyedBag(spec.left.layout, self._sides.left.lanes, scope.scope("left"), interner),
            KeyedBag(spec.right.layout, self._sides.right.lanes, scope.scope("right"), interner),
        )
        self._bundle = Bundle(SignedSides, self._sides.bundle, *(bag.bundle for bag in self._bags))

    @property
    def kept(self) -> int:
        return sum(map(len, self._bags))

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        left, right = inputs
        if not len(left) and not len(right):
            return self.nothing
        came = len(left) + len(right)
        self.probes += came
        for bag, delta in zip(self._bags, inputs, strict=True):
            bag.reserve(len(delta))
        self._sides.start(len(left), len(right))
        pieces = OutputChunks(self.layout.width, max(came, self._yield.in_parts(came)))
        return self.give(pieces, self._work_on(left, right, pieces), came, self._yield)

    def _work_on(self, left: Delta, right: Delta, pieces: OutputChunks) -> Iterator[None]:
        while not self._sides.is_done:
            out = pieces.next()
            rows, ts, _, weight = out.room
            out.add(
                join_signed(
                    left.rows, left.ts, left.weight, right.rows, right.ts, right.weight, self._bundle.record, rows, ts, weight
                )
            )
            yield


def in_slices(left: Delta, right: Delta, now: int, size: int) -> Iterator[tuple[Delta, Delta, int]]:
    """Both inputs cut at the same instants, with the next cut: a log need not have room for many more new rows than so many."""
    while len(left) > size or len(right) > size:
        cut = min(int(delta.ts[size]) for delta in (left, right) if len(delta) > size)
        cut = max(cut, min(int(delta.ts[0]) for delta in (left, right) if len(delta)) + 1)  # an instant may have more rows
        (left_part, left), (right_part, right) = left.split(cut), right.split(cut)
        yield left_part, right_part, cut
    yield left, right, now
