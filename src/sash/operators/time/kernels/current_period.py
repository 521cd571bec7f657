"""Rows that show the time: when the current second, hour or day began.

    period of 2, row in at 3        at 3: + (row, 2)      at 4: - (row, 2) + (row, 4)      at 6: - (row, 4) + (row, 6)

All rows are in a bag (`bag.py` draws it). While it is empty, periods pass unseen.
"""

from __future__ import annotations

from sash.deltas import Int64s
from sash.kernels.bag import COUNT, LIVE, USED, change_count
from sash.kernels.compiling import inlined, kernel

LENGTH, PHASE = 0, 1  # of a period
# The cursor: the next change; while a period ends, the next row of the bag to be shown again, or NOBODY, and when that is.
PLACE, NODE, INSTANT = 0, 1, 2
NOBODY = -1


@kernel
def tick(
    rows: Int64s, ts: Int64s, weight: Int64s, now: int, cursor: Int64s, periods: Int64s, current: Int64s, following: Int64s,
    shape: Int64s, lanes: Int64s, tags: Int64s, registers: Int64s, table: Int64s, nodes: Int64s, free: Int64s, out_rows: Int64s,
    out_ts: Int64s, out_weight: Int64s,
) -> int:
    """Changes and ends of periods in the order of time, up to `now`, until the output is full; all is done when PLACE is past
    the changes. `current` says when each of the periods began; `shape` holds the value lanes of a row, and its lanes.
    """
    n = 0
    while cursor[PLACE] <= len(ts):
        i = cursor[PLACE]
        if cursor[NODE] != NOBODY:
            n = _show_again(cursor, current, following, shape, registers, nodes, out_rows, out_ts, out_weight, n)
            if cursor[NODE] != NOBODY:
                return n
        limit = ts[i] if i < len(ts) else now - 1
        instant = _next_end(periods, current)
        if instant <= limit and registers[LIVE] == 0:
            _move(limit, periods, current)
        elif instant <= limit:
            _move(instant, periods, following)
            cursor[NODE], cursor[INSTANT] = 0, instant
        elif i == len(ts):
            cursor[PLACE] = i + 1
        elif n == len(out_ts):
            return n
        else:
            _write(rows, i, current, shape, out_rows, n)
            out_ts[n], out_weight[n] = ts[i], weight[i]
            n += 1
            change_count(rows, i, weight[i], lanes, tags[i], registers, table, nodes, free)
            cursor[PLACE] = i + 1
    return n


@kernel
def _show_again(
    cursor: Int64s, current: Int64s, following: Int64s, shape: Int64s, registers: Int64s, nodes: Int64s, out_rows: Int64s,
    out_ts: Int64s, out_weight: Int64s, n: int,
) -> int:
    """A period ends: all rows leave as they were, and come as they are; as many of them as there is room for."""
    count = shape[1] + COUNT
    for node in range(cursor[NODE], registers[USED]):
        if nodes[node, count] == 0:
            continue
        if n + 2 > len(out_ts):
            cursor[NODE] = node
            return n
        _write(nodes, node, current, shape, out_rows, n)
        out_ts[n], out_weight[n] = cursor[INSTANT], -nodes[node, count]
        _write(nodes, node, following, shape, out_rows, n + 1)
        out_ts[n + 1], out_weight[n + 1] = cursor[INSTANT], nodes[node, count]
        n += 2
    for k in range(len(current)):
        current[k] = following[k]
    cursor[NODE] = NOBODY
    return n


@inlined
def _next_end(periods: Int64s, current: Int64s) -> int:
    """When the first of the current periods ends."""
    instant = current[0] + periods[0, LENGTH]
    for k in range(1, len(current)):
        instant = min(instant, current[k] + periods[k, LENGTH])
    return instant


@inlined
def _move(instant: int, periods: Int64s, current: Int64s) -> None:
    """The periods in which an instant lies."""
    for k in range(len(current)):
        current[k] = instant - (instant + periods[k, PHASE]) % periods[k, LENGTH]


@inlined
def _write(source: Int64s, i: int, current: Int64s, shape: Int64s, out_rows: Int64s, n: int) -> None:
    """Row i with when the periods began."""
    values, width = shape[0], shape[1]
    for lane in range(values):
        out_rows[n, lane] = source[i, lane]
    for k in range(len(current)):
        out_rows[n, values + k] = current[k]
    masks = values + len(current)
    for lane in range(masks, out_rows.shape[1]):
        place = values + lane - masks
        out_rows[n, lane] = source[i, place] if place < width else 0
