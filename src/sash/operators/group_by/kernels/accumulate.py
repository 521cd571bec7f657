"""What a value adds to the cells of its group."""

from __future__ import annotations

from sash.deltas import Int64s
from sash.kernels.compiling import inlined, kernel
from sash.kernels.exact_sum import RANGE_BASE, RANGE_CELL, RANGE_LENGTH, add_double, add_exact
from sash.operators.group_by.kernels.squares import add_double_square, add_square
from sash.operators.group_by.opcodes import (
    FEED_CELL,
    FEED_COUNT,
    FEED_DOUBLE,
    FEED_DOUBLE_SQUARES,
    FEED_EXACT,
    FEED_KIND,
    FEED_LANES,
    FEED_PART,
    FEED_SQUARES,
)


@inlined
def add_value(
    feeds: Int64s, feed: int, low: int, high: int, weight: int, group: int, ranges: Int64s, cells: Int64s
) -> None:
    """Add `weight` times a value, which is not NULL. A value of one lane comes with its sign as the high one."""
    kind, cell, part = feeds[feed, FEED_KIND], feeds[feed, FEED_CELL], feeds[feed, FEED_PART]
    if kind == FEED_COUNT:
        cells[group, cell] += weight
    elif kind == FEED_EXACT:
        cells[group, cell] += weight
        add_exact(cells, group, cell + 1, low, high, weight)
    elif kind == FEED_DOUBLE:
        cells[group, cell] += weight
        first, base, length = ranges[part, RANGE_CELL], ranges[part, RANGE_BASE], ranges[part, RANGE_LENGTH]
        add_double(cells, group, cell, first, base, length, low, weight)
    elif kind == FEED_SQUARES:
        add_square(cells, group, cell, low, high, feeds[feed, FEED_LANES], weight)
    elif kind == FEED_DOUBLE_SQUARES:
        first, base, length = ranges[part, RANGE_CELL], ranges[part, RANGE_BASE], ranges[part, RANGE_LENGTH]
        add_double_square(cells, group, cell, first, base, length, low, weight)
    else:
        _add_bits(cells, group, cell, low, weight)


@kernel
def _add_bits(cells: Int64s, group: int, cell: int, value: int, weight: int) -> None:
    """Count the value, and each of its bits."""
    cells[group, cell] += weight
    for bit in range(64):
        cells[group, cell + 1 + bit] += weight * (value >> bit & 1)
