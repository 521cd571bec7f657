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
from sash.physical.specs import FilterSpec


class Filter(Timeless):
    """Keep the rows for which a predicate is true."""

    def __init__(self, spec: FilterSpec, surroundings: Surroundings) -> None:
        super().__init__(spec.layout)
        self._predicate = spec.predicate
        self._surroundings = surroundings

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        (delta,) = inputs
        if not len(delta):
            return delta
        is_kept = evaluate_delta(self._predicate, delta, self.layout, self._surroundings)
        mask = np.asarray(pc.fill_null(is_kept, False))
        if mask.all():
            return delta
        rows, ts, expiry, weight = delta.rows, delta.ts, delta.expiry, delta.weight
        out = Delta.room(len(delta) + 1, self.layout.width)
        count = keep_rows(rows, ts, expiry, weight, mask, out.rows, out.ts, out.expiry, out.weight)
        return out.slice(0, count)
