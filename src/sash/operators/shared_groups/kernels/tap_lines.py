"""What a window holds of every group: parts come and go, and the row that it shows changes."""

from __future__ import annotations

from sash.deltas import Int64s
from sash.kernels.compiling import inlined
from sash.kernels.exact_sum import LOAD, MOST_LOAD, NANS, add_192, carry_limbs, take_192
from sash.operators.group_by.kernels.aggregates import double_of
from sash.operators.group_by.kernels.sliding_extremes import FIRST, FIRST_VALUE
from sash.operators.group_by.kernels.sliding_sums import (
    renew_call,
    show_value,
)
from sash.operators.group_by.opcodes import (
    AVG_DOUBLE,
    CALL_CELL,
    CALL_KIND,
    CALL_PART,
    FEED_DOUBLE,
    FEED_EXACT,
    FEED_VALUE,
    FIRST_CELL,
    ROWS,
    SHOWN,
    SUM_DOUBLE,
)
from sash.operators.shared_groups.kernels.records import (
    COUNT,
    DOUBLE_LIMBS,
    FOLLOWING,
    GROUP,
    NO_WORSE,
    ROW_AT,
    TAP_AT,
    TAP_CELL,
    TAP_KIND,
    TAP_LENGTH,
    TAP_LIMBS,
    VALUE,
    VALUES,
    WIDTH,
    Given,
    Parts,
    Tap,
)


@inlined
def add_part(ring: Int64s, number: int, parts: Parts, own: Tap, lines: Int64s) -> None:
    entry = number & (len(ring) - 1)
    group = ring[entry, GROUP]
    if lines[group, ROWS] == 0 and lines[group, SHOWN] == 0:
        _copy_key(group, parts, own, lines)
    lines[group, ROWS] += ring[entry, COUNT]
    for feed in range(len(own.feeds)):
        kind, at, cell = own.feeds[feed, TAP_KIND], own.feeds[feed, TAP_AT], own.feeds[feed, TAP_CELL]
        if kind == FEED_VALUE:
            if ring[entry, at] and lines[group, cell + FIRST] == 0:
                lines[group, cell + FIRST] = number + 1
        else:
            lines[group, cell] += ring[entry, at]
            if kind == FEED_DOUBLE:
                _add_limbs(1, ring, entry, feed, own.feeds, lines, group)
            elif kind == FEED_EXACT:
                add_192(lines, group, cell + 1, ring[entry, at + 1], ring[entry, at + 2], ring[entry, at + 3])


@inlined
def subtract_part(ring: Int64s, entry: int, feeds: Int64s, lines: Int64s) -> None:
    group = ring[entry, GROUP]
    lines[group, ROWS] -= ring[entry, COUNT]
    for feed in range(len(feeds)):
        kind, at, cell = feeds[feed, TAP_KIND], feeds[feed, TAP_AT], feeds[feed, TAP_CELL]
        if kind != FEED_VALUE:
            lines[group, cell] -= ring[entry, at]
            if kind == FEED_DOUBLE:
                _add_limbs(-1, ring, entry, feed, feeds, lines, group)
            elif kind == FEED_EXACT:
                take_192(lines, group, cell + 1, ring[entry, at + 1], ring[entry, at + 2], ring[entry, at + 3])


@inlined
def _add_limbs(sign: int, ring: Int64s, entry: int, feed: int, feeds: Int64s, lines: Int64s, group: int) -> None:
    """Add the sum of doubles of a part, or take it off. Each limb of a part is below 2^33 times its load and one."""
    at, cell, first, length = feeds[feed, TAP_AT], feeds[feed, TAP_CELL], feeds[feed, TAP_LIMBS], feeds[feed, TAP_LENGTH]
    for place in range(NANS, LOAD):
        lines[group, cell + place] += sign * ring[entry, at + place]
    if lines[group, cell + LOAD] + ring[entry, at + LOAD] >= MOST_LOAD:
        carry_limbs(lines, group, first, length)
        lines[group, cell + LOAD] = 0
    for limb in range(length):
        lines[group, first + limb] += sign * ring[entry, at + DOUBLE_LIMBS + limb]
    lines[group, cell + LOAD] += ring[entry, at + LOAD] + 1


@inlined
def _copy_key(group: int, parts: Parts, own: Tap, lines: Int64s) -> None:
    key, row_at, values = parts.shape[1], own.shape[ROW_AT], own.shape[VALUES]
    for lane in range(key):
        lines[group, row_at + lane] = parts.groups[group, FIRST_CELL + lane]
    for mask in range(parts.groups.shape[1] - FIRST_CELL - key):
        lines[group, row_at + values + mask] = parts.groups[group, FIRST_CELL + key + mask]


@inlined
def find_values(group: int, leave: int, ring: Int64s, own: Tap) -> None:
    """Go on to the parts whose values are shown now."""
    mask, lines = len(ring) - 1, own.lines
    for feed in range(len(own.feeds)):
        if own.feeds[feed, TAP_KIND] == FEED_VALUE:
            at, cell = own.feeds[feed, TAP_AT], own.feeds[feed, TAP_CELL]
            number = lines[group, cell + FIRST]
            while number:
                part = (number - 1) & mask
                if ring[part, at + NO_WORSE]:
                    number = ring[part, at + NO_WORSE]
                elif number <= leave:
                    number = ring[part, at + FOLLOWING]
                else:
                    lines[group, cell + FIRST_VALUE] = ring[part, at + VALUE]
                    break
            lines[group, cell + FIRST] = number


@inlined
def show_change(
    group: int, now: int, own: Tap, registers: Int64s, given: Given, lanes_at: int, changes_at: int, written: int
) -> int:
    """Take back the row that the group shows, write the one that it has now; the answer is how many changes are written then."""
    lines, start = own.lines, written
    if lines[group, SHOWN]:
        written = _write(group, -1, now, own, given, lanes_at, changes_at, written)
    if lines[group, ROWS] == 0:
        return written
    is_other = lines[group, SHOWN] == 0
    for call in range(len(own.facts.calls)):
        is_other |= renew(call, group, own, registers)
    if not is_other:
        return start
    lines[group, SHOWN] = 1
    return _write(group, 1, now, own, given, lanes_at, changes_at, written)


@inlined
def renew(call: int, group: int, own: Tap, registers: Int64s) -> bool:
    """Bring the value of one aggregate in the shown row up to date; whether it changed."""
    calls, lines, row_at = own.facts.calls, own.lines, own.shape[ROW_AT]
    kind = calls[call, CALL_KIND]
    if kind not in (SUM_DOUBLE, AVG_DOUBLE):
        return renew_call(call, group, row_at, own.facts, registers, lines)
    cell = calls[call, CALL_CELL]
    count, value = lines[group, cell], 0
    if count:
        divisor = count if kind == AVG_DOUBLE else 0
        value = double_of(lines, group, cell, own.ranges, calls[call, CALL_PART], own.facts.limbs, divisor)
    return show_value(call, group, row_at, calls, lines, value, count == 0)


@inlined
def _write(
    group: int, weight: int, now: int, own: Tap, given: Given, lanes_at: int, changes_at: int, written: int
) -> int:
    width, row_at = own.shape[WIDTH], own.shape[ROW_AT]
    for lane in range(width):
        given.lanes[lanes_at + written * width + lane] = own.lines[group, row_at + lane]
    given.ts[changes_at + written], given.weight[changes_at + written] = now, weight
    return written + 1
