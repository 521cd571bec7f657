"""Bare loops over two windows. (`bare.py` says what a bare loop is.)"""

from __future__ import annotations

from benchmarks.bare.loops import BEFORE, KEY, NUMBER, VALUE, ask_coming, ask_leaving, emit, enter_ring, line_of
from sash.deltas import Int64s
from sash.kernels.compiling import inlined, kernel
from sash.kernels.prefetching import FAR, NEAR, NEXT, prefetch
from sash.schema import FOREVER

LEAVES_LEFT, LEAVES_RIGHT, COMES_LEFT, COMES_RIGHT = 0, 1, 2, 3


@inlined
def leaving_at(rings: Int64s, side: int, head: int, tail: int, size: int) -> int:
    """When the oldest row of a window leaves."""
    return rings[line_of(rings, side, head), 0] + size if head < tail else FOREVER


@inlined
def next_event(leaves_left: int, leaves_right: int, comes_left: int, comes_right: int) -> tuple[int, int]:
    """What happens next, and when; at one instant rows leave before others come."""
    what, when = LEAVES_LEFT, leaves_left
    if leaves_right < when:
        what, when = LEAVES_RIGHT, leaves_right
    if comes_left < when:
        what, when = COMES_LEFT, comes_left
    if comes_right < when:
        what, when = COMES_RIGHT, comes_right
    return what, when


@kernel
def bare_union(
    left: Int64s, right: Int64s, l_numbers: Int64s, r_numbers: Int64s, size: int, now: int, registers: Int64s, rings: Int64s,
    counts: Int64s, out_rows: Int64s, out_ts: Int64s, out_weight: Int64s,
) -> int:
    """SELECT k, v FROM a UNION ALL SELECT k, v FROM b"""
    i, j, n = 0, 0, 0
    l_head, l_tail, r_head, r_tail = registers[0], registers[1], registers[2], registers[3]
    while True:
        what, ts = next_event(
            leaving_at(rings, 0, l_head, l_tail, size), leaving_at(rings, 1, r_head, r_tail, size),
            left[i, 0] if i < len(left) else FOREVER, right[j, 0] if j < len(right) else FOREVER,
        )
        if ts >= now:
            break
        if what == LEAVES_LEFT:
            row = line_of(rings, 0, l_head)
            n = emit(out_rows, out_ts, out_weight, n, ts, -1, 2, rings[row, KEY], rings[row, VALUE], 0)
            l_head += 1
        elif what == LEAVES_RIGHT:
            row = line_of(rings, 1, r_head)
            n = emit(out_rows, out_ts, out_weight, n, ts, -1, 2, rings[row, KEY], rings[row, VALUE], 0)
            r_head += 1
        elif what == COMES_LEFT:
            n = emit(out_rows, out_ts, out_weight, n, ts, 1, 2, left[i, KEY], left[i, VALUE], 0)
            enter_ring(rings, 0, l_tail, left, i, l_numbers[i])
            l_tail, i = l_tail + 1, i + 1
        else:
            n = emit(out_rows, out_ts, out_weight, n, ts, 1, 2, right[j, KEY], right[j, VALUE], 0)
            enter_ring(rings, 1, r_tail, right, j, r_numbers[j])
            r_tail, j = r_tail + 1, j + 1
    registers[0], registers[1], registers[2], registers[3] = l_head, l_tail, r_head, r_tail
    return n


@inlined
def _multiplicity(counts: Int64s, number: int, is_except: int) -> int:
    if is_except:
        return max(0, counts[number, 0] - counts[number, 1])
    return int(counts[number, 0] > 0 and counts[number, 1] > 0)


@inlined
def _combine_two(
    left: Int64s, right: Int64s, l_numbers: Int64s, r_numbers: Int64s, size: int, now: int, registers: Int64s, rings: Int64s,
    counts: Int64s, out_rows: Int64s, out_ts: Int64s, out_weight: Int64s, is_except: int,
) -> int:
    i, j, n = 0, 0, 0
    l_head, l_tail, r_head, r_tail = registers[0], registers[1], registers[2], registers[3]
    while True:
        what, ts = next_event(
            leaving_at(rings, 0, l_head, l_tail, size), leaving_at(rings, 1, r_head, r_tail, size),
            left[i, 0] if i < len(left) else FOREVER, right[j, 0] if j < len(right) else FOREVER,
        )
        if ts >= now:
            break
        side, count = 0, 1
        if what == LEAVES_LEFT:
            ask_leaving(rings, 0, l_head, l_tail, counts)
            line, count = line_of(rings, 0, l_head), -1
            l_head += 1
        elif what == LEAVES_RIGHT:
            ask_leaving(rings, 1, r_head, r_tail, counts)
            line, side, count = line_of(rings, 1, r_head), 1, -1
            r_head += 1
        elif what == COMES_LEFT:
            ask_coming(l_numbers, i, counts)
            line = enter_ring(rings, 0, l_tail, left, i, l_numbers[i])
            l_tail, i = l_tail + 1, i + 1
        else:
            side = 1
            ask_coming(r_numbers, j, counts)
            line = enter_ring(rings, 1, r_tail, right, j, r_numbers[j])
            r_tail, j = r_tail + 1, j + 1
        number = rings[line, NUMBER]
        before = _multiplicity(counts, number, is_except)
        counts[number, side] += count
        after = _multiplicity(counts, number, is_except)
        if after != before:
            n = emit(out_rows, out_ts, out_weight, n, ts, after - before, 1, rings[line, KEY], 0, 0)
    registers[0], registers[1], registers[2], registers[3] = l_head, l_tail, r_head, r_tail
    return n


@kernel
def bare_except(
    left: Int64s, right: Int64s, l_numbers: Int64s, r_numbers: Int64s, size: int, now: int, registers: Int64s, rings: Int64s,
    counts: Int64s, out_rows: Int64s, out_ts: Int64s, out_weight: Int64s,
) -> int:
    """SELECT k FROM a EXCEPT ALL SELECT k FROM b"""
    return _combine_two(left, right, l_numbers, r_numbers, size, now, registers, rings, counts, out_rows, out_ts, out_weight, 1)


@kernel
def bare_intersect(
    left: Int64s, right: Int64s, l_numbers: Int64s, r_numbers: Int64s, size: int, now: int, registers: Int64s, rings: Int64s,
    counts: Int64s, out_rows: Int64s, out_ts: Int64s, out_weight: Int64s,
) -> int:
    """SELECT k FROM a INTERSECT SELECT k FROM b"""
    return _combine_two(left, right, l_numbers, r_numbers, size, now, registers, rings, counts, out_rows, out_ts, out_weight, 0)


@inlined
def _ask_keys(rings: Int64s, side: int, far: int, near: int, next_: int, counts: Int64s) -> None:
    """What rows of a side need, by the numbers of their keys: soon the second newest row of the other side, later the newest,
    still later what is known of the key.
    """
    prefetch(counts, far)
    prefetch(rings, line_of(rings, 1 - side, counts[near, 1 - side] - 1))
    newest = line_of(rings, 1 - side, counts[next_, 1 - side] - 1)
    prefetch(rings, line_of(rings, 1 - side, rings[newest, BEFORE]))


@inlined
def _ask_pairs(
    rings: Int64s, side: int, head: int, tail: int, numbers: Int64s, i: int, counts: Int64s
) -> None:
    """The same for a join, of rows that come and of rows that leave."""
    if i + FAR < len(numbers):
        _ask_keys(rings, side, numbers[i + FAR], numbers[i + NEAR], numbers[i + NEXT], counts)
    if head + FAR < tail:
        far, near, next_ = line_of(rings, side, head + FAR), line_of(rings, side, head + NEAR), line_of(rings, side, head + NEXT)
        _ask_keys(rings, side, rings[far, NUMBER], rings[near, NUMBER], rings[next_, NUMBER], counts)


@inlined
def _pairs(
    side: int, number: int, key: int, value: int, head: int, weight: int, ts: int, rings: Int64s, counts: Int64s,
    out_rows: Int64s, out_ts: Int64s, out_weight: Int64s, n: int,
) -> int:
    """The pairs of a row of the other side with the rows of this one: its chain ends at the first row that has left."""
    row = counts[number, side] - 1
    while row >= head:
        line = line_of(rings, side, row)
        partner = rings[line, VALUE]
        l_value, r_value = (partner, value) if side == 0 else (value, partner)
        n = emit(out_rows, out_ts, out_weight, n, ts, weight, 3, key, l_value, r_value)
        row = rings[line, BEFORE]
    return n


@kernel
def bare_join(
    left: Int64s, right: Int64s, l_numbers: Int64s, r_numbers: Int64s, size: int, now: int, registers: Int64s, rings: Int64s,
    counts: Int64s, out_rows: Int64s, out_ts: Int64s, out_weight: Int64s,
) -> int:
    """SELECT a.k, a.v, b.v FROM a JOIN b ON a.k = b.k"""
    i, j, n = 0, 0, 0
    l_head, l_tail, r_head, r_tail = registers[0], registers[1], registers[2], registers[3]
    while True:
        what, ts = next_event(
            leaving_at(rings, 0, l_head, l_tail, size), leaving_at(rings, 1, r_head, r_tail, size),
            left[i, 0] if i < len(left) else FOREVER, right[j, 0] if j < len(right) else FOREVER,
        )
        if ts >= now:
            break
        if what == LEAVES_LEFT:
            _ask_pairs(rings, 0, l_head, l_tail, l_numbers, len(l_numbers), counts)
            line = line_of(rings, 0, l_head)
            number, key, value = rings[line, NUMBER], rings[line, KEY], rings[line, VALUE]
            l_head += 1
            n = _pairs(1, number, key, value, r_head, -1, ts, rings, counts, out_rows, out_ts, out_weight, n)
        elif what == LEAVES_RIGHT:
            _ask_pairs(rings, 1, r_head, r_tail, r_numbers, len(r_numbers), counts)
            line = line_of(rings, 1, r_head)
            number, key, value = rings[line, NUMBER], rings[line, KEY], rings[line, VALUE]
            r_head += 1
            n = _pairs(0, number, key, value, l_head, -1, ts, rings, counts, out_rows, out_ts, out_weight, n)
        elif what == COMES_LEFT:
            number = l_numbers[i]
            _ask_pairs(rings, 0, l_tail, l_tail, l_numbers, i, counts)
            rings[enter_ring(rings, 0, l_tail, left, i, number), BEFORE] = counts[number, 0] - 1
            l_tail += 1
            counts[number, 0] = l_tail
            n = _pairs(1, number, left[i, KEY], left[i, VALUE], r_head, 1, ts, rings, counts, out_rows, out_ts, out_weight, n)
            i += 1
        else:
            number = r_numbers[j]
            _ask_pairs(rings, 1, r_tail, r_tail, r_numbers, j, counts)
            rings[enter_ring(rings, 1, r_tail, right, j, number), BEFORE] = counts[number, 1] - 1
            r_tail += 1
            counts[number, 1] = r_tail
            n = _pairs(0, number, right[j, KEY], right[j, VALUE], l_head, 1, ts, rings, counts, out_rows, out_ts, out_weight, n)
            j += 1
    registers[0], registers[1], registers[2], registers[3] = l_head, l_tail, r_head, r_tail
    return n


@inlined
def _change_group(
    side: int, number: int, key: int, value: int, head: int, sign: int, ts: int, rings: Int64s, counts: Int64s,
    out_rows: Int64s, out_ts: Int64s, out_weight: Int64s, n: int,
) -> int:
    """The count and the sum of a key's pairs, after those of one row came or went; values are those of the right side."""
    row, pairs, total = counts[number, side] - 1, 0, 0
    while row >= head:
        line = line_of(rings, side, row)
        pairs += 1
        total += rings[line, VALUE] if side == 1 else value
        row = rings[line, BEFORE]
    if pairs == 0:
        return n
    if counts[number, 2]:
        n = emit(out_rows, out_ts, out_weight, n, ts, -1, 3, key, counts[number, 2], counts[number, 3])
    counts[number, 2] += sign * pairs
    counts[number, 3] += sign * total
    if counts[number, 2]:
        n = emit(out_rows, out_ts, out_weight, n, ts, 1, 3, key, counts[number, 2], counts[number, 3])
    return n


@kernel
def bare_join_group(
    left: Int64s, right: Int64s, l_numbers: Int64s, r_numbers: Int64s, size: int, now: int, registers: Int64s, rings: Int64s,
    counts: Int64s, out_rows: Int64s, out_ts: Int64s, out_weight: Int64s,
) -> int:
    """SELECT a.k, COUNT(*), SUM(b.v) FROM a JOIN b ON a.k = b.k GROUP BY a.k"""
    i, j, n = 0, 0, 0
    l_head, l_tail, r_head, r_tail = registers[0], registers[1], registers[2], registers[3]
    while True:
        what, ts = next_event(
            leaving_at(rings, 0, l_head, l_tail, size), leaving_at(rings, 1, r_head, r_tail, size),
            left[i, 0] if i < len(left) else FOREVER, right[j, 0] if j < len(right) else FOREVER,
        )
        if ts >= now:
            break
        if what == LEAVES_LEFT:
            _ask_pairs(rings, 0, l_head, l_tail, l_numbers, len(l_numbers), counts)
            line = line_of(rings, 0, l_head)
            number, key, value = rings[line, NUMBER], rings[line, KEY], rings[line, VALUE]
            l_head += 1
            n = _change_group(1, number, key, value, r_head, -1, ts, rings, counts, out_rows, out_ts, out_weight, n)
        elif what == LEAVES_RIGHT:
            _ask_pairs(rings, 1, r_head, r_tail, r_numbers, len(r_numbers), counts)
            line = line_of(rings, 1, r_head)
            number, key, value = rings[line, NUMBER], rings[line, KEY], rings[line, VALUE]
            r_head += 1
            n = _change_group(0, number, key, value, l_head, -1, ts, rings, counts, out_rows, out_ts, out_weight, n)
        elif what == COMES_LEFT:
            number = l_numbers[i]
            _ask_pairs(rings, 0, l_tail, l_tail, l_numbers, i, counts)
            rings[enter_ring(rings, 0, l_tail, left, i, number), BEFORE] = counts[number, 0] - 1
            l_tail += 1
            counts[number, 0] = l_tail
            key, value = left[i, KEY], left[i, VALUE]
            n = _change_group(1, number, key, value, r_head, 1, ts, rings, counts, out_rows, out_ts, out_weight, n)
            i += 1
        else:
            number = r_numbers[j]
            _ask_pairs(rings, 1, r_tail, r_tail, r_numbers, j, counts)
            rings[enter_ring(rings, 1, r_tail, right, j, number), BEFORE] = counts[number, 1] - 1
            r_tail += 1
            counts[number, 1] = r_tail
            key, value = right[j, KEY], right[j, VALUE]
            n = _change_group(0, number, key, value, l_head, 1, ts, rings, counts, out_rows, out_ts, out_weight, n)
            j += 1
    registers[0], registers[1], registers[2], registers[3] = l_head, l_tail, r_head, r_tail
    return n
