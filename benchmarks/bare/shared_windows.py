"""The bare loop that joins two streams over many windows at once: one ring per side, one walk for all windows.

Windows are as long on both sides, the shortest first. (`loops.py` says what a bare loop is.)
"""

from __future__ import annotations

from benchmarks.bare.loops import BEFORE, KEY, NUMBER, VALUE, emit, enter_ring, line_of
from sash.deltas import Int64s
from sash.kernels.compiling import inlined, kernel
from sash.kernels.prefetching import FAR, NEAR, NEXT, prefetch
from sash.schema import FOREVER

LEFT_TAIL, RIGHT_TAIL = 0, 1  # registers


@inlined
def _head(rings: Int64s, side: int, window: int, sizes: Int64s, heads: Int64s, tail: int) -> int:
    """When the oldest row of a window leaves."""
    row = heads[window, side]
    return rings[line_of(rings, side, row), 0] + sizes[window] if row < tail else FOREVER


@inlined
def _pair(
    side: int, row: int, key: int, value: int, sign: int, ts: int, window: int, rings: Int64s, out_rows: Int64s, out_ts: Int64s,
    out_weight: Int64s, counts: Int64s,
) -> None:
    """One pair, with a row of a side, for one window."""
    met = rings[line_of(rings, side, row), VALUE]
    left, right = (value, met) if side == 1 else (met, value)
    counts[window] = emit(
        out_rows[window], out_ts[window], out_weight[window], counts[window], ts, sign, 3, key, left, right
    )


@inlined
def _leave_windows(
    until: int, sizes: Int64s, heads: Int64s, tails: Int64s, newest: Int64s, rings: Int64s, out_rows: Int64s, out_ts: Int64s,
    out_weight: Int64s, counts: Int64s,
) -> None:
    for window in range(len(sizes)):
        while True:
            from_left = _head(rings, 0, window, sizes, heads, tails[LEFT_TAIL])
            from_right = _head(rings, 1, window, sizes, heads, tails[RIGHT_TAIL])
            ts, side = min(from_left, from_right), int(from_left > from_right)
            if ts > until:
                break
            if heads[window, side] + NEAR < tails[side]:
                later = rings[line_of(rings, side, heads[window, side] + NEAR), NUMBER]
                prefetch(newest, later)
                soon = rings[line_of(rings, side, heads[window, side] + NEXT), NUMBER]
                prefetch(rings, line_of(rings, 1 - side, newest[soon, 1 - side] - 1))
            line = line_of(rings, side, heads[window, side])
            heads[window, side] += 1
            row = newest[rings[line, NUMBER], 1 - side] - 1
            while row >= heads[window, 1 - side]:
                key, value = rings[line, KEY], rings[line, VALUE]
                _pair(1 - side, row, key, value, -1, ts, window, rings, out_rows, out_ts, out_weight, counts)
                row = rings[line_of(rings, 1 - side, row), BEFORE]


@inlined
def _come(
    side: int, rows: Int64s, i: int, numbers: Int64s, sizes: Int64s, heads: Int64s, tails: Int64s, newest: Int64s, rings: Int64s,
    out_rows: Int64s, out_ts: Int64s, out_weight: Int64s, counts: Int64s,
) -> None:
    if i + FAR < len(rows):
        prefetch(newest, numbers[i + FAR])
        prefetch(rings, line_of(rings, 1 - side, newest[numbers[i + NEAR], 1 - side] - 1))
        soon = line_of(rings, 1 - side, newest[numbers[i + NEXT], 1 - side] - 1)
        prefetch(rings, line_of(rings, 1 - side, rings[soon, BEFORE]))
    number, last = numbers[i], len(sizes) - 1
    rings[enter_ring(rings, side, tails[side], rows, i, number), BEFORE] = newest[number, side] - 1
    tails[side] += 1
    newest[number, side] = tails[side]
    row, first = newest[number, 1 - side] - 1, 0
    while row >= heads[last, 1 - side]:
        while row < heads[first, 1 - side]:
            first += 1
        for window in range(first, last + 1):
            _pair(1 - side, row, rows[i, KEY], rows[i, VALUE], 1, rows[i, 0], window, rings, out_rows, out_ts, out_weight, counts)
        row = rings[line_of(rings, 1 - side, row), BEFORE]


@kernel
def bare_shared_join(
    left: Int64s, right: Int64s, l_numbers: Int64s, r_numbers: Int64s, sizes: Int64s, now: int, heads: Int64s, tails: Int64s,
    newest: Int64s, rings: Int64s, out_rows: Int64s, out_ts: Int64s, out_weight: Int64s, counts: Int64s,
) -> None:
    """SELECT a.k, a.v, b.v FROM a JOIN b ON a.k = b.k, over windows of all sizes."""
    i, j = 0, 0
    while True:
        comes_left = left[i, 0] if i < len(left) else FOREVER
        comes_right = right[j, 0] if j < len(right) else FOREVER
        comes = min(comes_left, comes_right)
        _leave_windows(min(comes, now - 1), sizes, heads, tails, newest, rings, out_rows, out_ts, out_weight, counts)
        if comes == FOREVER:
            break
        if comes_left <= comes_right:
            _come(0, left, i, l_numbers, sizes, heads, tails, newest, rings, out_rows, out_ts, out_weight, counts)
            i += 1
        else:
            _come(1, right, j, r_numbers, sizes, heads, tails, newest, rings, out_rows, out_ts, out_weight, counts)
            j += 1
