"""What a value adds to the cells of its group."""

from __future__ import annotations

from sash.deltas import Int64s
from sash.kernels.compiling import inlined, kernel
from sash.kernels.exact_sum import RANGE_BASE, RANGE_CELL, RANGE_LENGTH, add_double, add_exact
from sash.operators.group_by.kernels.moments import add_double_power, add_power
from sash.operators.group_by.opcodes import (
    FEED_CELL,
    FEED_COUNT,
    FEED_DOUBLE,
    FEED_EXACT,
    FEED_KIND,
    FEED_LANES,
    FEED_PART,
    FEED_POWER,
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
        if feeds[feed, FEED_POWER] == 1:
            cells[group, cell] += weight
            add_exact(cells, group, cell + 1, low, high, weight)
        else:
            add_power(cells, group, cell, low, high, feeds[feed, FEED_LANES], feeds[feed, FEED_POWER], weight)
    elif kind == FEED_DOUBLE:
        first, base, length = ranges[part, RANGE_CELL], ranges[part, RANGE_BASE], ranges[part, RANGE_LENGTH]
        if feeds[feed, FEED_POWER] == 1:
            cells[group, cell] += weight
            add_double(cells, group, cell, first, base, length, low, weight)
        else:
            add_double_power(cells, group, cell, first, base, length, low, feeds[feed, FEED_POWER], weight)
    else:
        _add_bits(cells, group, cell, low, weight)


@kernel
def _add_bits(cells: Int64s, group: int, cell: int, value: int, weight: int) -> None:
    """Count the value, and each of its bits."""
    cells[group, cell] += weight
    for bit in range(64):
        cells[group, cell + 1 + bit] += weight * (value >> bit & 1)
