"""A FOLLOWED BY B: a stream of pairs.

Delta rule:  a right row is paired, at its own instant, with one left row of its key that came before it (or with it):
             RECENT takes the youngest, CHRONICLE the oldest unused one, which is used up then
State:       the left rows that a right row may still find; without a residual RECENT keeps one row a key
Output:      monotonic; pairs of one instant in the order of the full row

With a residual condition, the partner is the youngest or oldest left row for which it is true. Conditions are evaluated for many
candidates at once: RECENT asks first for one a right row, then for two more, then four; CHRONICLE for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from sash.deltas import Delta, Int64s, forever
from sash.kernels.bundles import Bundle
from sash.operators.columns import evaluate_over
from sash.operators.join.sides import Sides, pair_shape
from sash.operators.net_changes import NetChanges, repeat
from sash.operators.operator import Operator, OperatorContext
from sash.operators.sequence import kernels as kernel
from sash.operators.sequence.waiting import WaitingRows
from sash.plan.nodes import Pairing
from sash.scalar.nodes import Expression
from sash.schema import BEGINNING, FOREVER

if TYPE_CHECKING:
    from sash.operators.sequence.spec import SequenceSpec

MOST_PAIRS = 1 << 16  # candidates whose condition is evaluated at once


class Pairs(Operator):
    """Pairs by key and time alone."""

    def __init__(self, spec: SequenceSpec, context: OperatorContext) -> None:
        super().__init__(spec.layout)
        self._pair = kernel.pair_recent if spec.pairing is Pairing.RECENT else kernel.pair_chronicle
        self._within = FOREVER if spec.within is None else spec.within
        sides, self._shape = Sides(spec, spec.left_keys, spec.right_keys), pair_shape(spec)
        self._net = NetChanges(spec.layout, context.interner)
        self.waiting = WaitingRows(spec.left.layout, sides.left.lanes, context.scope, context.interner)
        self._bundle = Bundle(kernel.SequenceSides, sides.bundle, self.waiting.bundle)

    @property
    def kept(self) -> int:
        return len(self.waiting)

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        left, right = inputs
        self.waiting.reserve(len(left))
        pairs = self._net.per_instant(self._pairs(left, right))
        kernel.forget_waiting(now, self._within, self.waiting.bundle.record)
        return repeat(pairs, pairs.weight)

    def due(self) -> int:
        """Rows for which the time to find a partner is over are to be forgotten."""
        return BEGINNING if len(self.waiting) and self._within != FOREVER else FOREVER

    def _pairs(self, left: Delta, right: Delta) -> Delta:
        rows, ts = np.empty((len(right), self.layout.width), np.int64), np.empty(len(right), np.int64)
        count = self._pair(left.rows, left.ts, right.rows, right.ts, self._within, self._bundle.record, rows, ts)
        return stream_of(rows[:count], ts[:count])


class ConditionalPairs(Pairs):
    """Pairs for which a condition is true as well."""

    def __init__(self, spec: SequenceSpec, residual: Expression, context: OperatorContext) -> None:
        super().__init__(spec, context)
        self._residual, self._context = residual, context
        self._partners = self._youngest if spec.pairing is Pairing.RECENT else self._oldest
        self._is_used_up = spec.pairing is Pairing.CHRONICLE

    def _pairs(self, left: Delta, right: Delta) -> Delta:
        first = np.zeros(len(right), np.int64)
        kernel.enter_and_look(left.rows, left.ts, right.rows, right.ts, self._bundle.record, first)
        partners = self._partners(right, first)
        found = np.flatnonzero(partners)
        pairs = stream_of(self._rows(right, found, partners[found]), right.ts[found])
        if self._is_used_up:
            kernel.leave_all(partners[found], self.waiting.bundle.record)
        return pairs

    def _youngest(self, right: Delta, first: Int64s) -> Int64s:
        partners, most = np.zeros_like(first), 1
        is_used = np.zeros(len(self.waiting.stamps), np.bool_)
        searching = np.flatnonzero(first)
        while len(searching):
            for places in np.array_split(searching, -(-len(searching) * most // MOST_PAIRS)):
                rights, lefts = self._candidates(right, places, first, most, len(places) * most, is_used)
                true = np.flatnonzero(self._is_true(right, rights, lefts))
                hits, at = np.unique(rights[true], return_index=True)
                partners[hits] = lefts[true[at]]
            searching = searching[(partners[searching] == 0) & (first[searching] != 0)]
            most = min(2 * most, MOST_PAIRS)
        return partners

    def _oldest(self, right: Delta, first: Int64s) -> Int64s:
        partners = np.zeros_like(first)
        is_used = np.zeros(len(self.waiting.stamps), np.bool_)
        for places, count in self._parts(right, first):
            rights, lefts = self._candidates(right, places, first, FOREVER, count, is_used)
            kernel.take_oldest(rights, lefts, self._is_true(right, rights, lefts), is_used, partners)
        return partners

    def _parts(self, right: Delta, first: Int64s) -> Iterator[tuple[Int64s, int]]:
        """Right rows in their order, in parts that have few candidates together, unless it is a single row."""
        places, waiting = np.flatnonzero(first), self.waiting
        counts = np.zeros_like(places)
        kernel.count_candidates(places, right.ts, self._within, waiting.stamps, waiting.links, first, counts)
        ends = np.cumsum(counts)
        start, done = 0, 0
        while start < len(places):
            stop = max(start + 1, int(np.searchsorted(ends, done + MOST_PAIRS, side="right")))
            yield places[start:stop], int(ends[stop - 1]) - done
            start, done = stop, int(ends[stop - 1])

    def _candidates(
        self, right: Delta, places: Int64s, first: Int64s, most: int, room: int, is_used: npt.NDArray[np.bool_]
    ) -> tuple[Int64s, Int64s]:
        rights, lefts = np.empty(room, np.int64), np.empty(room, np.int64)
        stamps, links = self.waiting.stamps, self.waiting.links
        count = kernel.candidates(places, right.ts, self._within, most, stamps, links, is_used, first, rights, lefts)
        return rights[:count], lefts[:count]

    def _is_true(self, right: Delta, rights: Int64s, lefts: Int64s) -> npt.NDArray[np.bool_]:
        if not len(rights):
            return np.empty(0, np.bool_)
        value = evaluate_over(self._residual, self._rows(right, rights, lefts), self.layout, self._context)
        return np.asarray(pc.fill_null(value, False))

    def _rows(self, right: Delta, rights: Int64s, lefts: Int64s) -> Int64s:
        rows = np.empty((len(rights), self.layout.width), np.int64)
        stored = self.waiting.stored
        kernel.write_pairs(stored, lefts, right.rows, rights, stored.shape[1], self._shape, rows)
        return rows


def stream_of(rows: Int64s, ts: Int64s) -> Delta:
    """Arrivals, one each."""
    return Delta(rows, ts, forever(len(ts)), np.ones(len(ts), np.int64))


def sequence(spec: SequenceSpec, context: OperatorContext) -> Operator:
    return Pairs(spec, context) if spec.residual is None else ConditionalPairs(spec, spec.residual, context)
