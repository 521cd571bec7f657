"""Scalar expressions over rows of lanes: only the columns that an expression reads become Arrow arrays."""

from __future__ import annotations

import pyarrow as pa

from sash.deltas import Int64s, Layout
from sash.operators.base import Surroundings
from sash.scalar.evaluate import evaluate
from sash.scalar.nodes import Expression, columns
from sash.state.lanes import decode_column


def evaluate_over(expression: Expression, rows: Int64s, layout: Layout, surroundings: Surroundings) -> pa.Array:
    places = {column.index for column in columns(expression)}
    arrays = {place: decode_column(rows, place, layout, surroundings.interner) for place in sorted(places)}
    return evaluate(expression, arrays, len(rows), surroundings.failures)
