"""Join of two announced inputs: a message is passed on without a look at the other side (seed 000, algorithm 1).

    line   lanes of the row | expiry | weight | the row before it in its bucket | pairs that leave with it

A pair leaves with the first of its two rows; that row counts it. When time passes a row that has counted some, one message goes
on for all rows of that instant. Where both sides leave in the order they came, the rows passed are those at the head of the log;
elsewhere, and where one side is a table, the expiries of rows that have counted are in a table of their own (`heap`).
"""

from __future__ import annotations

from typing import NamedTuple

from sash.deltas import Int64s
from sash.kernels.bundles import Changes, Line, Lines, opened
from sash.kernels.compiling import inlined, kernel
from sash.kernels.hashing import equal_lanes
from sash.kernels.heap import push
from sash.kernels.pairs import CHAIN, LEFT, RIGHT, PairSide, PairSides, hash_sides, write_pair_of
from sash.kernels.row_log import EXPIRY, NOBODY, OLDEST, TAIL, WEIGHT, Log, enter_log, look_ahead, newest_alive, next_alive
from sash.kernels.rows import has_null
from sash.operators.expiry.kernels.messages import (
    LAST,
    MERGES,
    NOBODY_LEAVES,
    REACHED,
    SIZE,
    after_merging,
    greatest_due,
    write_message,
)
from sash.schema import FOREVER

PAIRS, EXTRA = 4, 5  # the last lane of a line, and how many there are after those of its row


class AnnouncedJoin(NamedTuple):
    """`joined` are registers of a list of instants, `heap` the list; one of one line means that there is none."""

    sides: PairSides
    left: Log
    right: Log
    joined: Line
    heap: Lines


open_announced_join = opened(AnnouncedJoin)


@inlined
def _pass(limit: int, width: int, log: Log) -> int:
    """Leave the rows at the head behind whose time has come; the last expiry of those that have pairs."""
    registers, lines = log.registers, log.lines
    found, mask, oldest = NOBODY_LEAVES, len(lines) - 1, registers[OLDEST]
    while oldest < registers[TAIL] and lines[oldest & mask, width + EXPIRY] <= limit:
        if lines[oldest & mask, width + PAIRS]:
            found = lines[oldest & mask, width + EXPIRY]
        oldest += 1
    registers[OLDEST] = oldest
    return found


@inlined
def _count_pair(
    expiry: int, own_line: int, own_width: int, own: Int64s, line: int, width: int, lines: Int64s, joined: Int64s, heap: Int64s
) -> None:
    """The row that leaves first counts the pair; the first one that it counts goes into the table."""
    if lines[line, width + EXPIRY] < expiry:
        expiry = lines[line, width + EXPIRY]
        lines[line, width + PAIRS] += 1
        is_first = lines[line, width + PAIRS] == 1
    else:
        own[own_line, own_width + PAIRS] += 1
        is_first = own[own_line, own_width + PAIRS] == 1
    if is_first and len(heap) > 1 and expiry != FOREVER:
        push(heap, joined[SIZE], expiry, 0)
        joined[SIZE] += 1


@inlined
def _meet_announced(
    is_left: int, changes: Changes, i: int, row: int, own: PairSide, own_log: Log, other: PairSide, log: Log,
    join: AnnouncedJoin, out: Changes, n: int,
) -> tuple[int, int]:
    """A row comes, or goes on with a row of the other side. Where the output ends, and with whom to go on once there is room."""
    now, weight, expiry, own_width, width = changes.ts[i], changes.weight[i], changes.expiry[i], len(own.masks), len(other.masks)
    mask, lines = len(own_log.lines) - 1, log.lines
    if weight != 0 and row == NOBODY and not has_null(changes.rows, i, own.masks):
        look_ahead(own.hashes, i, len(changes.ts), width, own_log.table, log)
        enter_log(changes.rows, i, expiry, weight, own.hashes[i], own_log)
        own_log.lines[(own_log.registers[TAIL] - 1) & mask, own_width + PAIRS] = 0
        row = newest_alive(own.hashes[i], now, width, log)
    own_line = (own_log.registers[TAIL] - 1) & mask
    while row != NOBODY:
        line = row & (len(lines) - 1)
        if equal_lanes(changes.rows, i, own.lanes, lines, line, other.lanes):
            if n == len(out.ts):
                return n, row
            n = after_merging(join.joined, out.weight, n)
            write_pair_of(is_left, changes.rows, i, own_width, lines, line, width, join.sides.shape, out.rows, n)
            out.ts[n] = now
            out.expiry[n] = min(expiry, lines[line, width + EXPIRY])
            out.weight[n] = weight * lines[line, width + WEIGHT]
            n += 1
            _count_pair(expiry, own_line, own_width, own_log.lines, line, width, lines, join.joined, join.heap)
        row = next_alive(row, now, width, log)
    return n, NOBODY


@kernel
def join_announced(
    l_rows: Int64s, l_ts: Int64s, l_expiry: Int64s, l_weight: Int64s, r_rows: Int64s, r_ts: Int64s, r_expiry: Int64s,
    r_weight: Int64s, record: Int64s, out_rows: Int64s, out_ts: Int64s, out_expiry: Int64s, out_weight: Int64s,
) -> int:
    """Pairs and messages."""
    left, right = Changes(l_rows, l_ts, l_expiry, l_weight), Changes(r_rows, r_ts, r_expiry, r_weight)
    out, join = Changes(out_rows, out_ts, out_expiry, out_weight), open_announced_join(record)
    sides, joined, heap, cursor = join.sides, join.joined, join.heap, join.sides.cursor
    hash_sides(left, right, sides)
    n, row = 0, cursor[CHAIN] - 1
    while cursor[LEFT] < len(l_ts) or cursor[RIGHT] < len(r_ts):
        i, j = cursor[LEFT], cursor[RIGHT]
        is_left = j >= len(r_ts)
        if i < len(l_ts) and j < len(r_ts):  # at one instant messages come first
            is_left = l_ts[i] < r_ts[j] or (l_ts[i] == r_ts[j] and (l_weight[i] == 0 or r_weight[j] != 0))
        now, weight = (l_ts[i], l_weight[i]) if is_left else (r_ts[j], r_weight[j])
        if row == NOBODY:
            if n == len(out_ts):
                break
            if weight == 0 or joined[MERGES]:
                due = max(_pass(now, len(sides.left.masks), join.left), _pass(now, len(sides.right.masks), join.right))
                if len(heap) > 1:
                    due = greatest_due(now, joined, heap)
                if due != NOBODY_LEAVES and due > joined[LAST]:
                    joined[LAST] = due
                    n = after_merging(joined, out_weight, n)
                    write_message(due, sides.shape[0] + sides.shape[1], out, n)
                    n += 1
            joined[REACHED] = now
        if is_left:
            n, row = _meet_announced(1, left, i, row, sides.left, join.left, sides.right, join.right, join, out, n)
            cursor[LEFT] += row == NOBODY
        else:
            n, row = _meet_announced(0, right, j, row, sides.right, join.right, sides.left, join.left, join, out, n)
            cursor[RIGHT] += row == NOBODY
        if row != NOBODY:
            break
    cursor[CHAIN] = row + 1
    return n
