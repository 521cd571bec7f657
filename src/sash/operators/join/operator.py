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

import numpy as np

from sash.deltas import Delta, Int64s, Layout
from sash.kernels.pairs import LEFT, RIGHT, hash_rows
from sash.operators.join.kernels.equi_join import join_expiring, join_signed
from sash.operators.join.spec import JoinSpec, SignedJoinSpec
from sash.operators.operator import OperatorContext, Timeless
from sash.operators.output_chunks import FanoutEstimate, OutputChunks
from sash.stores.bag import KeyedBag
from sash.stores.row_log import RowLog

SLICE = 1 << 14  # rows of a side that a log makes room for at once


class Side:
    """The fixed facts of one side: where its keys lie, and which bits say that one is NULL."""

    def __init__(self, layout: Layout, keys: tuple[int, ...]) -> None:
        lanes = [layout.lanes[key] + k for key in keys for k in range(layout.schema.types[key].lanes)]
        self.lanes = np.array(lanes, np.int64)
        self.masks = np.zeros(layout.width, np.int64)
        for key in keys:
            lane, bit = layout.mask(key)
            self.masks[lane] |= 1 << bit

    def hashes(self, rows: Int64s) -> Int64s:
        hashes = np.empty(len(rows), np.int64)
        if len(rows):
            hash_rows(rows, self.lanes, hashes)
        return hashes


def pair_shape(spec: JoinSpec) -> Int64s:
    left, right = spec.left.layout, spec.right.layout
    return np.array([left.values, right.values, len(left.schema)], np.int64)


class Join(Timeless):
    """Pair every arriving row with the live rows of the other side."""

    LOG = RowLog

    def __init__(self, spec: JoinSpec, context: OperatorContext) -> None:
        super().__init__(spec.layout)
        scope, interner = context.scope, context.interner
        self._shape, self._yield = pair_shape(spec), FanoutEstimate()
        self._left, self._right = Side(spec.left.layout, spec.left_keys), Side(spec.right.layout, spec.right_keys)
        self._logs = (
            self.LOG(spec.left.layout, scope.scope("left"), interner),
            self.LOG(spec.right.layout, scope.scope("right"), interner),
        )

    @property
    def kept(self) -> int:
        return sum(map(len, self._logs))

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        left, right = inputs
        if not len(left) and not len(right):
            return self.nothing
        came = len(left) + len(right)
        self.probes += came
        pieces = OutputChunks(self.layout.width, max(came, self._yield.of(came)), expires=True)
        if came <= SLICE:
            self._join(left, right, pieces)
        else:
            for left_part, right_part, _ in in_slices(left, right, now, SLICE):
                self._join(left_part, right_part, pieces)
        pairs = pieces.delta()
        self._yield.saw(came, pairs)
        return pairs

    def _join(self, left: Delta, right: Delta, pieces: OutputChunks) -> None:
        l_log, r_log = self._logs
        now = min(int(delta.ts[0]) for delta in (left, right) if len(delta))
        l_log.reserve(len(left), now)
        r_log.reserve(len(right), now)
        l_hashes, r_hashes = self._left.hashes(left.rows), self._right.hashes(right.rows)
        cursor = np.zeros(3, np.int64)
        while cursor[LEFT] < len(left) or cursor[RIGHT] < len(right):
            out = pieces.next()
            out.add(
                join_expiring(
                    left.rows, left.ts, left.expiry, left.weight, l_hashes, right.rows, right.ts, right.expiry, right.weight,
                    r_hashes, self._left.lanes, self._right.lanes, self._left.masks, self._right.masks, self._shape, cursor,
                    l_log.registers, l_log.lines, l_log.table, r_log.registers, r_log.lines, r_log.table, *out.room,
                )
            )


class SignedJoin(Timeless):
    """Pair every change with the rows of the other side."""

    def __init__(self, spec: SignedJoinSpec, context: OperatorContext) -> None:
        super().__init__(spec.layout)
        scope, interner = context.scope, context.interner
        self._shape, self._yield = pair_shape(spec), FanoutEstimate()
        self._left, self._right = Side(spec.left.layout, spec.left_keys), Side(spec.right.layout, spec.right_keys)
        self._bags = (
            KeyedBag(spec.left.layout, self._left.lanes, scope.scope("left"), interner),
            KeyedBag(spec.right.layout, self._right.lanes, scope.scope("right"), interner),
        )

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
        cursor, pieces = np.zeros(3, np.int64), OutputChunks(self.layout.width, max(came, self._yield.of(came)))
        while cursor[LEFT] < len(left) or cursor[RIGHT] < len(right):
            out = pieces.next()
            rows, ts, _, weight = out.room
            out.add(self._join(left, right, cursor, rows, ts, weight))
        pairs = pieces.delta()
        self._yield.saw(came, pairs)
        return pairs

    def _join(self, left: Delta, right: Delta, cursor: Int64s, *out: Int64s) -> int:
        l_bag, r_bag = self._bags
        count: int = join_signed(
            left.rows, left.ts, left.weight, right.rows, right.ts, right.weight, self._left.lanes, self._right.lanes,
            self._left.masks, self._right.masks, self._shape, cursor, l_bag.lanes, l_bag.registers, l_bag.table,
            l_bag.key_table, l_bag.nodes, l_bag.free, r_bag.lanes, r_bag.registers, r_bag.table, r_bag.key_table, r_bag.nodes,
            r_bag.free, *out,
        )
        return count


def in_slices(left: Delta, right: Delta, now: int, size: int) -> Iterator[tuple[Delta, Delta, int]]:
    """Both inputs cut at the same instants, with the next cut: a log need not have room for more new rows than so many."""
    while len(left) > size or len(right) > size:
        cut = min(int(delta.ts[size]) for delta in (left, right) if len(delta) > size)
        (left_part, left), (right_part, right) = left.split(cut), right.split(cut)
        if not len(left_part) and not len(right_part):
            break  # one instant with more rows than a slice
        yield left_part, right_part, cut
    yield left, right, now
