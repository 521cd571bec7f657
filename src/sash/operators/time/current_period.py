"""What shows the time: when the current second, hour or day began.

Delta rule:  a row comes and goes with the periods of then; when a period ends, minus all rows as they were, plus as they are
State:       a bag of all rows; when the current periods began; before the query begins, changes that wait for it
Output:      signed
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sash.deltas import Delta
from sash.operators.operator import Operator, OperatorContext
from sash.operators.output_chunks import OutputChunks
from sash.operators.time.kernels import current_period as kernel
from sash.schema import BEGINNING, FOREVER
from sash.stores.bag import RowBag
from sash.stores.queue import DeltaQueue

if TYPE_CHECKING:
    from sash.operators.time.spec import CurrentPeriodSpec

AT_ONCE = 1 << 18  # changes


class CurrentPeriod(Operator):
    """Keep all rows, and change them whenever a period ends."""

    def __init__(self, spec: CurrentPeriodSpec, context: OperatorContext) -> None:
        super().__init__(spec.layout)
        layout, scope, interner = spec.left.layout, context.scope, context.interner
        self._periods = np.array([(period.length, period.phase) for period in spec.periods], np.int64)
        self._shape = np.array([layout.values, layout.width], np.int64)
        self._following = np.zeros(len(self._periods), np.int64)
        self._begun = scope.array("begun", 1)
        self._current = scope.array("current", len(self._periods))
        self._waiting = DeltaQueue(layout, scope.scope("waiting"), interner)
        self.bag = RowBag(layout, scope.scope("bag"), interner)

    @property
    def kept(self) -> int:
        return len(self.bag) + len(self._waiting)

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        delta = inputs[0]
        if not self._begun[0]:
            if begin is None or begin >= now:  # an earlier row may still come
                self._waiting.append(delta)
                return self.nothing
            delta = self._begin(delta, begin)
        if not len(delta) and self.due() >= now:
            return self.nothing
        return self._changes(delta, now)

    def _begin(self, delta: Delta, begin: int) -> Delta:
        """What was there before comes at the beginning."""
        self._begun[0] = 1
        self._current[:] = begin - (begin + self._periods[:, kernel.PHASE]) % self._periods[:, kernel.LENGTH]
        delta = Delta.concatenate([self._waiting.take(FOREVER), delta], delta.rows.shape[1])
        return Delta(delta.rows, np.maximum(delta.ts, begin), delta.expiry, delta.weight)

    def _changes(self, delta: Delta, now: int) -> Delta:
        bag = self.bag
        bag.reserve(len(delta))
        cursor, tags = np.array([0, kernel.NOBODY, 0], np.int64), bag.tags(delta.rows)
        pieces = OutputChunks(self.layout.width, 2 * (len(delta) + len(bag)))
        while cursor[kernel.PLACE] <= len(delta):
            out = pieces.next(2)
            rows, ts, _, weight = out.room
            out.add(
                kernel.tick(
                    delta.rows, delta.ts, delta.weight, now, cursor, self._periods, self._current, self._following, self._shape,
                    bag.lanes, tags, bag.registers, bag.table, bag.nodes, bag.free, rows, ts, weight,
                )
            )
        return pieces.delta()

    def due(self) -> int:
        if len(self._waiting):
            return BEGINNING
        return self._end() if len(self.bag) else FOREVER

    def _end(self) -> int:
        """When the first of the current periods ends."""
        return int((self._current + self._periods[:, kernel.LENGTH]).min())

    def cut(self, now: int, first: int, waiting: int, begin: int | None) -> int:
        """So many periods that about AT_ONCE changes come of them, and one at least."""
        rows = waiting + self.kept
        if not rows:
            return now
        start = self._end() if len(self.bag) else first
        if not self._begun[0]:
            start = now if begin is None else begin
        more = AT_ONCE // (2 * rows * len(self._periods))
        return min(now, start + more * int(self._periods[:, kernel.LENGTH].min()) + 1)
