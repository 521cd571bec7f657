"""Projection.

Delta rule:  d(project(A)) = project(dA), row by row, duplicates kept
State:       none
Output:      as the input, with other columns
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sash.deltas import Delta, Int64s
from sash.kernels.rows import copy_lanes
from sash.operators.columns import evaluate_delta
from sash.operators.operator import OperatorContext, Timeless
from sash.scalar.nodes import Column
from sash.stores.lanes import encode_column

if TYPE_CHECKING:
    from sash.operators.project.spec import ProjectSpec


class Project(Timeless):
    """Compute every output column; plain columns are copied lane by lane and never become Arrow arrays."""

    def __init__(self, spec: ProjectSpec, context: OperatorContext) -> None:
        super().__init__(spec.layout)
        self._input = spec.input.layout
        self._context = context
        self._lanes, self._bits = _moves(spec)
        self._computed = [(place, e) for place, e in enumerate(spec.expressions) if not isinstance(e, Column)]
        places = [e.index if isinstance(e, Column) else None for e in spec.expressions]
        self._is_identity = places == list(range(len(self._input.schema)))

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        (delta,) = inputs
        count = len(delta.ts)
        if not count:
            return self.nothing
        if self._is_identity:
            return delta
        rows = np.zeros((count, self.layout.width), np.int64)
        copy_lanes(delta.rows, self._lanes, self._bits, rows)
        for place, expression in self._computed:
            array = evaluate_delta(expression, delta, self._input, self._context)
            encode_column(rows, place, array, self.layout, self._context.interner)
        return delta.with_rows(rows)


def _moves(spec: ProjectSpec) -> tuple[Int64s, Int64s]:
    """From where to where plain columns are copied: lanes, and bits of masks."""
    input_, layout = spec.input.layout, spec.layout
    columns = [(e.index, place) for place, e in enumerate(spec.expressions) if isinstance(e, Column)]
    lanes = [
        (input_.lanes[index] + lane, layout.lanes[place] + lane)
        for index, place in columns for lane in range(input_.schema.types[index].lanes)
    ]
    bits = [(*input_.mask(index), *layout.mask(place)) for index, place in columns]
    return np.array(lanes, np.int64).reshape(len(lanes), 2), np.array(bits, np.int64).reshape(len(bits), 4)
