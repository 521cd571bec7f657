"""The bare loop of MIN and MAX: two deques of rows for every key, through the ring. (`bare.py` says what a bare loop is.)

    counts         of each deque its first and last row, both plus one, and the value of the first
    rings          of each row, for each deque, the row before it and the row after it there
"""

from __future__ import annotations

from benchmarks.bare.loops import BEFORE, KEY, NUMBER, VALUE, ask_leaving, emit, enter_ring, line_of
from sash.deltas import Int64s
from sash.kernels.compiling import inlined, kernel
from sash.kernels.prefetching import FAR, NEAR, prefetch

LEAST, GREATEST, CELLS = 0, 3, 8  # cells of each deque: FIRST, LAST, SHOWN
FIRST, LAST, SHOWN = 0, 1, 2
LEAST_BEFORE, LEAST_AFTER, GREATEST_BEFORE, GREATEST_AFTER, LANES = BEFORE, 5, 6, 7, 8


@inlined
def _ask_for(rings: Int64s, numbers: Int64s, i: int, counts: Int64s) -> None:
    """Of rows that come, soon the last rows of both deques, later the number of the key."""
    if i + FAR < len(numbers):
        prefetch(counts, numbers[i + FAR])
        prefetch(rings, line_of(rings, 0, counts[numbers[i + NEAR], LEAST + LAST] - 1))
        prefetch(rings, line_of(rings, 0, counts[numbers[i + NEAR], GREATEST + LAST] - 1))


@inlined
def _push(
    rings: Int64s, row: int, counts: Int64s, number: int, cells: int, before: int, after: int, sign: int
) -> None:
    line = line_of(rings, 0, row)
    last = counts[number, cells + LAST] - 1
    while last >= 0 and sign * rings[line_of(rings, 0, last), VALUE] >= sign * rings[line, VALUE]:
        last = rings[line_of(rings, 0, last), before]
    rings[line, before] = last
    if last >= 0:
        rings[line_of(rings, 0, last), after] = row
    else:
        counts[number, cells + FIRST], counts[number, cells + SHOWN] = row + 1, rings[line, VALUE]
    counts[number, cells + LAST] = row + 1


@inlined
def _pop(rings: Int64s, row: int, counts: Int64s, number: int, cells: int, before: int, after: int) -> None:
    if counts[number, cells + FIRST] != row + 1:
        return
    if counts[number, cells + LAST] == row + 1:
        counts[number, cells + FIRST] = counts[number, cells + LAST] = 0
        return
    first = rings[line_of(rings, 0, row), after]
    line = line_of(rings, 0, first)
    rings[line, before] = -1
    counts[number, cells + FIRST], counts[number, cells + SHOWN] = first + 1, rings[line, VALUE]


@inlined
def _show(
    counts: Int64s, number: int, key: int, was_there: bool, least: int, greatest: int, ts: int, out_rows: Int64s, out_ts: Int64s,
    out_weight: Int64s, n: int,
) -> int:
    is_there = counts[number, FIRST] != 0
    new_least, new_greatest = counts[number, LEAST + SHOWN], counts[number, GREATEST + SHOWN]
    if was_there and is_there and least == new_least and greatest == new_greatest:
        return n
    if was_there:
        n = emit(out_rows, out_ts, out_weight, n, ts, -1, 3, key, least, greatest)
    if is_there:
        n = emit(out_rows, out_ts, out_weight, n, ts, 1, 3, key, new_least, new_greatest)
    return n


@kernel
def bare_extremes(
    left: Int64s, right: Int64s, l_numbers: Int64s, r_numbers: Int64s, size: int, now: int, registers: Int64s, rings: Int64s,
    counts: Int64s, out_rows: Int64s, out_ts: Int64s, out_weight: Int64s,
) -> int:
    """SELECT k, MIN(v), MAX(v) FROM a GROUP BY k"""
    head, tail, n = registers[0], registers[1], 0
    for i in range(len(left) + 1):
        limit = left[i, 0] if i < len(left) else now - 1
        while head < tail and rings[line_of(rings, 0, head), 0] + size <= limit:
            ask_leaving(rings, 0, head, tail, counts)
            line = line_of(rings, 0, head)
            number, key, ts = rings[line, NUMBER], rings[line, KEY], rings[line, 0] + size
            least, greatest = counts[number, LEAST + SHOWN], counts[number, GREATEST + SHOWN]
            _pop(rings, head, counts, number, LEAST, LEAST_BEFORE, LEAST_AFTER)
            _pop(rings, head, counts, number, GREATEST, GREATEST_BEFORE, GREATEST_AFTER)
            n = _show(counts, number, key, True, least, greatest, ts, out_rows, out_ts, out_weight, n)
            head += 1
        if i < len(left):
            number = l_numbers[i]
            _ask_for(rings, l_numbers, i, counts)
            enter_ring(rings, 0, tail, left, i, number)
            was_there = counts[number, FIRST] != 0
            least, greatest = counts[number, LEAST + SHOWN], counts[number, GREATEST + SHOWN]
            _push(rings, tail, counts, number, LEAST, LEAST_BEFORE, LEAST_AFTER, 1)
            _push(rings, tail, counts, number, GREATEST, GREATEST_BEFORE, GREATEST_AFTER, -1)
            n = _show(counts, number, left[i, KEY], was_there, least, greatest, limit, out_rows, out_ts, out_weight, n)
            tail += 1
    registers[0], registers[1] = head, tail
    return n
