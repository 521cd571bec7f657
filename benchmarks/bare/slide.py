"""A bare loop over a window that jumps. (`bare.py` says what a bare loop is.)

    [RANGE size SLIDE slide]      a row comes at the end of its slide, and leaves `size` later

Many groups change at one instant; like the engine it puts the changes of an instant in order. The second half of `rings`, where
other loops have a second window, holds the groups that an instant touched while they are sorted.
"""

from __future__ import annotations

from benchmarks.bare.loops import KEY, NUMBER, SLIDE, VALUE, enter_ring, line_of
from sash.deltas import Int64s
from sash.kernels.compiling import inlined, kernel
from sash.kernels.ordering import BUCKETS, BYTES, MANY
from sash.kernels.prefetching import NEAR, prefetch
from sash.schema import FOREVER

COUNT, SUM, SHOWN_COUNT, SHOWN_SUM, IS_TOUCHED, CELLS = 0, 1, 2, 3, 4, 5  # of a key
FROM, TO, BUCKET = 0, 2, 4  # lanes of a touched group while it is sorted: its key, then its number


@inlined
def _change(rings: Int64s, row: int, sign: int, counts: Int64s, touched: int) -> int:
    """Let a row come or leave; the answer is how many groups were touched by then."""
    prefetch(counts, rings[line_of(rings, 0, row + NEAR), NUMBER])
    line = line_of(rings, 0, row)
    number = rings[line, NUMBER]
    counts[number, COUNT] += sign
    counts[number, SUM] += sign * rings[line, VALUE]
    if counts[number, IS_TOUCHED]:
        return touched
    counts[number, IS_TOUCHED] = 1
    place = (len(rings) >> 1) + touched
    rings[place, FROM], rings[place, FROM + 1] = rings[line, KEY], number
    return touched + 1


@inlined
def _sort(rings: Int64s, count: int) -> int:
    """The touched groups by their keys; in which lanes they lie then."""
    half = len(rings) >> 1
    if count >= MANY and half >= BYTES * BUCKETS:
        return _sort_by_bytes(rings, half, count)
    return _sort_by_merging(rings, half, count)


@kernel
def _sort_by_merging(rings: Int64s, half: int, count: int) -> int:
    width, from_ = 1, FROM
    while width < count:
        to = FROM + TO - from_
        for left in range(0, count, 2 * width):
            middle, right = min(left + width, count), min(left + 2 * width, count)
            i, j = left, middle
            for k in range(left, right):
                takes_left = j >= right or (i < middle and rings[half + i, from_] <= rings[half + j, from_])
                line = half + (i if takes_left else j)
                rings[half + k, to], rings[half + k, to + 1] = rings[line, from_], rings[line, from_ + 1]
                if takes_left:
                    i += 1
                else:
                    j += 1
        width, from_ = 2 * width, to
    return from_


@kernel
def _sort_by_bytes(rings: Int64s, half: int, count: int) -> int:
    """The lowest byte first, as the engine does (`ordering.py`); the buckets lie in the last lane."""
    for k in range(BYTES * BUCKETS):
        rings[half + k, BUCKET] = 0
    for k in range(count):
        for byte in range(BYTES):
            rings[half + byte * BUCKETS + (rings[half + k, FROM] >> 8 * byte & 255), BUCKET] += 1
    from_ = FROM
    for byte in range(BYTES):
        place, first, to = 0, half + byte * BUCKETS, FROM + TO - from_
        for k in range(BUCKETS):
            bucket = first + (k ^ 128 if byte == BYTES - 1 else k)  # of the highest byte, those of negative keys come first
            place, rings[bucket, BUCKET] = place + rings[bucket, BUCKET], place
        for k in range(count):
            bucket = first + (rings[half + k, from_] >> 8 * byte & 255)
            place = half + rings[bucket, BUCKET]
            rings[bucket, BUCKET] += 1
            rings[place, to], rings[place, to + 1] = rings[half + k, from_], rings[half + k, from_ + 1]
        from_ = to
    return from_


@inlined
def _write(
    key: int, count: int, sum_: int, ts: int, weight: int, out_rows: Int64s, out_ts: Int64s, out_weight: Int64s, n: int
) -> None:
    out_rows[n, 0], out_rows[n, 1], out_rows[n, 2], out_rows[n, 3] = key, count, sum_, 0
    out_ts[n], out_weight[n] = ts, weight


@inlined
def _is_other(counts: Int64s, number: int) -> bool:
    return counts[number, COUNT] != counts[number, SHOWN_COUNT] or counts[number, SUM] != counts[number, SHOWN_SUM]


@inlined
def _show(
    rings: Int64s, touched: int, ts: int, counts: Int64s, out_rows: Int64s, out_ts: Int64s, out_weight: Int64s, n: int
) -> int:
    """Take all old rows of the touched groups back, then write the new ones, both in the order of keys."""
    at = _sort(rings, touched)
    for k in range(touched):
        line = (len(rings) >> 1) + k
        key, number = rings[line, at], rings[line, at + 1]
        if counts[number, SHOWN_COUNT] and _is_other(counts, number):
            _write(key, counts[number, SHOWN_COUNT], counts[number, SHOWN_SUM], ts, -1, out_rows, out_ts, out_weight, n)
            n += 1
    for k in range(touched):
        line = (len(rings) >> 1) + k
        key, number = rings[line, at], rings[line, at + 1]
        if counts[number, COUNT] and _is_other(counts, number):
            _write(key, counts[number, COUNT], counts[number, SUM], ts, 1, out_rows, out_ts, out_weight, n)
            n += 1
        counts[number, SHOWN_COUNT], counts[number, SHOWN_SUM] = counts[number, COUNT], counts[number, SUM]
        counts[number, IS_TOUCHED] = 0
    return n


@kernel
def bare_group_slide(
    left: Int64s, right: Int64s, l_numbers: Int64s, r_numbers: Int64s, size: int, now: int, registers: Int64s, rings: Int64s,
    counts: Int64s, out_rows: Int64s, out_ts: Int64s, out_weight: Int64s,
) -> int:
    """SELECT k, COUNT(*), SUM(v) FROM a GROUP BY k; rows wait in the ring from `seen` on until their slide ends."""
    head, seen, tail, slide, n = registers[0], registers[1], registers[2], registers[SLIDE], 0
    for i in range(len(left)):
        enter_ring(rings, 0, tail, left, i, l_numbers[i])
        tail += 1
    while True:
        comes, leaves = FOREVER, FOREVER
        if seen < tail:
            comes = (rings[line_of(rings, 0, seen), 0] // slide + 1) * slide
        if head < seen:
            leaves = (rings[line_of(rings, 0, head), 0] // slide + 1) * slide + size
        ts, touched = min(comes, leaves), 0
        if ts >= now:
            break
        while head < seen and rings[line_of(rings, 0, head), 0] < ts - size:
            touched = _change(rings, head, -1, counts, touched)
            head += 1
        while comes == ts and seen < tail and rings[line_of(rings, 0, seen), 0] < ts:
            touched = _change(rings, seen, 1, counts, touched)
            seen += 1
        n = _show(rings, touched, ts, counts, out_rows, out_ts, out_weight, n)
    registers[0], registers[1], registers[2] = head, seen, tail
    return n
