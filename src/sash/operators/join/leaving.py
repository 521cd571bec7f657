"""Equi-join of two windows whose result is wanted as signed changes.

Delta rule:  + as Join gives them; - when the first of the two rows of a pair leaves: the pairs of a row are found anew then
State:       a log of rows per side, chained by key; equal rows are one where they are many; no pair is kept
Output:      signed; only the columns that are wanted
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sash.deltas import Delta, Int64s
from sash.kernels.bundles import Bundle
from sash.operators.join.kernels.leaving import LeavingSides, Moves, join_leaving
from sash.operators.join.merging_log import MergingLog
from sash.operators.join.operator import in_slices
from sash.operators.join.sides import Sides
from sash.operators.operator import OperatorContext
from sash.operators.output_chunks import FanoutEstimate, OutputChunks
from sash.operators.piecewise import Piecewise

if TYPE_CHECKING:
    from sash.operators.join.spec import LeavingJoinSpec

LEAST_SLICE = 1 << 12  # rows of a side that a log makes room for at once; where more are kept, as many as these
MET = 256  # lines that a row meets before its pairs with them are written


class LeavingJoin(Piecewise):
    """Pair every row that comes, and again when it leaves, with the live rows of the other side."""

    def __init__(self, spec: LeavingJoinSpec, context: OperatorContext) -> None:
        super().__init__(spec.layout)
        scope, interner = context.scope, context.interner
        self._logs = (
            MergingLog(spec.left.layout, scope.scope("left"), interner),
            MergingLog(spec.right.layout, scope.scope("right"), interner),
        )
        self._reached = scope.array("reached", 1)  # all that leaves up to this instant has left
        layouts = (spec.left.layout, spec.right.layout, spec.layout)
        shape = np.array([(layout.values, layout.width) for layout in layouts], np.int64).ravel()
        self._sides, self._yield = Sides(spec, spec.left_keys, spec.right_keys, shape), FanoutEstimate()
        moves = Bundle(Moves, *column_moves(spec), np.empty(MET, np.int64))
        self._bundle = Bundle(LeavingSides, self._sides.bundle, *(log.bundle for log in self._logs), moves)

    @property
    def kept(self) -> int:
        left, right = self._logs
        return len(left) + len(right)

    def due(self) -> int:
        left, right = self._logs
        return min(left.first_expiry, right.first_expiry)

    @property
    def is_merging(self) -> bool:
        """Whether rows have so many copies that equal ones are one."""
        return any(log.is_merging for log in self._logs)

    @property
    def reached(self) -> int:
        """Whatever leaves up to this instant has left."""
        instant: int = self._reached.item()
        return instant

    def rows(self) -> tuple[Delta, Delta]:
        """The rows of both sides, each with its expiry as its instant."""
        left, right = self._logs
        return left.rows(), right.rows()

    def fill(self, inputs: Sequence[Delta], reached: int) -> None:
        """Begin with rows that are alive, and whose pairs were told before."""
        for log, side, delta in zip(self._logs, (self._sides.left, self._sides.right), inputs, strict=True):
            log.fill(delta.rows, delta.expiry, delta.weight, side.hashes(delta.rows))
        self._reached[0] = reached

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        left, right = inputs
        came = len(left.ts) + len(right.ts)
        pieces = OutputChunks(self.layout.width, self._yield.in_parts(came))
        return self.give(pieces, self._work_on(left, right, now, pieces), came, self._yield)

    def _work_on(self, left: Delta, right: Delta, now: int, pieces: OutputChunks) -> Iterator[None]:
        for left_part, right_part, until in in_slices(left, right, now, max(self.kept, LEAST_SLICE)):
            yield from self._slide(left_part, right_part, until, pieces)

    def _slide(self, left: Delta, right: Delta, until: int, pieces: OutputChunks) -> Iterator[None]:
        """Take rows in, and let those go that leave before an instant."""
        before, came = self.kept, len(left.ts) + len(right.ts)
        (left_log, right_log), reached = self._logs, self._reached.item()
        left_log.reserve(len(left.ts), reached)
        right_log.reserve(len(right.ts), reached)
        self._sides.start(len(left.ts), len(right.ts))
        while True:
            out = pieces.next()
            rows, ts, _, weight = out.room
            out.add(
                join_leaving(
                    left.rows, left.ts, left.expiry, left.weight, right.rows, right.ts, right.expiry, right.weight, until,
                    self._bundle.record, rows, ts, weight,
                )
            )
            if not out.is_full:
                break
            yield
        self._reached[0] = until - 1
        self.probes += 2 * came + before - self.kept


def column_moves(spec: LeavingJoinSpec) -> tuple[Int64s, Int64s]:
    """From where to where columns are copied: lanes, and bits of masks."""
    sides, lanes, bits = (spec.left.layout, spec.right.layout), [], []
    for place, column in enumerate(spec.columns):
        is_right = int(column >= len(sides[0].schema))
        own, index = sides[is_right], column - is_right * len(sides[0].schema)
        for lane in range(own.schema.types[index].lanes):
            lanes.append((is_right, own.lanes[index] + lane, spec.layout.lanes[place] + lane))
        bits.append((is_right, *own.mask(index), *spec.layout.mask(place)))
    return np.array(lanes, np.int64).reshape(len(lanes), 3), np.array(bits, np.int64).reshape(len(bits), 5)
