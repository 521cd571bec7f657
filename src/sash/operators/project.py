"""Projection.

Delta rule:  d(project(A)) = project(dA), row by row, duplicates kept
State:       none
Output:      as the input, with other columns
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sash.deltas import Delta, Int64s
from sash.operators.base import Operator, Surroundings
from sash.operators.columns import evaluate_delta
from sash.physical.specs import ProjectSpec
from sash.scalar.nodes import Column
from sash.state.lanes import encode_column


class Project(Operator):
    """Compute every output column; plain columns are copied lane by lane and never become Arrow arrays."""

    def __init__(self, spec: ProjectSpec, surroundings: Surroundings) -> None:
        super().__init__(spec.layout)
        self._input = spec.input.layout
        self._expressions = spec.expressions
        self._surroundings = surroundings

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        (delta,) = inputs
        if not len(delta):
            return self.nothing
        rows = np.zeros((len(delta), self.layout.width), np.int64)
        for place, expression in enumerate(self._expressions):
            if isinstance(expression, Column):
                self._copy(delta.rows, expression.index, rows, place)
            else:
                array = evaluate_delta(expression, delta, self._input, self._surroundings)
                encode_column(rows, place, array, self.layout, self._surroundings.interner)
        return delta.with_rows(rows)

    def _copy(self, source: Int64s, index: int, target: Int64s, place: int) -> None:
        for lane in range(self._input.schema.types[index].lanes):
            target[:, self.layout.lanes[place] + lane] = source[:, self._input.lanes[index] + lane]
        (from_lane, from_bit), (to_lane, to_bit) = self._input.mask(index), self.layout.mask(place)
        target[:, to_lane] |= ((source[:, from_lane] >> from_bit) & 1) << to_bit
