"""Duplicate elimination over rows that carry their expiry (seed 003, delta-star).

Delta rule:  + when the first copy comes, - when the youngest leaves
State:       every distinct row once, with the expiry of its youngest copy; older copies are forgotten at once
Output:      signed
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sash.deltas import Delta
from sash.kernels.distinct import distinct_by_alarm, distinct_in_order
from sash.logical.patterns import Pattern
from sash.operators.base import Operator, Surroundings
from sash.operators.pieces import Pieces
from sash.physical.expiry_specs import DistinctSpec
from sash.state.distinct import DistinctRows

SLICE = 1 << 14  # rows for which room is made at once: most of them are copies


class Distinct(Operator):
    """Show every row once."""

    def __init__(self, spec: DistinctSpec, surroundings: Surroundings) -> None:
        super().__init__(spec.layout)
        self._is_in_order = spec.input.pattern is not Pattern.WEAK
        self._rows = DistinctRows(
            spec.layout, surroundings.scope, surroundings.interner, has_alarms=not self._is_in_order
        )

    @property
    def kept(self) -> int:
        return len(self._rows)

    def due(self) -> int:
        return self._rows.first

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        (delta,) = inputs
        pieces = Pieces(self.layout.width, len(delta))
        for start in range(0, max(1, len(delta)), SLICE):
            part = delta.slice(start, start + SLICE)
            is_last = start + SLICE >= len(delta)
            # Between two slices time stands at the last row of the first.
            self._changes(part, now if is_last else int(part.ts[-1]) + 1, pieces)
        return pieces.delta()

    def _changes(self, delta: Delta, now: int, pieces: Pieces) -> None:
        rows, cursor = self._rows, np.zeros(1, np.int64)
        rows.reserve(len(delta))
        tags = rows.tags(delta.rows)
        kernel = distinct_in_order if self._is_in_order else distinct_by_alarm
        alarms = () if self._is_in_order else (rows.heap,)
        while cursor[0] <= len(delta):
            out = pieces.next()
            out_rows, out_ts, _, out_weight = out.room
            out.add(
                kernel(
                    delta.rows, delta.ts, delta.expiry, tags, now, cursor, rows.lanes, rows.registers, rows.table, rows.nodes,
                    rows.free, *alarms, out_rows, out_ts, out_weight,
                )
            )
