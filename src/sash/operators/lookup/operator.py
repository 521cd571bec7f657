"""Join with a table whose changes touch only what comes later (NON RETROACTIVE).

Delta rule:  d(L lookup R) = dL join R, R as it is just before its own changes of that instant; a row that leaves takes back what
             was given for it when it came
State:       Lookup: a keyed bag of the table; nothing of the left side
             SignedLookup: also the left rows, and which rows of the table each of them met
Output:      Lookup: as the left input, a result lives as long as its left row
             SignedLookup: signed
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sash.deltas import Delta
from sash.kernels.bundles import Bundle
from sash.operators.join.sides import Sides
from sash.operators.lookup.kernels.look_up import LookupSides, look_up
from sash.operators.lookup.kernels.signed import RememberedLookup, look_up_signed
from sash.operators.operator import OperatorContext, Timeless
from sash.operators.output_chunks import FanoutEstimate, OutputChunks
from sash.operators.piecewise import Piecewise
from sash.operators.sequence.waiting import WaitingRows
from sash.stores.bag import KeyedBag

if TYPE_CHECKING:
    from sash.operators.lookup.spec import LookupSpec, SignedLookupSpec


class Lookup(Piecewise, Timeless):
    """Pair every arriving row with the table's rows of its key."""

    def __init__(self, spec: LookupSpec, context: OperatorContext) -> None:
        super().__init__(spec.layout)
        self._sides, self._yield = Sides(spec, spec.left_keys, spec.right_keys), FanoutEstimate()
        self._table = KeyedBag(spec.right.layout, self._sides.right.lanes, context.scope, context.interner)
        self._bundle = Bundle(LookupSides, self._sides.bundle, self._table.bundle)

    @property
    def kept(self) -> int:
        return len(self._table)

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        left, right = inputs
        self.probes += len(left)
        self._table.reserve(len(right))
        self._sides.start(len(left), len(right))
        pieces = OutputChunks(self.layout.width, max(len(left), self._yield.in_parts(len(left))), expires=True)
        return self.give(pieces, self._work_on(left, right, pieces), len(left), self._yield)

    def _work_on(self, left: Delta, right: Delta, pieces: OutputChunks) -> Iterator[None]:
        while not self._sides.is_done:
            out = pieces.next()
            out.add(
                look_up(
                    left.rows, left.ts, left.expiry, left.weight, right.rows, right.ts, right.weight, self._bundle.record,
                    *out.room,
                )
            )
            yield


class SignedLookup(Piecewise, Timeless):
    """For rows that leave by a negative one: each is remembered with what it met."""

    def __init__(self, spec: SignedLookupSpec, context: OperatorContext) -> None:
        super().__init__(spec.layout)
        scope, interner = context.scope, context.interner
        self._sides, self._yield = Sides(spec, spec.left_keys, spec.right_keys, more=1), FanoutEstimate()
        width = spec.right.layout.width
        lanes = np.arange(spec.left.layout.width, dtype=np.int64)
        self._owed = KeyedBag(spec.left.layout, lanes, scope.scope("owed"), interner)
        self._table = KeyedBag(spec.right.layout, self._sides.right.lanes, scope.scope("table"), interner)
        self._instances = WaitingRows(spec.left.layout, lanes, scope.scope("left"), interner)
        self._pairs = KeyedBag(spec.right.layout, np.array([width], np.int64), scope.scope("pairs"), interner, more=1)
        stores = [store.bundle for store in (self._table, self._instances, self._pairs, self._owed)]
        self._bundle = Bundle(RememberedLookup, self._sides.bundle, *stores, np.zeros((1, width + 1), np.int64))

    @property
    def kept(self) -> int:
        return len(self._table) + len(self._instances) + len(self._pairs)

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        self.probes += len(inputs[0])
        left, right = inputs[0].take(np.lexsort((inputs[0].weight > 0, inputs[0].ts))), inputs[1]
        if not len(left) and not len(right):
            return self.nothing
        self._table.reserve(len(right))
        self._owed.reserve(len(left))
        self._instances.reserve(int(np.maximum(left.weight, 0).sum()))
        self._sides.start(len(left), len(right))
        pieces = OutputChunks(self.layout.width, max(2 * len(left), self._yield.in_parts(len(left))))
        return self.give(pieces, self._work_on(left, right, pieces), len(left), self._yield)

    def _work_on(self, left: Delta, right: Delta, pieces: OutputChunks) -> Iterator[None]:
        while not self._sides.is_done:
            out = pieces.next()
            rows, ts, _, weight = out.room
            self._pairs.reserve(len(ts))
            out.add(
                look_up_signed(
                    left.rows, left.ts, left.weight, right.rows, right.ts, right.weight, self._bundle.record, rows, ts, weight
                )
            )
            yield
