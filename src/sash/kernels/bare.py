"""Bare loops: each gives the changes of one query over one or two sliding windows, and can do nothing else.

They are what the engine is measured against (`sash bench windows`): keys are small integers, so arrays are indexed by key where
the engine has hash tables; no NULLs, no weights on arrival, columns at fixed lanes. What they give has the engine's form.

    rings[side]    the rows alive, oldest first: instant, key, value, the row before it with its key
    counts         per key, whatever the query needs
    out            row lanes and an empty mask, instant, weight; net per instant, as every change looks back at its instant
"""

from __future__ import annotations

from sash.deltas import Int64s
from sash.kernels.compiling import inlined, kernel
from sash.schema import FOREVER

KEY, VALUE = 1, 2  # lanes of an arriving row; lane 0 is its timestamp
RING_LANES = 4  # an instant at lane 0, key and value as above, then the row before
BEFORE = 3
LEAVES_LEFT, LEAVES_RIGHT, COMES_LEFT, COMES_RIGHT, NOTHING = 0, 1, 2, 3, 4
LIMIT = 500  # of the selection


@inlined
def _emit(
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
def _leaving(rings: Int64s, side: int, head: int, tail: int, size: int) -> int:
    """When the oldest row of a window leaves."""
    return rings[side, head & (rings.shape[1] - 1), 0] + size if head < tail else FOREVER


@inlined
def _next(leaves_left: int, leaves_right: int, comes_left: int, comes_right: int) -> tuple[int, int]:
    """What happens next, and when; at one instant rows leave before others come."""
    what, when = LEAVES_LEFT, leaves_left
    if leaves_right < when:
        what, when = LEAVES_RIGHT, leaves_right
    if comes_left < when:
        what, when = COMES_LEFT, comes_left
    if comes_right < when:
        what, when = COMES_RIGHT, comes_right
    return what, when


@inlined
def _enter(rings: Int64s, side: int, tail: int, rows: Int64s, i: int) -> int:
    place = tail & (rings.shape[1] - 1)
    rings[side, place, 0] = rows[i, 0]
    rings[side, place, KEY] = rows[i, KEY]
    rings[side, place, VALUE] = rows[i, VALUE]
    return place


@kernel
def bare_select(
    left: Int64s, right: Int64s, size: int, now: int, registers: Int64s, rings: Int64s, counts: Int64s, out_rows: Int64s,
    out_ts: Int64s, out_weight: Int64s,
) -> int:
    """SELECT k, v FROM a WHERE v < 500"""
    head, tail, mask, n = registers[0], registers[1], rings.shape[1] - 1, 0
    for i in range(len(left) + 1):
        limit = left[i, 0] if i < len(left) else now - 1
        while head < tail and rings[0, head & mask, 0] + size <= limit:
            row = head & mask
            n = _emit(
                out_rows, out_ts, out_weight, n, rings[0, row, 0] + size, -1, 2, rings[0, row, KEY], rings[0, row, VALUE], 0
            )
            head += 1
        if i < len(left) and left[i, VALUE] < LIMIT:
            _enter(rings, 0, tail, left, i)
            tail += 1
            n = _emit(out_rows, out_ts, out_weight, n, limit, 1, 2, left[i, KEY], left[i, VALUE], 0)
    registers[0], registers[1] = head, tail
    return n


@inlined
def _show_group(
    counts: Int64s, key: int, count: int, value: int, ts: int, out_rows: Int64s, out_ts: Int64s, out_weight: Int64s, n: int
) -> int:
    if counts[key, 0]:
        n = _emit(out_rows, out_ts, out_weight, n, ts, -1, 3, key, counts[key, 0], counts[key, 1])
    counts[key, 0] += count
    counts[key, 1] += value
    if counts[key, 0]:
        n = _emit(out_rows, out_ts, out_weight, n, ts, 1, 3, key, counts[key, 0], counts[key, 1])
    return n


@kernel
def bare_group(
    left: Int64s, right: Int64s, size: int, now: int, registers: Int64s, rings: Int64s, counts: Int64s, out_rows: Int64s,
    out_ts: Int64s, out_weight: Int64s,
) -> int:
    """SELECT k, COUNT(*), SUM(v) FROM a GROUP BY k"""
    head, tail, mask, n = registers[0], registers[1], rings.shape[1] - 1, 0
    for i in range(len(left) + 1):
        limit = left[i, 0] if i < len(left) else now - 1
        while head < tail and rings[0, head & mask, 0] + size <= limit:
            row = head & mask
            ts = rings[0, row, 0] + size
            n = _show_group(counts, rings[0, row, KEY], -1, -rings[0, row, VALUE], ts, out_rows, out_ts, out_weight, n)
            head += 1
        if i < len(left):
            _enter(rings, 0, tail, left, i)
            tail += 1
            n = _show_group(counts, left[i, KEY], 1, left[i, VALUE], limit, out_rows, out_ts, out_weight, n)
    registers[0], registers[1] = head, tail
    return n


@kernel
def bare_distinct(
    left: Int64s, right: Int64s, size: int, now: int, registers: Int64s, rings: Int64s, counts: Int64s, out_rows: Int64s,
    out_ts: Int64s, out_weight: Int64s,
) -> int:
    """SELECT DISTINCT k FROM a"""
    head, tail, mask, n = registers[0], registers[1], rings.shape[1] - 1, 0
    for i in range(len(left) + 1):
        limit = left[i, 0] if i < len(left) else now - 1
        while head < tail and rings[0, head & mask, 0] + size <= limit:
            row, key = head & mask, rings[0, head & mask, KEY]
            counts[key, 0] -= 1
            if counts[key, 0] == 0:
                n = _emit(out_rows, out_ts, out_weight, n, rings[0, row, 0] + size, -1, 1, key, 0, 0)
            head += 1
        if i < len(left):
            key = left[i, KEY]
            _enter(rings, 0, tail, left, i)
            tail += 1
            counts[key, 0] += 1
            if counts[key, 0] == 1:
                n = _emit(out_rows, out_ts, out_weight, n, limit, 1, 1, key, 0, 0)
    registers[0], registers[1] = head, tail
    return n


@kernel
def bare_union(
    left: Int64s, right: Int64s, size: int, now: int, registers: Int64s, rings: Int64s, counts: Int64s, out_rows: Int64s,
    out_ts: Int64s, out_weight: Int64s,
) -> int:
    """SELECT k, v FROM a UNION ALL SELECT k, v FROM b"""
    mask, i, j, n = rings.shape[1] - 1, 0, 0, 0
    l_head, l_tail, r_head, r_tail = registers[0], registers[1], registers[2], registers[3]
    while True:
        what, ts = _next(
            _leaving(rings, 0, l_head, l_tail, size), _leaving(rings, 1, r_head, r_tail, size),
            left[i, 0] if i < len(left) else FOREVER, right[j, 0] if j < len(right) else FOREVER,
        )
        if ts >= now:
            break
        if what == LEAVES_LEFT:
            row = l_head & mask
            n = _emit(out_rows, out_ts, out_weight, n, ts, -1, 2, rings[0, row, KEY], rings[0, row, VALUE], 0)
            l_head += 1
        elif what == LEAVES_RIGHT:
            row = r_head & mask
            n = _emit(out_rows, out_ts, out_weight, n, ts, -1, 2, rings[1, row, KEY], rings[1, row, VALUE], 0)
            r_head += 1
        elif what == COMES_LEFT:
            n = _emit(out_rows, out_ts, out_weight, n, ts, 1, 2, left[i, KEY], left[i, VALUE], 0)
            _enter(rings, 0, l_tail, left, i)
            l_tail, i = l_tail + 1, i + 1
        else:
            n = _emit(out_rows, out_ts, out_weight, n, ts, 1, 2, right[j, KEY], right[j, VALUE], 0)
            _enter(rings, 1, r_tail, right, j)
            r_tail, j = r_tail + 1, j + 1
    registers[0], registers[1], registers[2], registers[3] = l_head, l_tail, r_head, r_tail
    return n


@inlined
def _combine_two(
    left: Int64s, right: Int64s, size: int, now: int, registers: Int64s, rings: Int64s, counts: Int64s, out_rows: Int64s,
    out_ts: Int64s, out_weight: Int64s, is_except: int,
) -> int:
    mask, i, j, n = rings.shape[1] - 1, 0, 0, 0
    l_head, l_tail, r_head, r_tail = registers[0], registers[1], registers[2], registers[3]
    while True:
        what, ts = _next(
            _leaving(rings, 0, l_head, l_tail, size), _leaving(rings, 1, r_head, r_tail, size),
            left[i, 0] if i < len(left) else FOREVER, right[j, 0] if j < len(right) else FOREVER,
        )
        if ts >= now:
            break
        side, count = 0, 1
        if what == LEAVES_LEFT:
            key, count = rings[0, l_head & mask, KEY], -1
            l_head += 1
        elif what == LEAVES_RIGHT:
            key, side, count = rings[1, r_head & mask, KEY], 1, -1
            r_head += 1
        elif what == COMES_LEFT:
            key = left[i, KEY]
            _enter(rings, 0, l_tail, left, i)
            l_tail, i = l_tail + 1, i + 1
        else:
            key, side = right[j, KEY], 1
            _enter(rings, 1, r_tail, right, j)
            r_tail, j = r_tail + 1, j + 1
        before = max(0, counts[key, 0] - counts[key, 1]) if is_except else int(counts[key, 0] > 0 and counts[key, 1] > 0)
        counts[key, side] += count
        after = max(0, counts[key, 0] - counts[key, 1]) if is_except else int(counts[key, 0] > 0 and counts[key, 1] > 0)
        if after != before:
            n = _emit(out_rows, out_ts, out_weight, n, ts, after - before, 1, key, 0, 0)
    registers[0], registers[1], registers[2], registers[3] = l_head, l_tail, r_head, r_tail
    return n


@kernel
def bare_except(
    left: Int64s, right: Int64s, size: int, now: int, registers: Int64s, rings: Int64s, counts: Int64s, out_rows: Int64s,
    out_ts: Int64s, out_weight: Int64s,
) -> int:
    """SELECT k FROM a EXCEPT ALL SELECT k FROM b"""
    return _combine_two(left, right, size, now, registers, rings, counts, out_rows, out_ts, out_weight, 1)


@kernel
def bare_intersect(
    left: Int64s, right: Int64s, size: int, now: int, registers: Int64s, rings: Int64s, counts: Int64s, out_rows: Int64s,
    out_ts: Int64s, out_weight: Int64s,
) -> int:
    """SELECT k FROM a INTERSECT SELECT k FROM b"""
    return _combine_two(left, right, size, now, registers, rings, counts, out_rows, out_ts, out_weight, 0)


@inlined
def _pairs(
    side: int, key: int, value: int, head: int, weight: int, ts: int, rings: Int64s, counts: Int64s, out_rows: Int64s,
    out_ts: Int64s, out_weight: Int64s, n: int,
) -> int:
    """The pairs of a row of the other side with the rows of this one: its chain ends at the first row that has left."""
    mask = rings.shape[1] - 1
    row = counts[key, side] - 1
    while row >= head:
        partner = rings[side, row & mask, VALUE]
        l_value, r_value = (partner, value) if side == 0 else (value, partner)
        n = _emit(out_rows, out_ts, out_weight, n, ts, weight, 3, key, l_value, r_value)
        row = rings[side, row & mask, BEFORE]
    return n


@kernel
def bare_join(
    left: Int64s, right: Int64s, size: int, now: int, registers: Int64s, rings: Int64s, counts: Int64s, out_rows: Int64s,
    out_ts: Int64s, out_weight: Int64s,
) -> int:
    """SELECT a.k, a.v, b.v FROM a JOIN b ON a.k = b.k"""
    mask, i, j, n = rings.shape[1] - 1, 0, 0, 0
    l_head, l_tail, r_head, r_tail = registers[0], registers[1], registers[2], registers[3]
    while True:
        what, ts = _next(
            _leaving(rings, 0, l_head, l_tail, size), _leaving(rings, 1, r_head, r_tail, size),
            left[i, 0] if i < len(left) else FOREVER, right[j, 0] if j < len(right) else FOREVER,
        )
        if ts >= now:
            break
        if what == LEAVES_LEFT:
            key, value = rings[0, l_head & mask, KEY], rings[0, l_head & mask, VALUE]
            l_head += 1
            n = _pairs(1, key, value, r_head, -1, ts, rings, counts, out_rows, out_ts, out_weight, n)
        elif what == LEAVES_RIGHT:
            key, value = rings[1, r_head & mask, KEY], rings[1, r_head & mask, VALUE]
            r_head += 1
            n = _pairs(0, key, value, l_head, -1, ts, rings, counts, out_rows, out_ts, out_weight, n)
        elif what == COMES_LEFT:
            key = left[i, KEY]
            rings[0, _enter(rings, 0, l_tail, left, i), BEFORE] = counts[key, 0] - 1
            l_tail += 1
            counts[key, 0] = l_tail
            n = _pairs(1, key, left[i, VALUE], r_head, 1, ts, rings, counts, out_rows, out_ts, out_weight, n)
            i += 1
        else:
            key = right[j, KEY]
            rings[1, _enter(rings, 1, r_tail, right, j), BEFORE] = counts[key, 1] - 1
            r_tail += 1
            counts[key, 1] = r_tail
            n = _pairs(0, key, right[j, VALUE], l_head, 1, ts, rings, counts, out_rows, out_ts, out_weight, n)
            j += 1
    registers[0], registers[1], registers[2], registers[3] = l_head, l_tail, r_head, r_tail
    return n
