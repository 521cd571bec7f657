"""The beginning of a query that reads tables and streams.

Delta rule:  as the input, but what was there before the first row of a stream comes with that row
State:       changes that wait for it
Output:      as the input
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sash.deltas import Delta
from sash.operators.operator import Operator, OperatorContext
from sash.schema import BEGINNING, FOREVER
from sash.stores.queue import DeltaQueue

if TYPE_CHECKING:
    from sash.operators.streams.spec import BeginSpec


class Begin(Operator):
    """Show nothing before the query begins."""

    def __init__(self, spec: BeginSpec, context: OperatorContext) -> None:
        super().__init__(spec.layout)
        self._waiting = DeltaQueue(spec.layout, context.scope, context.interner)

    @property
    def kept(self) -> int:
        return len(self._waiting)

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        (delta,) = inputs
        if begin is None or begin >= now:  # an earlier row may still come
            self._waiting.append(delta)
            return self.nothing
        delta = Delta.concatenate([self._waiting.take(now), delta], self.layout.width)
        if len(delta) and delta.ts[0] < begin:
            delta = Delta(delta.rows, np.maximum(delta.ts, begin), delta.expiry, delta.weight)
        return delta

    def due(self) -> int:
        return BEGINNING if len(self._waiting) else FOREVER
