"""Selection.

Delta rule:  d(filter(A)) = filter(dA)
State:       none
Output:      as the input, less the rows for which the predicate is false or NULL
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow.compute as pc

from sash.deltas import Delta
from sash.kernels.rows import keep_rows
from sash.operators.base import Surroundings, Timeless
from sash.operators.columns import evaluate_delta
from sash.physical.expiry_specs import Messages, messages_of
from sash.physical.specs import FilterSpec
from sash.scalar.arrays import Mask


class Filter(Timeless):
    """Keep the rows for which a predicate is true."""

    def __init__(self, spec: FilterSpec, surroundings: Surroundings) -> None:
        super().__init__(spec.layout)
        self._predicate = spec.predicate
        self._surroundings = surroundings
        self._messages = messages_of(spec)

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        (delta,) = inputs
        if not len(delta):
            return delta
        is_kept = evaluate_delta(self._predicate, delta, self.layout, self._surroundings)
        mask = np.asarray(pc.fill_null(is_kept, False))
        if self._messages is not Messages.NONE:
            delta, mask = self._with_messages(delta, mask)
        if mask.all():
            return delta
        rows, ts, expiry, weight = delta.rows, delta.ts, delta.expiry, delta.weight
        out = Delta.room(len(delta) + 1, self.layout.width)
        count = keep_rows(rows, ts, expiry, weight, mask, out.rows, out.ts, out.expiry, out.weight)
        return out.slice(0, count)

    def _with_messages(self, delta: Delta, mask: Mask) -> tuple[Delta, Mask]:
        """Messages pass. A row that is left out may stand for some; the last change then tells the time in its place."""
        if self._messages is Messages.SINGLE:
            return delta, mask | (delta.weight == 0)
        mask, weight = mask & (delta.weight != 0), delta.weight
        if not mask[-1]:
            mask[-1], weight = True, weight.copy()
            weight[-1] = 0
        return Delta(delta.rows, delta.ts, delta.expiry, weight), mask
