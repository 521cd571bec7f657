"""Counts of ranges: GROUP basic windows, and the G-index over them.

A tuple walks the sorted upper bounds of the groups to its own. When a basic window closes, its counts less those of the oldest
are the delta file, which is added to the index. What is counted by ranges is known by ranges alone.
"""

from __future__ import annotations

from typing import NamedTuple

from sash.deltas import Int64s
from sash.kernels.bundles import Line, Lines, opened
from sash.kernels.compiling import inlined, kernel

GROUP_CLOSED, GROUP_STEPS, GROUP_REGISTERS = 0, 1, 2


class Groups(NamedTuple):
    """`counts` has a line for every basic window of either side, the open one among them; `totals` one for either side."""

    registers: Lines
    bounds: Line
    counts: Lines
    totals: Lines
    found: Line  # groups of both sides


open_groups = opened(Groups)


@inlined
def _insert_group(value: int, side: int, groups: Groups) -> None:
    bounds, slots = groups.bounds, len(groups.counts) // len(groups.totals)
    group = 0
    while bounds[group] <= value:
        group += 1
    groups.counts[side * slots + groups.registers[side, GROUP_CLOSED] % slots, group] += 1
    groups.registers[0, GROUP_STEPS] += group + 1


@inlined
def _close_groups(side: int, groups: Groups) -> None:
    slots, closed = len(groups.counts) // len(groups.totals), groups.registers[side, GROUP_CLOSED]
    newest, oldest = side * slots + closed % slots, side * slots + (closed + 1) % slots
    for group in range(len(groups.bounds)):
        groups.totals[side, group] += groups.counts[newest, group] - groups.counts[oldest, group]
        groups.counts[oldest, group] = 0
    groups.registers[side, GROUP_CLOSED] = closed + 1
    groups.registers[0, GROUP_STEPS] += len(groups.bounds)


@inlined
def _intersect_groups(groups: Groups) -> int:
    n = 0
    for group in range(len(groups.bounds)):
        if groups.totals[0, group] and groups.totals[1, group]:
            groups.found[n] = group
            n += 1
    return n


@kernel
def insert_groups(values: Int64s, side: int, record: Int64s) -> None:
    groups = open_groups(record)
    for i in range(len(values)):
        _insert_group(values[i], side, groups)


@kernel
def close_groups(side: int, record: Int64s) -> None:
    _close_groups(side, open_groups(record))


@kernel
def intersect_groups(record: Int64s) -> int:
    return _intersect_groups(open_groups(record))


@kernel
def advance_groups(values: Int64s, size: int, is_asked: bool, record: Int64s) -> None:
    """As `advance`."""
    groups = open_groups(record)
    for start in range(0, values.shape[1], size):
        for side in range(len(values)):
            for i in range(start, start + size):
                _insert_group(values[side, i], side, groups)
            _close_groups(side, groups)
        if is_asked:
            _intersect_groups(groups)
