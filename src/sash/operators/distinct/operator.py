"""Duplicate elimination over rows that carry their expiry (seed 003, delta-star).

Delta rule:  + when the first copy comes, - when the youngest leaves
State:       every distinct row once, with the expiry of its youngest copy; older copies are forgotten at once
Output:      signed
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sash.deltas import Delta, Int64s
from sash.operators.distinct.kernels import distinct_by_alarm, distinct_in_order
from sash.operators.distinct.store import DistinctRows
from sash.operators.operator import Operator, OperatorContext
from sash.operators.output_chunks import FanoutEstimate, OutputChunks
from sash.plan.patterns import Pattern

if TYPE_CHECKING:
    from sash.operators.distinct.spec import DistinctSpec


class Distinct(Operator):
    """Show every row once."""

    def __init__(self, spec: DistinctSpec, context: OperatorContext) -> None:
        super().__init__(spec.layout)
        self._is_in_order = spec.input.pattern is not Pattern.WEAK
        self._rows = DistinctRows(
            spec.layout, context.scope, context.interner, has_alarms=not self._is_in_order
        )
        self._yield = FanoutEstimate()

    @property
    def kept(self) -> int:
        return len(self._rows)

    def shown(self) -> Int64s:
        return self._rows.shown

    def due(self) -> int:
        return self._rows.first

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        (delta,) = inputs
        rows, cursor = self._rows, np.zeros(1, np.int64)
        pieces = OutputChunks(self.layout.width, self._yield.of(len(delta)) or len(delta))
        tags = rows.tags(delta.rows)
        kernel = distinct_in_order if self._is_in_order else distinct_by_alarm
        while cursor[0] <= len(delta):
            rows.reserve(1)
            alarms = () if self._is_in_order else (rows.heap,)
            out = pieces.next()
            out_rows, out_ts, _, out_weight = out.room
            out.add(
                kernel(
                    delta.rows, delta.ts, delta.expiry, tags, now, cursor, rows.lanes, rows.registers, rows.table, rows.nodes,
                    rows.free, *alarms, out_rows, out_ts, out_weight,
                )
            )
        changes = pieces.delta()
        self._yield.observe(len(delta), len(changes.ts))
        return changes
