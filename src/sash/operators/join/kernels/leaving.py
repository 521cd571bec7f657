"""Join of two windows that also says when pairs leave, without keeping any.

    arrivals      left  ·   ·       ·            each is paired with the rows of the other side that are alive
    expirations   left           ·  ·            each again with those that it was, or came to be, paired with and that still live

Rows leave a log in the order they came, so the next one to leave is at its head. At one instant what leaves comes first; when
both rows of a pair leave together, the left one takes it along.

The rows of a key lie all over a log, and each tells only which one was before it, so a long chain is a walk from one miss of the
cache to the next. Whoever walks it leaves word in `jumps` where it leads some lines further on, and the next one asks memory for
them in time. Pairs are written column by column, for many lines that were met.
"""

from __future__ import annotations

from sash.deltas import Int64s
from sash.kernels.compiling import inlined, kernel
from sash.kernels.hashing import equal_lanes
from sash.kernels.pairs import CHAIN, LEFT, RIGHT
from sash.kernels.prefetching import prefetch
from sash.kernels.row_log import EXPIRY, HASH, NOBODY, OLDEST, PREVIOUS, TAIL, WEIGHT, look_ahead
from sash.kernels.rows import has_null
from sash.operators.join.kernels.merging import (
    COPIES,
    COUNT,
    MEMORY,
    PROBES,
    copies_among,
    enter_merging,
    leave_merging,
    newest_counting,
    next_counting,
    reconsider,
    standing_for,
)
from sash.schema import FOREVER

FAR = 8  # lines of a chain from one that is met to the one that memory is asked for
SOON = 6  # rows from one thing that is made ready for those to leave to the next


@inlined
def head_expiry(width: int, registers: Int64s, lines: Int64s) -> int:
    if registers[OLDEST] == registers[TAIL]:
        return FOREVER
    return lines[registers[OLDEST] & (len(lines) - 1), width + EXPIRY]


@inlined
def write_columns(
    rows: Int64s, i: int, is_left: int, lines: Int64s, met: Int64s, count: int, lanes: Int64s, bits: Int64s, shape: Int64s,
    out: Int64s, n: int,
) -> None:
    """Pairs of a row with so many lines, column by column. `lanes` has lines (is right, from, to), `bits` lines (is right, from
    lane, bit, to lane, bit). Most pairs have no NULL.
    """
    for k in range(len(lanes)):
        lane, to = lanes[k, 1], lanes[k, 2]
        if lanes[k, 0] != is_left:
            value = rows[i, lane]
            for p in range(count):
                out[n + p, to] = value
        else:
            for p in range(count):
                out[n + p, to] = lines[met[p], lane]
    for lane in range(shape[4], shape[5]):
        for p in range(count):
            out[n + p, lane] = 0
    own, other = (0, 2) if is_left else (2, 0)  # places in shape
    nulls = 0
    for lane in range(shape[own], shape[own + 1]):
        nulls |= rows[i, lane]
    for lane in range(shape[other], shape[other + 1]):
        for p in range(count):
            nulls |= lines[met[p], lane]
    if nulls:
        for p in range(count):
            for k in range(len(bits)):
                mask = rows[i, bits[k, 1]] if bits[k, 0] != is_left else lines[met[p], bits[k, 1]]
                out[n + p, bits[k, 3]] |= (mask >> bits[k, 2] & 1) << bits[k, 4]


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


@inlined
def meet(
    rows: Int64s, i: int, weight: int, row: int, ts: int, is_left: int, l_lanes: Int64s, r_lanes: Int64s, lanes: Int64s,
    bits: Int64s, shape: Int64s, width: int, registers: Int64s, lines: Int64s, whole: Int64s, jumps: Int64s, met: Int64s,
    out_rows: Int64s, out_ts: Int64s, out_weight: Int64s, n: int,
) -> tuple[int, int]:
    """Pair a row that comes or leaves with those of the other side from one of them on. Where the output ends, and the row to
    go on with once there is room again, or NOBODY.
    """
    found, alive = 0, ts if weight > 0 else ts - 1
    while row != NOBODY:
        count, room = 0, min(len(met), len(out_ts) - n)
        if room == 0:
            return n, row
        while row != NOBODY and count < room:
            other = row & (len(lines) - 1)
            if count >= 2:
                prefetch(lines, jumps[other])
            if is_left:
                is_pair = equal_lanes(rows, i, l_lanes, lines, other, r_lanes)
            else:
                is_pair = equal_lanes(rows, i, r_lanes, lines, other, l_lanes)
            met[count] = other
            count += is_pair
            row = next_counting(row, alive, width, registers[OLDEST], lines)
        for p in range(count - FAR):
            jumps[met[p]] = met[p + FAR]
        write_columns(rows, i, is_left, lines, met, count, lanes, bits, shape, out_rows, n)
        for p in range(count):
            out_ts[n + p], out_weight[n + p] = ts, weight * lines[met[p], width + COUNT]
        found += copies_among(met, count, width, registers, lines, whole)
        n += count
    registers[PROBES] += 1
    registers[COPIES] += found
    return n, NOBODY


@inlined
def time_of(ts: Int64s, i: int) -> int:
    return ts[i] if i < len(ts) else FOREVER


@kernel
def join_leaving(
    l_rows: Int64s, l_ts: Int64s, l_expiry: Int64s, l_weight: Int64s, l_hashes: Int64s, r_rows: Int64s, r_ts: Int64s,
    r_expiry: Int64s, r_weight: Int64s, r_hashes: Int64s, now: int, l_lanes: Int64s, r_lanes: Int64s, l_masks: Int64s,
    r_masks: Int64s, l_whole: Int64s, r_whole: Int64s, lanes: Int64s, bits: Int64s, shape: Int64s, cursor: Int64s,
    l_registers: Int64s, l_lines: Int64s, l_table: Int64s, l_copies: Int64s, r_registers: Int64s, r_lines: Int64s,
    r_table: Int64s, r_copies: Int64s, l_jumps: Int64s, r_jumps: Int64s, met: Int64s, out_rows: Int64s, out_ts: Int64s,
    out_weight: Int64s,
) -> int:
    """`shape` holds the numbers of value lanes and of lanes, left, right and out. Stops when its output is full, with `cursor` at
    the event at hand; is through when all arrivals, and all rows that leave before `now`, are. `met` has room for some lines that
    a row meets.
    """
    l_width, r_width = l_rows.shape[1], r_rows.shape[1]
    i, j, row, n = cursor[LEFT], cursor[RIGHT], cursor[CHAIN] - 1, 0
    comes_left, comes_right = time_of(l_ts, i), time_of(r_ts, j)
    leaves_left, leaves_right = head_expiry(l_width, l_registers, l_lines), head_expiry(r_width, r_registers, r_lines)
    while True:
        leaves, comes = min(leaves_left, leaves_right), min(comes_left, comes_right)
        if leaves < now and leaves <= comes:
            if leaves_left <= leaves_right:
                line = l_registers[OLDEST] & (len(l_lines) - 1)
                if row == NOBODY:
                    make_ready(l_width, l_registers, l_lines, r_table, r_width, r_lines)
                    hash_ = l_lines[standing_for(l_registers[OLDEST], l_width, l_lines), l_width + HASH]
                    row = newest_counting(hash_, leaves - 1, r_width, r_registers[OLDEST], r_lines, r_table)
                n, row = meet(
                    l_lines, line, -l_lines[line, l_width + WEIGHT], row, leaves, 1, l_lanes, r_lanes, lanes, bits, shape,
                    r_width, r_registers, r_lines, r_whole, r_jumps, met, out_rows, out_ts, out_weight, n,
                )
                if row == NOBODY:
                    leave_merging(l_width, l_registers, l_lines)
                    leaves_left = head_expiry(l_width, l_registers, l_lines)
            else:
                line = r_registers[OLDEST] & (len(r_lines) - 1)
                if row == NOBODY:
                    make_ready(r_width, r_registers, r_lines, l_table, l_width, l_lines)
                    hash_ = r_lines[standing_for(r_registers[OLDEST], r_width, r_lines), r_width + HASH]
                    row = newest_counting(hash_, leaves - 1, l_width, l_registers[OLDEST], l_lines, l_table)
                n, row = meet(
                    r_lines, line, -r_lines[line, r_width + WEIGHT], row, leaves, 0, l_lanes, r_lanes, lanes, bits, shape,
                    l_width, l_registers, l_lines, l_whole, l_jumps, met, out_rows, out_ts, out_weight, n,
                )
                if row == NOBODY:
                    leave_merging(r_width, r_registers, r_lines)
                    leaves_right = head_expiry(r_width, r_registers, r_lines)
        elif comes == FOREVER:
            break
        elif comes_left <= comes_right:
            if row == NOBODY and not has_null(l_rows, i, l_masks):
                look_ahead(l_hashes, i, r_width, l_table, r_table, r_lines)
                enter_merging(
                    l_rows, i, l_expiry[i], l_weight[i], l_hashes[i], l_registers, l_lines, l_table, l_copies, l_whole
                )
                leaves_left = min(leaves_left, l_expiry[i])
                row = newest_counting(l_hashes[i], comes, r_width, r_registers[OLDEST], r_lines, r_table)
            n, row = meet(
                l_rows, i, l_weight[i], row, comes, 1, l_lanes, r_lanes, lanes, bits, shape, r_width, r_registers,
                r_lines, r_whole, r_jumps, met, out_rows, out_ts, out_weight, n,
            )
            if row == NOBODY:
                i += 1
                comes_left = time_of(l_ts, i)
        else:
            if row == NOBODY and not has_null(r_rows, j, r_masks):
                look_ahead(r_hashes, j, l_width, r_table, l_table, l_lines)
                enter_merging(
                    r_rows, j, r_expiry[j], r_weight[j], r_hashes[j], r_registers, r_lines, r_table, r_copies, r_whole
                )
                leaves_right = min(leaves_right, r_expiry[j])
                row = newest_counting(r_hashes[j], comes, l_width, l_registers[OLDEST], l_lines, l_table)
            n, row = meet(
                r_rows, j, r_weight[j], row, comes, 0, l_lanes, r_lanes, lanes, bits, shape, l_width, l_registers,
                l_lines, l_whole, l_jumps, met, out_rows, out_ts, out_weight, n,
            )
            if row == NOBODY:
                j += 1
                comes_right = time_of(r_ts, j)
        if row != NOBODY:
            break
        if l_registers[PROBES] >= MEMORY:
            reconsider(l_width, l_registers, l_lines, l_copies, l_whole)
        if r_registers[PROBES] >= MEMORY:
            reconsider(r_width, r_registers, r_lines, r_copies, r_whole)
    cursor[LEFT], cursor[RIGHT], cursor[CHAIN] = i, j, row + 1
    return n
