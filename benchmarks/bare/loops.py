"""Bare loops: each gives the changes of one query over one or two sliding windows, and can do nothing else.

They are what the engine is measured against (`./run bench`): no NULLs, no weights on arrival, columns at fixed lanes, nothing
that is not needed for this one query. Keys are any 64-bit integers, so a loop too must find what belongs to a key by its hash; it
does so for the rows of a step ahead, never forgets a key, and asks memory for the lines of later rows. What they give has the
engine's form.

    known          the hash table: key and number of every key seen
    rings          the rows alive of both sides, oldest first: instant, key, value, the row before it with its key,
                   number of its key
    counts         per number of a key, whatever the query needs
    out            row lanes and an empty mask, instant, weight; net per instant, as every change looks back at its instant
"""

from __future__ import annotations

from sash.deltas import Int64s
from sash.kernels.compiling import inlined, kernel
from sash.kernels.hashing import mix
from sash.kernels.prefetching import FAR, NEAR, prefetch

KEY, VALUE = 1, 2  # lanes of an arriving row; lane 0 is its timestamp
RING_LANES = 5  # an instant at lane 0, key and value as above, then the row before and the number of the key
BEFORE, NUMBER = 3, 4
LIMIT = 500  # of the selection
SLIDE, REGISTERS = 4, 5  # the register that tells the slide; those before it are a loop's own


@kernel
def number_keys(rows: Int64s, known: Int64s, numbers: Int64s) -> None:
    """The number of every row's key, counted from 0. `known` has lines of key and number + 1; line 0 counts the keys."""
    last = len(known) - 2
    for i in range(len(rows)):
        if i + FAR < len(rows):
            prefetch(known, 1 + (mix(0, rows[i + FAR, KEY]) & last))
        slot = mix(0, rows[i, KEY]) & last
        while known[1 + slot, 1] and known[1 + slot, 0] != rows[i, KEY]:
            slot = (slot + 1) & last
        if known[1 + slot, 1] == 0:
            known[0, 1] += 1
            known[1 + slot, 0], known[1 + slot, 1] = rows[i, KEY], known[0, 1]
        numbers[i] = known[1 + slot, 1] - 1


@inlined
def line_of(rings: Int64s, side: int, row: int) -> int:
    half = len(rings) >> 1
    return side * half + (row & (half - 1))


@inlined
def ask_coming(numbers: Int64s, i: int, counts: Int64s) -> None:
    """Ask for what a row needs that will come later."""
    if i + NEAR < len(numbers):
        prefetch(counts, numbers[i + NEAR])


@inlined
def ask_leaving(rings: Int64s, side: int, head: int, tail: int, counts: Int64s) -> None:
    """Ask for what a row of a side needs that will leave later."""
    if head + NEAR < tail:
        prefetch(counts, rings[line_of(rings, side, head + NEAR), NUMBER])


@inlined
def emit(
    out_rows: Int64s, out_ts: Int64s, out_weight: Int64s, n: int, ts: int, weight: int, lanes: int, a: int, b: int, c: int
) -> int:
    """Add a change to those of its instant; the answer is how many changes there are then."""
    place = n - 1
    while place >= 0 and out_ts[place] == ts:
        is_equal = out_rows[place, 0] == a
        if lanes > 1:
            is_equal &= out_rows[place, 1] == b
        if lanes > 2:
            is_equal &= out_rows[place, 2] == c
        if is_equal:
            out_weight[place] += weight
            if out_weight[place] == 0:
                n -= 1
                out_weight[place] = out_weight[n]
                for lane in range(lanes):
                    out_rows[place, lane] = out_rows[n, lane]
            return n
        place -= 1
    out_rows[n, 0] = a
    if lanes > 1:
        out_rows[n, 1] = b
    if lanes > 2:
        out_rows[n, 2] = c
    out_rows[n, lanes] = 0
    out_ts[n], out_weight[n] = ts, weight
    return n + 1


@inlined
def enter_ring(rings: Int64s, side: int, tail: int, rows: Int64s, i: int, number: int) -> int:
    line = line_of(rings, side, tail)
    rings[line, 0] = rows[i, 0]
    rings[line, KEY] = rows[i, KEY]
    rings[line, VALUE] = rows[i, VALUE]
    rings[line, NUMBER] = number
    return line


@kernel
def bare_select(
    left: Int64s, right: Int64s, l_numbers: Int64s, r_numbers: Int64s, size: int, now: int, registers: Int64s, rings: Int64s,
    counts: Int64s, out_rows: Int64s, out_ts: Int64s, out_weight: Int64s,
) -> int:
    """SELECT k, v FROM a WHERE v < 500"""
    head, tail, n = registers[0], registers[1], 0
    for i in range(len(left) + 1):
        limit = left[i, 0] if i < len(left) else now - 1
        while head < tail and rings[line_of(rings, 0, head), 0] + size <= limit:
            row = line_of(rings, 0, head)
            n = emit(
                out_rows, out_ts, out_weight, n, rings[row, 0] + size, -1, 2, rings[row, KEY], rings[row, VALUE], 0
            )
            head += 1
        if i < len(left) and left[i, VALUE] < LIMIT:
            enter_ring(rings, 0, tail, left, i, l_numbers[i])
            tail += 1
            n = emit(out_rows, out_ts, out_weight, n, limit, 1, 2, left[i, KEY], left[i, VALUE], 0)
    registers[0], registers[1] = head, tail
    return n


@inlined
def _show_group(
    counts: Int64s, number: int, key: int, count: int, value: int, ts: int, out_rows: Int64s, out_ts: Int64s,
    out_weight: Int64s, n: int,
) -> int:
    if counts[number, 0]:
        n = emit(out_rows, out_ts, out_weight, n, ts, -1, 3, key, counts[number, 0], counts[number, 1])
    counts[number, 0] += count
    counts[number, 1] += value
    if counts[number, 0]:
        n = emit(out_rows, out_ts, out_weight, n, ts, 1, 3, key, counts[number, 0], counts[number, 1])
    return n


@kernel
def bare_group(
    left: Int64s, right: Int64s, l_numbers: Int64s, r_numbers: Int64s, size: int, now: int, registers: Int64s, rings: Int64s,
    counts: Int64s, out_rows: Int64s, out_ts: Int64s, out_weight: Int64s,
) -> int:
    """SELECT k, COUNT(*), SUM(v) FROM a GROUP BY k"""
    head, tail, n = registers[0], registers[1], 0
    for i in range(len(left) + 1):
        limit = left[i, 0] if i < len(left) else now - 1
        while head < tail and rings[line_of(rings, 0, head), 0] + size <= limit:
            ask_leaving(rings, 0, head, tail, counts)
            row = line_of(rings, 0, head)
            ts = rings[row, 0] + size
            number, key, value = rings[row, NUMBER], rings[row, KEY], rings[row, VALUE]
            n = _show_group(counts, number, key, -1, -value, ts, out_rows, out_ts, out_weight, n)
            head += 1
        if i < len(left):
            enter_ring(rings, 0, tail, left, i, l_numbers[i])
            tail += 1
            ask_coming(l_numbers, i, counts)
            n = _show_group(counts, l_numbers[i], left[i, KEY], 1, left[i, VALUE], limit, out_rows, out_ts, out_weight, n)
    registers[0], registers[1] = head, tail
    return n


@kernel
def bare_distinct(
    left: Int64s, right: Int64s, l_numbers: Int64s, r_numbers: Int64s, size: int, now: int, registers: Int64s, rings: Int64s,
    counts: Int64s, out_rows: Int64s, out_ts: Int64s, out_weight: Int64s,
) -> int:
    """SELECT DISTINCT k FROM a"""
    head, tail, n = registers[0], registers[1], 0
    for i in range(len(left) + 1):
        limit = left[i, 0] if i < len(left) else now - 1
        while head < tail and rings[line_of(rings, 0, head), 0] + size <= limit:
            ask_leaving(rings, 0, head, tail, counts)
            row = line_of(rings, 0, head)
            key, number = rings[row, KEY], rings[row, NUMBER]
            counts[number, 0] -= 1
            if counts[number, 0] == 0:
                n = emit(out_rows, out_ts, out_weight, n, rings[row, 0] + size, -1, 1, key, 0, 0)
            head += 1
        if i < len(left):
            number = l_numbers[i]
            ask_coming(l_numbers, i, counts)
            enter_ring(rings, 0, tail, left, i, l_numbers[i])
            tail += 1
            counts[number, 0] += 1
            if counts[number, 0] == 1:
                n = emit(out_rows, out_ts, out_weight, n, limit, 1, 1, left[i, KEY], 0, 0)
    registers[0], registers[1] = head, tail
    return n
