"""Join of two announced inputs: a message is passed on without a look at the other side (seed 000, algorithm 1).

    line   lanes of the row | expiry | weight | the row before it in its bucket | pairs that leave with it

A pair leaves with the first of its two rows; that row counts it. When time passes a row that has counted some, one message goes
on for all rows of that instant. Where both sides leave in the order they came, the rows passed are those at the head of the log;
elsewhere, and where one side is a table, the expiries of rows that have counted are in a table of their own (`heap`).
"""

from __future__ import annotations

from sash.deltas import Int64s
from sash.kernels.compiling import inlined, kernel
from sash.kernels.hashing import equal_lanes
from sash.kernels.heap import push
from sash.kernels.pairs import CHAIN, LEFT, RIGHT, write_pair
from sash.kernels.row_log import EXPIRY, NOBODY, OLDEST, TAIL, WEIGHT, enter_log, look_ahead, newest_alive, next_alive
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


@inlined
def _pass(limit: int, width: int, registers: Int64s, lines: Int64s) -> int:
    """Leave the rows at the head behind whose time has come; the last expiry of those that have pairs."""
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


@kernel
def join_announced(
    l_rows: Int64s, l_ts: Int64s, l_expiry: Int64s, l_weight: Int64s, l_hashes: Int64s, r_rows: Int64s, r_ts: Int64s,
    r_expiry: Int64s, r_weight: Int64s, r_hashes: Int64s, l_lanes: Int64s, r_lanes: Int64s, l_masks: Int64s, r_masks: Int64s,
    shape: Int64s, cursor: Int64s, l_registers: Int64s, l_lines: Int64s, l_table: Int64s, r_registers: Int64s, r_lines: Int64s,
    r_table: Int64s, joined: Int64s, heap: Int64s, out_rows: Int64s, out_ts: Int64s, out_expiry: Int64s, out_weight: Int64s,
) -> int:
    """Pairs and messages; a heap of one line means that there is none."""
    l_width, r_width, n = l_rows.shape[1], r_rows.shape[1], 0
    while cursor[LEFT] < len(l_ts) or cursor[RIGHT] < len(r_ts):
        i, j, row = cursor[LEFT], cursor[RIGHT], cursor[CHAIN] - 1
        is_left = j >= len(r_ts)
        if i < len(l_ts) and j < len(r_ts):  # at one instant messages come first
            is_left = l_ts[i] < r_ts[j] or (l_ts[i] == r_ts[j] and (l_weight[i] == 0 or r_weight[j] != 0))
        now, weight = (l_ts[i], l_weight[i]) if is_left else (r_ts[j], r_weight[j])
        if cursor[CHAIN] == 0:
            if n == len(out_ts):
                return n
            if weight == 0 or joined[MERGES]:
                due = max(_pass(now, l_width, l_registers, l_lines), _pass(now, r_width, r_registers, r_lines))
                if len(heap) > 1:
                    due = greatest_due(now, joined, heap)
                if due != NOBODY_LEAVES and due > joined[LAST]:
                    joined[LAST] = due
                    n = after_merging(joined, out_weight, n)
                    write_message(due, shape[0] + shape[1], out_rows, out_ts, out_expiry, out_weight, n)
                    n += 1
            joined[REACHED] = now
        if is_left:
            if weight != 0 and cursor[CHAIN] == 0 and not has_null(l_rows, i, l_masks):
                look_ahead(l_hashes, i, r_width, l_table, r_table, r_lines)
                enter_log(l_rows, i, l_expiry[i], weight, l_hashes[i], l_registers, l_lines, l_table)
                l_lines[(l_registers[TAIL] - 1) & (len(l_lines) - 1), l_width + PAIRS] = 0
                row = newest_alive(l_hashes[i], now, r_width, r_registers[OLDEST], r_lines, r_table)
            own = (l_registers[TAIL] - 1) & (len(l_lines) - 1)
            while row != NOBODY:
                line = row & (len(r_lines) - 1)
                if equal_lanes(l_rows, i, l_lanes, r_lines, line, r_lanes):
                    if n == len(out_ts):
                        cursor[CHAIN] = row + 1
                        return n
                    n = after_merging(joined, out_weight, n)
                    write_pair(l_rows, i, l_width, r_lines, line, r_width, shape, out_rows, n)
                    out_ts[n] = now
                    out_expiry[n] = min(l_expiry[i], r_lines[line, r_width + EXPIRY])
                    out_weight[n] = weight * r_lines[line, r_width + WEIGHT]
                    n += 1
                    _count_pair(l_expiry[i], own, l_width, l_lines, line, r_width, r_lines, joined, heap)
                row = next_alive(row, now, r_width, r_registers[OLDEST], r_lines)
            cursor[LEFT] += 1
        else:
            if weight != 0 and cursor[CHAIN] == 0 and not has_null(r_rows, j, r_masks):
                look_ahead(r_hashes, j, l_width, r_table, l_table, l_lines)
                enter_log(r_rows, j, r_expiry[j], weight, r_hashes[j], r_registers, r_lines, r_table)
                r_lines[(r_registers[TAIL] - 1) & (len(r_lines) - 1), r_width + PAIRS] = 0
                row = newest_alive(r_hashes[j], now, l_width, l_registers[OLDEST], l_lines, l_table)
            own = (r_registers[TAIL] - 1) & (len(r_lines) - 1)
            while row != NOBODY:
                line = row & (len(l_lines) - 1)
                if equal_lanes(r_rows, j, r_lanes, l_lines, line, l_lanes):
                    if n == len(out_ts):
                        cursor[CHAIN] = row + 1
                        return n
                    n = after_merging(joined, out_weight, n)
                    write_pair(l_lines, line, l_width, r_rows, j, r_width, shape, out_rows, n)
                    out_ts[n] = now
                    out_expiry[n] = min(r_expiry[j], l_lines[line, l_width + EXPIRY])
                    out_weight[n] = weight * l_lines[line, l_width + WEIGHT]
                    n += 1
                    _count_pair(r_expiry[j], own, r_width, r_lines, line, l_width, l_lines, joined, heap)
                row = next_alive(row, now, l_width, l_registers[OLDEST], l_lines)
            cursor[RIGHT] += 1
        cursor[CHAIN] = 0
    return n
