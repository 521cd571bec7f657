"""Rows that change when instants come which they name.

    row with instants 3 and 7        in at 1: (no, no)      at 3: - (no, no) + (yes, no)      at 7: - (yes, no) + (yes, yes)

A row waits in a tree, by the next of its instants; after the last it is not kept. A row that leaves is taken out of the tree
again: what it waits for can be told from itself and the time.
"""

from __future__ import annotations

from sash.deltas import Int64s
from sash.kernels.compiling import inlined, kernel
from sash.kernels.rows import Bytes
from sash.kernels.tree import COUNT, LEFT, find_row
from sash.operators.top.kernels import enter, leave
from sash.schema import FOREVER


@kernel
def reach(
    rows: Int64s, ts: Int64s, weight: Int64s, now: int, cursor: Int64s, places: Int64s, shape: Int64s, line: Int64s,
    orders: Int64s, registers: Int64s, root_of: Int64s, stored: Int64s, nodes: Int64s, starts: Int64s, lengths: Int64s,
    heap: Bytes, out_rows: Int64s, out_ts: Int64s, out_weight: Int64s,
) -> int:
    """Changes and instants in the order of time, up to `now`; `cursor` says before which change a full output stopped.

    `places` has a line for every instant of a row: its lane, the lane of its mask, its bit. `stored` has one lane more than the
    rows, the next instant; `line` is one such row to work with.
    """
    n = 0
    while cursor[0] <= len(ts):
        i = cursor[0]
        limit = ts[i] if i < len(ts) else now - 1
        node = root_of[0]
        while node and nodes[node, LEFT]:
            node = nodes[node, LEFT]
        if n + 2 > len(out_ts):
            return n
        if node and stored[node, stored.shape[1] - 1] <= limit:
            n = _pass_instant(
                node, places, shape, line, orders, registers, root_of, stored, nodes, starts, lengths, heap, out_rows, out_ts,
                out_weight, n,
            )
            continue
        cursor[0] = i + 1
        if i == len(ts):
            break
        for lane in range(rows.shape[1]):
            line[0, lane] = rows[i, lane]
        _write(line, ts[i], places, shape, out_rows, n)
        out_ts[n], out_weight[n] = ts[i], weight[i]
        n += 1
        _wait(line, ts[i], weight[i], places, orders, registers, root_of, stored, nodes, starts, lengths, heap)
    return n


@kernel
def _pass_instant(
    node: int, places: Int64s, shape: Int64s, line: Int64s, orders: Int64s, registers: Int64s, root_of: Int64s, stored: Int64s,
    nodes: Int64s, starts: Int64s, lengths: Int64s, heap: Bytes, out_rows: Int64s, out_ts: Int64s, out_weight: Int64s, n: int,
) -> int:
    """The instant that a node waits for comes: its rows leave as they were, and come as they are."""
    count = nodes[node, COUNT]
    for lane in range(line.shape[1]):
        line[0, lane] = stored[node, lane]
    instant = line[0, line.shape[1] - 1]
    root_of[0] = leave(node, count, root_of[0], registers, nodes)
    for after in range(2):
        _write(line, instant - 1 + after, places, shape, out_rows, n)
        out_ts[n], out_weight[n] = instant, count if after else -count
        n += 1
    _wait(line, instant, count, places, orders, registers, root_of, stored, nodes, starts, lengths, heap)
    return n


@kernel
def _wait(
    line: Int64s, now: int, weight: int, places: Int64s, orders: Int64s, registers: Int64s, root_of: Int64s, stored: Int64s,
    nodes: Int64s, starts: Int64s, lengths: Int64s, heap: Bytes,
) -> None:
    """Put a row into the tree, or take it out, by the first of its instants after `now`, if there is one."""
    instant = FOREVER
    for k in range(len(places)):
        value = line[0, places[k, 0]]
        if (line[0, places[k, 1]] >> places[k, 2]) & 1 == 0 and now < value < instant:
            instant = value
    if instant == FOREVER:
        return
    line[0, line.shape[1] - 1] = instant
    node, _, parent, order = find_row(line, 0, stored, nodes, root_of[0], orders, starts, lengths, heap)
    if weight > 0:
        root_of[0] = enter(line, 0, weight, node, parent, order, root_of[0], registers, stored, nodes)
    elif node:
        root_of[0] = leave(node, -weight, root_of[0], registers, nodes)


@inlined
def _write(line: Int64s, now: int, places: Int64s, shape: Int64s, out_rows: Int64s, n: int) -> None:
    """The row with what is reached at an instant. `shape` holds: value lanes of a row, its lanes, its columns."""
    values, width, columns = shape[0], shape[1], shape[2]
    for lane in range(values):
        out_rows[n, lane] = line[0, lane]
    masks = values + len(places)
    for lane in range(masks, out_rows.shape[1]):
        source = values + lane - masks
        out_rows[n, lane] = line[0, source] if source < width else 0
    for k in range(len(places)):
        is_null = (line[0, places[k, 1]] >> places[k, 2]) & 1
        out_rows[n, values + k] = 1 if is_null == 0 and line[0, places[k, 0]] <= now else 0
        out_rows[n, masks + (columns + k) // 32] |= is_null << (columns + k) % 32
