"""A table that a stream of changes makes.

Delta rule:  a row of the stream is a change of the table: its sign, +1 or -1 (or more), is the weight of its other columns
State:       none
Output:      signed; a row without a sign changes nothing
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sash.deltas import Delta
from sash.operators.operator import Operator, OperatorContext
from sash.operators.project.operator import Project
from sash.operators.project.spec import ProjectSpec
from sash.scalar.nodes import Column

if TYPE_CHECKING:
    from sash.operators.streams.spec import TableChangesSpec


class TableChanges(Operator):
    """Turn rows with a sign into signed changes."""

    def __init__(self, spec: TableChangesSpec, context: OperatorContext) -> None:
        super().__init__(spec.layout)
        fields = spec.input.schema.fields
        columns = tuple(Column(place, fields[place].type, fields[place].name) for place in spec.columns)
        self._project = Project(ProjectSpec(spec.input, columns, spec.names), context)
        self._sign = spec.input.layout.lanes[spec.sign]  # a NULL is 0 there

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        (delta,) = inputs
        if not len(delta):
            return self.nothing
        weight = delta.weight * delta.rows[:, self._sign]
        rows = self._project.run([delta], now, begin).rows
        return Delta(rows, delta.ts, delta.expiry, weight).take(np.flatnonzero(weight))
