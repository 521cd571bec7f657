"""Join of two windows that also says when pairs leave, without keeping any.

    arrivals      left  ·   ·       ·            each is paired with the rows of the other side that are alive
    expirations   left           ·  ·            each again with those that it was, or came to be, paired with and that still live

Rows leave a log in the order they came, so the next one to leave is at its head. At one instant what leaves comes first; when
both rows of a pair leave together, the left one takes it along.
"""

from __future__ import annotations

from sash.deltas import Int64s
from sash.kernels.compiling import inlined, kernel
from sash.kernels.hashing import equal_lanes
from sash.kernels.join import (
    CHAIN,
    EXPIRY,
    HASH,
    LEFT,
    NOBODY,
    OLDEST,
    PREVIOUS,
    RIGHT,
    TAIL,
    WEIGHT,
    look_ahead,
)
from sash.kernels.merging import COUNT, enter_merging, has_met, leave_merging, newest_counting, next_counting, standing_for
from sash.kernels.prefetching import prefetch
from sash.kernels.rows import has_null
from sash.schema import FOREVER

SOON = 6  # rows from one thing that is made ready for those to leave to the next


@inlined
def head_expiry(width: int, registers: Int64s, lines: Int64s) -> int:
    if registers[OLDEST] == registers[TAIL]:
        return FOREVER
    return lines[registers[OLDEST] & (len(lines) - 1), width + EXPIRY]


@inlined
def write_columns(
    left: Int64s, i: int, l_values: int, l_width: int, right: Int64s, j: int, r_values: int, r_width: int, lanes: Int64s,
    bits: Int64s, values: int, out: Int64s, n: int,
) -> None:
    """`lanes` has lines (is right, from, to), `bits` lines (is right, from lane, bit, to lane, bit). Most pairs have no NULL."""
    for k in range(len(lanes)):
        out[n, lanes[k, 2]] = right[j, lanes[k, 1]] if lanes[k, 0] else left[i, lanes[k, 1]]
    nulls = 0
    for lane in range(values, out.shape[1]):
        out[n, lane] = 0
    for lane in range(l_values, l_width):
        nulls |= left[i, lane]
    for lane in range(r_values, r_width):
        nulls |= right[j, lane]
    if nulls:
        for k in range(len(bits)):
            mask = right[j, bits[k, 1]] if bits[k, 0] else left[i, bits[k, 1]]
            out[n, bits[k, 3]] |= (mask >> bits[k, 2] & 1) << bits[k, 4]


@inlined
def make_ready(width: int, registers: Int64s, lines: Int64s, table: Int64s, other_width: int, others: Int64s) -> None:
    """Ask for what rows that will leave soon need: the bucket of a later one, of an earlier one the newest row in it, and of one
    still earlier the row before that.
    """
    mask, last, other_mask, row = len(lines) - 1, len(table) - 1, len(others) - 1, registers[OLDEST] + SOON
    if row + 2 * SOON < registers[TAIL]:
        prefetch(table, lines[(row + 2 * SOON) & mask, width + HASH] & last)
        prefetch(others, (table[lines[(row + SOON) & mask, width + HASH] & last] - 1) & other_mask)
        newest = (table[lines[row & mask, width + HASH] & last] - 1) & other_mask
        prefetch(others, others[newest, other_width + PREVIOUS] & other_mask)


@kernel
def join_leaving(
    l_rows: Int64s, l_ts: Int64s, l_expiry: Int64s, l_weight: Int64s, l_hashes: Int64s, r_rows: Int64s, r_ts: Int64s,
    r_expiry: Int64s, r_weight: Int64s, r_hashes: Int64s, now: int, l_lanes: Int64s, r_lanes: Int64s, l_masks: Int64s,
    r_masks: Int64s, l_whole: Int64s, r_whole: Int64s, lanes: Int64s, bits: Int64s, shape: Int64s, cursor: Int64s,
    l_registers: Int64s, l_lines: Int64s, l_table: Int64s, l_copies: Int64s, r_registers: Int64s, r_lines: Int64s,
    r_table: Int64s, r_copies: Int64s, out_rows: Int64s, out_ts: Int64s, out_weight: Int64s,
) -> int:
    """`shape` holds the numbers of value lanes: left, right, out. Stops when its output is full, with `cursor` at the event at
    hand; is through when all arrivals, and all rows that leave before `now`, are.
    """
    l_width, r_width, n = l_rows.shape[1], r_rows.shape[1], 0
    l_values, r_values, values = shape[0], shape[1], shape[2]
    while True:
        i, j, row, met = cursor[LEFT], cursor[RIGHT], cursor[CHAIN] - 1, 0
        arrives_left = l_ts[i] if i < len(l_ts) else FOREVER
        arrives_right = r_ts[j] if j < len(r_ts) else FOREVER
        leaves_left, leaves_right = head_expiry(l_width, l_registers, l_lines), head_expiry(r_width, r_registers, r_lines)
        leaves, arrives = min(leaves_left, leaves_right), min(arrives_left, arrives_right)
        if leaves < now and leaves <= arrives:
            if leaves_left <= leaves_right:
                line = l_registers[OLDEST] & (len(l_lines) - 1)
                if cursor[CHAIN] == 0:
                    make_ready(l_width, l_registers, l_lines, r_table, r_width, r_lines)
                    hash_ = l_lines[standing_for(l_registers[OLDEST], l_width, l_lines), l_width + HASH]
                    row = newest_counting(hash_, leaves - 1, r_width, r_registers[OLDEST], r_lines, r_table)
                while row != NOBODY:
                    other = row & (len(r_lines) - 1)
                    if equal_lanes(l_lines, line, l_lanes, r_lines, other, r_lanes):
                        if n == len(out_ts):
                            cursor[CHAIN] = row + 1
                            return n
                        write_columns(
                            l_lines, line, l_values, l_width, r_lines, other, r_values, r_width, lanes, bits, values, out_rows, n
                        )
                        out_ts[n] = leaves
                        out_weight[n] = -l_lines[line, l_width + WEIGHT] * r_lines[other, r_width + COUNT]
                        met += r_lines[other, r_width + COUNT]
                        n += 1
                    row = next_counting(row, leaves - 1, r_width, r_registers[OLDEST], r_lines)
                leave_merging(l_width, l_registers, l_lines)
                has_met(r_registers, met)
            else:
                line = r_registers[OLDEST] & (len(r_lines) - 1)
                if cursor[CHAIN] == 0:
                    make_ready(r_width, r_registers, r_lines, l_table, l_width, l_lines)
                    hash_ = r_lines[standing_for(r_registers[OLDEST], r_width, r_lines), r_width + HASH]
                    row = newest_counting(hash_, leaves - 1, l_width, l_registers[OLDEST], l_lines, l_table)
                while row != NOBODY:
                    other = row & (len(l_lines) - 1)
                    if equal_lanes(r_lines, line, r_lanes, l_lines, other, l_lanes):
                        if n == len(out_ts):
                            cursor[CHAIN] = row + 1
                            return n
                        write_columns(
                            l_lines, other, l_values, l_width, r_lines, line, r_values, r_width, lanes, bits, values, out_rows, n
                        )
                        out_ts[n] = leaves
                        out_weight[n] = -r_lines[line, r_width + WEIGHT] * l_lines[other, l_width + COUNT]
                        met += l_lines[other, l_width + COUNT]
                        n += 1
                    row = next_counting(row, leaves - 1, l_width, l_registers[OLDEST], l_lines)
                leave_merging(r_width, r_registers, r_lines)
                has_met(l_registers, met)
        elif arrives == FOREVER:
            return n
        elif arrives_left <= arrives_right:
            if cursor[CHAIN] == 0 and not has_null(l_rows, i, l_masks):
                look_ahead(l_hashes, i, r_width, l_table, r_table, r_lines)
                enter_merging(
                    l_rows, i, l_expiry[i], l_weight[i], l_hashes[i], l_registers, l_lines, l_table, l_copies, l_whole
                )
                row = newest_counting(l_hashes[i], arrives, r_width, r_registers[OLDEST], r_lines, r_table)
            while row != NOBODY:
                other = row & (len(r_lines) - 1)
                if equal_lanes(l_rows, i, l_lanes, r_lines, other, r_lanes):
                    if n == len(out_ts):
                        cursor[CHAIN] = row + 1
                        return n
                    write_columns(
                        l_rows, i, l_values, l_width, r_lines, other, r_values, r_width, lanes, bits, values, out_rows, n
                    )
                    out_ts[n], out_weight[n] = arrives, l_weight[i] * r_lines[other, r_width + COUNT]
                    met += r_lines[other, r_width + COUNT]
                    n += 1
                row = next_counting(row, arrives, r_width, r_registers[OLDEST], r_lines)
            has_met(r_registers, met)
            cursor[LEFT] += 1
        else:
            if cursor[CHAIN] == 0 and not has_null(r_rows, j, r_masks):
                look_ahead(r_hashes, j, l_width, r_table, l_table, l_lines)
                enter_merging(
                    r_rows, j, r_expiry[j], r_weight[j], r_hashes[j], r_registers, r_lines, r_table, r_copies, r_whole
                )
                row = newest_counting(r_hashes[j], arrives, l_width, l_registers[OLDEST], l_lines, l_table)
            while row != NOBODY:
                other = row & (len(l_lines) - 1)
                if equal_lanes(r_rows, j, r_lanes, l_lines, other, l_lanes):
                    if n == len(out_ts):
                        cursor[CHAIN] = row + 1
                        return n
                    write_columns(
                        l_lines, other, l_values, l_width, r_rows, j, r_values, r_width, lanes, bits, values, out_rows, n
                    )
                    out_ts[n], out_weight[n] = arrives, r_weight[j] * l_lines[other, l_width + COUNT]
                    met += l_lines[other, l_width + COUNT]
                    n += 1
                row = next_counting(row, arrives, l_width, l_registers[OLDEST], l_lines)
            has_met(l_registers, met)
            cursor[RIGHT] += 1
        cursor[CHAIN] = 0
