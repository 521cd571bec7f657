"""The order of rows, as the numbers that `compare_ordered` wants: a line for every column."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sash.deltas import Int64s, Layout
from sash.kernels.rows import BY_INTEGER
from sash.operators.net_changes import column_orders
from sash.plan.nodes import Order

NEVER_NULL = 63  # masks have 32 bits: this one is never set


def row_order(layout: Layout, orders: Sequence[Order] = ()) -> Int64s:
    """The columns of an ORDER BY, then the full row, ascending, NULLs first."""
    everything = [Order(column) for column in range(len(layout.schema))]
    return _lines(layout, [*orders, *everything])


def next_instant_first(layout: Layout) -> Int64s:
    """By the lane after the row, which holds an instant, then by the full row, both ascending."""
    instant = [[BY_INTEGER, layout.width, layout.values, NEVER_NULL, 0, 0]]
    return np.concatenate([np.array(instant, np.int64), row_order(layout)])


def _lines(layout: Layout, orders: Sequence[Order]) -> Int64s:
    facts = column_orders(layout)
    lines = [[*facts[order.column].tolist(), int(order.is_descending), int(order.nulls_first)] for order in orders]
    return np.array(lines, np.int64).reshape(len(lines), 6)
