"""EMIT EVERY: changes are held back and shown together.

    period      (0, d]      (d, 2d]                       periods count from the epoch
    changes     ..x.x.     .x....x        shown at        d, 2d

Delta rule:  the net change of a period, at its end
State:       a bag of what the open period has changed so far
Output:      signed
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sash.deltas import Delta, forever
from sash.operators.delays import Delays
from sash.operators.net_changes import NetChanges
from sash.operators.operator import Operator, OperatorContext
from sash.schema import FOREVER
from sash.stores.bag import RowBag

if TYPE_CHECKING:
    from sash.operators.streams.spec import EmitSpec


class Emit(Operator):
    """Hold changes until their period ends."""

    def __init__(self, spec: EmitSpec, context: OperatorContext) -> None:
        super().__init__(spec.layout)
        self._period = spec.period
        self.delays: Delays = Delays()
        self._net = NetChanges(spec.layout, context.interner)
        self._end = context.scope.array("end", 1)  # of the open period
        self.bag = RowBag(spec.layout, context.scope.scope("bag"), context.interner)

    @property
    def kept(self) -> int:
        return len(self.bag)

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        delta = inputs[0]  # the other one is the time
        ends = -(-delta.ts // self._period) * self._period
        self.delays.add(ends - delta.ts)
        due, open_ = Delta(delta.rows, ends, delta.expiry, delta.weight).split(now)
        if len(self.bag) and self._end[0] < now:
            due = Delta.concatenate([self.rest(int(self._end[0])), due], self.layout.width)
        if len(open_):
            self._end[0] = open_.ts[0]
            self.bag.add(open_.rows, open_.weight)
        return self._net.per_instant(due)

    def due(self) -> int:
        return int(self._end[0]) if len(self.bag) else FOREVER

    def rest(self, ts: int) -> Delta:
        """What the open period holds, as changes of one instant; it holds nothing then. Also for the end of the input."""
        rows, weight = self.bag.rows()
        self.bag.add(rows, -weight)
        return Delta(rows, np.full(len(weight), ts), forever(len(weight)), weight)
