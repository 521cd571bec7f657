"""Equi-join of two windows whose result is wanted as signed changes.

Delta rule:  + as Join gives them; - when the first of the two rows of a pair leaves: the pairs of a row are found anew then
State:       a log of rows per side, chained by key; equal rows are one where they are many; no pair is kept
Output:      signed; only the columns that are wanted
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sash.deltas import Delta, Int64s
from sash.operators.join.kernels.leaving import join_leaving
from sash.operators.join.merging_log import MergingLog
from sash.operators.join.operator import Side, in_slices
from sash.operators.join.spec import LeavingJoinSpec
from sash.operators.operator import Operator, OperatorContext
from sash.operators.output_chunks import FanoutEstimate, OutputChunks

LEAST_SLICE = 1 << 12  # rows of a side that a log makes room for at once; where more are kept, as many as these
MET = 256  # lines that a row meets before its pairs with them are written


class LeavingJoin(Operator):
    """Pair every row that comes, and again when it leaves, with the live rows of the other side."""

    def __init__(self, spec: LeavingJoinSpec, context: OperatorContext) -> None:
        super().__init__(spec.layout)
        scope, interner = context.scope, context.interner
        self._left, self._right = Side(spec.left.layout, spec.left_keys), Side(spec.right.layout, spec.right_keys)
        self._logs = (
            MergingLog(spec.left.layout, scope.scope("left"), interner),
            MergingLog(spec.right.layout, scope.scope("right"), interner),
        )
        self._reached = scope.array("reached", 1)  # all that leaves up to this instant has left
        self._lanes, self._bits = _moves(spec)
        layouts = (spec.left.layout, spec.right.layout, spec.layout)
        self._shape = np.array([(layout.values, layout.width) for layout in layouts], np.int64).ravel()
        self._yield = FanoutEstimate()
        self._met = np.empty(MET, np.int64)

    @property
    def kept(self) -> int:
        left, right = self._logs
        return len(left) + len(right)

    def due(self) -> int:
        left, right = self._logs
        return min(left.first_expiry, right.first_expiry)

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        left, right = inputs
        came = len(left.ts) + len(right.ts)
        pieces = OutputChunks(self.layout.width, self._yield.of(came))
        if came <= LEAST_SLICE:
            self._slide(left, right, now, pieces)
        else:
            for left_part, right_part, until in in_slices(left, right, now, max(self.kept, LEAST_SLICE)):
                self._slide(left_part, right_part, until, pieces)
        changes = pieces.delta()
        self._yield.saw(came, changes)
        return changes

    def _slide(self, left: Delta, right: Delta, until: int, pieces: OutputChunks) -> None:
        """Take rows in, and let those go that leave before an instant."""
        before, came = self.kept, len(left.ts) + len(right.ts)
        (left_log, right_log), reached = self._logs, self._reached.item()
        left_log.reserve(len(left.ts), reached)
        right_log.reserve(len(right.ts), reached)
        hashes, cursor = (self._left.hashes(left.rows), self._right.hashes(right.rows)), np.zeros(3, np.int64)
        while True:
            out = pieces.next()
            out.add(self._join(left, right, hashes, until, cursor, *out.room))
            if not out.is_full:
                break
        self._reached[0] = until - 1
        self.probes += 2 * came + before - self.kept

    def _join(
        self, left: Delta, right: Delta, hashes: tuple[Int64s, Int64s], now: int, cursor: Int64s, rows: Int64s, ts: Int64s,
        _: Int64s, weight: Int64s,
    ) -> int:
        l_log, r_log = self._logs
        count: int = join_leaving(
            left.rows, left.ts, left.expiry, left.weight, hashes[0], right.rows, right.ts, right.expiry, right.weight, hashes[1],
            now, self._left.lanes, self._right.lanes, self._left.masks, self._right.masks, l_log.whole, r_log.whole, self._lanes,
            self._bits, self._shape, cursor, l_log.registers, l_log.lines, l_log.table, l_log.copies, r_log.registers,
            r_log.lines, r_log.table, r_log.copies, l_log.jumps, r_log.jumps, self._met, rows, ts, weight,
        )
        return count


def _moves(spec: LeavingJoinSpec) -> tuple[Int64s, Int64s]:
    """From where to where columns are copied: lanes, and bits of masks."""
    sides, lanes, bits = (spec.left.layout, spec.right.layout), [], []
    for place, column in enumerate(spec.columns):
        is_right = int(column >= len(sides[0].schema))
        own, index = sides[is_right], column - is_right * len(sides[0].schema)
        for lane in range(own.schema.types[index].lanes):
            lanes.append((is_right, own.lanes[index] + lane, spec.layout.lanes[place] + lane))
        bits.append((is_right, *own.mask(index), *spec.layout.mask(place)))
    return np.array(lanes, np.int64).reshape(len(lanes), 3), np.array(bits, np.int64).reshape(len(bits), 5)
