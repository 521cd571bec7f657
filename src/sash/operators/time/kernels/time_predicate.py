"""Rows that change when instants come which they name.

    row with instants 3 and 7        in at 1: (no, no)      at 3: - (no, no) + (yes, no)      at 7: - (yes, no) + (yes, yes)

A row waits in a tree, by the next of its instants; after the last it is not kept. A row that leaves is taken out of the tree
again: what it waits for can be told from itself and the time.
"""

from __future__ import annotations

from typing import NamedTuple

from sash.deltas import Int64s
from sash.kernels.bundles import Line, Lines, SignedChanges, opened
from sash.kernels.compiling import inlined, kernel
from sash.kernels.tree import COUNT, LEFT
from sash.operators.top.kernels import RankedRows, change_tree, leave
from sash.schema import FOREVER


class WaitingRows(NamedTuple):
    """`places` has a line for every instant of a row: its lane, the lane of its mask, its bit. What is stored has one lane more
    than the rows, the next instant; `line` is one such row to work with. `root` is that of the one tree.
    """

    kept: RankedRows
    places: Lines
    shape: Line
    line: Lines
    root: Line


open_waiting_rows = opened(WaitingRows)


@kernel
def reach(
    rows: Int64s, ts: Int64s, weight: Int64s, now: int, cursor: Int64s, record: Int64s, out_rows: Int64s, out_ts: Int64s,
    out_weight: Int64s,
) -> int:
    """Changes and instants in the order of time, up to `now`; `cursor` says before which change a full output stopped."""
    waiting, out, n = open_waiting_rows(record), SignedChanges(out_rows, out_ts, out_weight), 0
    stored, nodes, line = waiting.kept.ranked.tree.stored, waiting.kept.ranked.tree.nodes, waiting.line
    while cursor[0] <= len(ts):
        i = cursor[0]
        limit = ts[i] if i < len(ts) else now - 1
        node = waiting.root[0]
        while node and nodes[node, LEFT]:
            node = nodes[node, LEFT]
        if n + 2 > len(out_ts):
            return n
        if node and stored[node, stored.shape[1] - 1] <= limit:
            n = _pass_instant(node, waiting, out, n)
            continue
        cursor[0] = i + 1
        if i == len(ts):
            break
        for lane in range(rows.shape[1]):
            line[0, lane] = rows[i, lane]
        _write(line, ts[i], waiting.places, waiting.shape, out_rows, n)
        out_ts[n], out_weight[n] = ts[i], weight[i]
        n += 1
        _wait(ts[i], weight[i], waiting)
    return n


@inlined
def _pass_instant(node: int, waiting: WaitingRows, out: SignedChanges, n: int) -> int:
    """The instant that a node waits for comes: its rows leave as they were, and come as they are."""
    ranked, line = waiting.kept.ranked, waiting.line
    count = ranked.tree.nodes[node, COUNT]
    for lane in range(line.shape[1]):
        line[0, lane] = ranked.tree.stored[node, lane]
    instant = line[0, line.shape[1] - 1]
    waiting.root[0] = leave(node, count, waiting.root[0], ranked)
    for after in range(2):
        _write(line, instant - 1 + after, waiting.places, waiting.shape, out.rows, n)
        out.ts[n], out.weight[n] = instant, count if after else -count
        n += 1
    _wait(instant, count, waiting)
    return n


@inlined
def _wait(now: int, weight: int, waiting: WaitingRows) -> None:
    """Put the row at hand into the tree, or take it out, by the first of its instants after `now`, if there is one."""
    line, places, instant = waiting.line, waiting.places, FOREVER
    for k in range(len(places)):
        value = line[0, places[k, 0]]
        if (line[0, places[k, 1]] >> places[k, 2]) & 1 == 0 and now < value < instant:
            instant = value
    if instant != FOREVER:
        line[0, line.shape[1] - 1] = instant
        kept = waiting.kept
        waiting.root[0] = change_tree(line, 0, weight, waiting.root[0], kept.ranked, kept.orders, kept.strings)


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
