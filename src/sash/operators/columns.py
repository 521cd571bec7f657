"""Scalar expressions over rows of lanes: only the columns that an expression reads become Arrow arrays.

An expression that failed when a row came fails again when it leaves, which is not counted a second time.
"""

from __future__ import annotations

import pyarrow as pa

from sash.deltas import Delta, Int64s, Layout
from sash.operators.operator import OperatorContext
from sash.scalar.arrays import Mask
from sash.scalar.evaluate import evaluate
from sash.scalar.nodes import Expression, columns
from sash.stores.lanes import decode_column


def evaluate_over(
    expression: Expression, rows: Int64s, layout: Layout, context: OperatorContext, counted: Mask | None = None
) -> pa.Array:
    """The value for every row; failures count in the marked rows only."""
    places = {column.index for column in columns(expression)}
    arrays = {place: decode_column(rows, place, layout, context.interner) for place in sorted(places)}
    return evaluate(expression, arrays, len(rows), context.failures, counted)


def evaluate_delta(expression: Expression, delta: Delta, layout: Layout, context: OperatorContext) -> pa.Array:
    """The value for every row of a delta; failures count in the rows that come, not in those that leave."""
    counted = delta.weight > 0
    return evaluate_over(expression, delta.rows, layout, context, None if counted.all() else counted)
