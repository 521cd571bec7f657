"""Joins: pairs of rows with equal keys that are alive together.

Both kernels take the changes of the two sides in the order of time, enter each into its own side and pair it with what the other
side holds. What a pair is made of:

    left lanes | right lanes | masks of both, the right one's bits moved behind the left one's

The number of pairs is not known before: a kernel that finds its output full stops, and goes on at `cursor` in the next call.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sash.deltas import MASK_BITS
from sash.kernels.bag import COUNT, FOLLOWING, change_keyed, find_node
from sash.kernels.compiling import inlined, kernel
from sash.kernels.hashing import HALF, equal_lanes, hash_lanes, tag_of
from sash.kernels.prefetching import FAR, NEAR, NEXT, prefetch
from sash.kernels.rows import copy_row, has_null

Int64s = npt.NDArray[np.int64]

TAIL, OLDEST = 0, 1  # registers of a log: the number of the next row, that of the first which may be alive
EXPIRY, WEIGHT, PREVIOUS, HASH, EXTRA = 0, 1, 2, 3, 4  # lanes of a line after those of its row
NOBODY = -1
# Places of the cursor: next left row, next right row, where in the chain of the row at hand (0: it is not at hand yet).
LEFT, RIGHT, CHAIN = 0, 1, 2


@inlined
def write_pair(
    left: Int64s, i: int, left_width: int, right: Int64s, j: int, right_width: int, shape: Int64s, out: Int64s, n: int
) -> None:
    """`shape` holds: value lanes left and right, columns left."""
    values_left, values_right, columns_left = shape[0], shape[1], shape[2]
    for lane in range(values_left):
        out[n, lane] = left[i, lane]
    for lane in range(values_right):
        out[n, values_left + lane] = right[j, lane]
    masks = values_left + values_right
    for lane in range(masks, out.shape[1]):
        out[n, lane] = 0
    for lane in range(left_width - values_left):
        if masks + lane < out.shape[1]:
            out[n, masks + lane] = left[i, values_left + lane]
    word, shift = columns_left // MASK_BITS, columns_left % MASK_BITS
    for lane in range(right_width - values_right):
        bits = right[j, values_right + lane] << shift
        if bits:
            out[n, masks + word + lane] |= bits & 0xFFFFFFFF
            if bits >> MASK_BITS:
                out[n, masks + word + lane + 1] |= bits >> MASK_BITS


@inlined
def enter_log(
    rows: Int64s, i: int, expiry: int, weight: int, hash_: int, registers: Int64s, lines: Int64s, table: Int64s
) -> None:
    """Add a row at the end of a log and make it the newest of its bucket."""
    width, bucket, line = rows.shape[1], hash_ & (len(table) - 1), registers[TAIL] & (len(lines) - 1)
    copy_row(rows, i, lines, line)
    lines[line, width + EXPIRY], lines[line, width + WEIGHT] = expiry, weight
    lines[line, width + PREVIOUS], lines[line, width + HASH] = table[bucket] - 1, hash_
    registers[TAIL] += 1
    table[bucket] = registers[TAIL]


@kernel
def forget_expired(now: int, width: int, registers: Int64s, lines: Int64s, table: Int64s) -> None:
    """Move the rows that are alive at `now` together and chain them anew."""
    mask, live = len(lines) - 1, registers[OLDEST]
    for bucket in range(len(table)):
        table[bucket] = 0
    for row in range(registers[OLDEST], registers[TAIL]):
        if lines[row & mask, width + EXPIRY] > now:
            if live != row:
                copy_row(lines, row & mask, lines, live & mask)
            bucket = lines[live & mask, width + HASH] & (len(table) - 1)
            lines[live & mask, width + PREVIOUS] = table[bucket] - 1
            live += 1
            table[bucket] = live
    registers[TAIL] = live


@kernel
def pass_expired(now: int, width: int, registers: Int64s, lines: Int64s) -> None:
    """All rows before OLDEST have expired, so chains end there and nobody looks at them any more."""
    mask, oldest = len(lines) - 1, registers[OLDEST]
    while oldest < registers[TAIL] and lines[oldest & mask, width + EXPIRY] <= now:
        oldest += 1
    registers[OLDEST] = oldest


@inlined
def first_alive(row: int, now: int, width: int, oldest: int, lines: Int64s) -> int:
    mask = len(lines) - 1
    while row >= oldest and lines[row & mask, width + EXPIRY] <= now:
        row = lines[row & mask, width + PREVIOUS]
    return row if row >= oldest else NOBODY


@inlined
def newest_alive(hash_: int, now: int, width: int, oldest: int, lines: Int64s, table: Int64s) -> int:
    """The newest row alive in a bucket; expired ones before it are cut off, once for all."""
    bucket = hash_ & (len(table) - 1)
    newest = table[bucket] - 1
    row = first_alive(newest, now, width, oldest, lines)
    if row != newest:
        table[bucket] = row + 1
    return row


@inlined
def next_alive(row: int, now: int, width: int, oldest: int, lines: Int64s) -> int:
    """The next one alive in a bucket; expired ones in between are cut out."""
    line = row & (len(lines) - 1)
    following = lines[line, width + PREVIOUS]
    alive = first_alive(following, now, width, oldest, lines)
    if alive != following:
        lines[line, width + PREVIOUS] = alive
    return alive


@kernel
def hash_rows(rows: Int64s, lanes: Int64s, hashes: Int64s) -> None:
    for i in range(len(rows)):
        hashes[i] = hash_lanes(rows, i, lanes)


@inlined
def look_ahead(hashes: Int64s, i: int, width: int, own_table: Int64s, table: Int64s, lines: Int64s) -> None:
    """Ask for the buckets of later rows, and for the first two rows that the other side has in them."""
    last, mask = len(table) - 1, len(lines) - 1
    if i + FAR < len(hashes):
        prefetch(own_table, hashes[i + FAR] & (len(own_table) - 1))
        prefetch(table, hashes[i + FAR] & last)
        prefetch(lines, (table[hashes[i + NEAR] & last] - 1) & mask)
        prefetch(lines, lines[(table[hashes[i + NEXT] & last] - 1) & mask, width + PREVIOUS] & mask)


@kernel
def join_expiring(
    l_rows: Int64s, l_ts: Int64s, l_expiry: Int64s, l_weight: Int64s, l_hashes: Int64s, r_rows: Int64s, r_ts: Int64s,
    r_expiry: Int64s, r_weight: Int64s, r_hashes: Int64s, l_lanes: Int64s, r_lanes: Int64s, l_masks: Int64s, r_masks: Int64s,
    shape: Int64s, cursor: Int64s, l_registers: Int64s, l_lines: Int64s, l_table: Int64s, r_registers: Int64s, r_lines: Int64s,
    r_table: Int64s, out_rows: Int64s, out_ts: Int64s, out_expiry: Int64s, out_weight: Int64s,
) -> int:
    """Join of rows that carry their expiry; a pair lives until the first of its two rows expires."""
    l_width, r_width, n = l_rows.shape[1], r_rows.shape[1], 0
    while cursor[LEFT] < len(l_ts) or cursor[RIGHT] < len(r_ts):
        i, j, row = cursor[LEFT], cursor[RIGHT], cursor[CHAIN] - 1
        if j >= len(r_ts) or (i < len(l_ts) and l_ts[i] <= r_ts[j]):
            now = l_ts[i]
            if cursor[CHAIN] == 0 and not has_null(l_rows, i, l_masks):
                look_ahead(l_hashes, i, r_width, l_table, r_table, r_lines)
                enter_log(l_rows, i, l_expiry[i], l_weight[i], l_hashes[i], l_registers, l_lines, l_table)
                pass_expired(now, r_width, r_registers, r_lines)
                row = newest_alive(l_hashes[i], now, r_width, r_registers[OLDEST], r_lines, r_table)
            while row != NOBODY:
                line = row & (len(r_lines) - 1)
                if equal_lanes(l_rows, i, l_lanes, r_lines, line, r_lanes):
                    if n == len(out_ts):
                        cursor[CHAIN] = row + 1
                        return n
                    write_pair(l_rows, i, l_width, r_lines, line, r_width, shape, out_rows, n)
                    out_ts[n] = now
                    out_expiry[n] = min(l_expiry[i], r_lines[line, r_width + EXPIRY])
                    out_weight[n] = l_weight[i] * r_lines[line, r_width + WEIGHT]
                    n += 1
                row = next_alive(row, now, r_width, r_registers[OLDEST], r_lines)
            cursor[LEFT] += 1
        else:
            now = r_ts[j]
            if cursor[CHAIN] == 0 and not has_null(r_rows, j, r_masks):
                look_ahead(r_hashes, j, l_width, r_table, l_table, l_lines)
                enter_log(r_rows, j, r_expiry[j], r_weight[j], r_hashes[j], r_registers, r_lines, r_table)
                pass_expired(now, l_width, l_registers, l_lines)
                row = newest_alive(r_hashes[j], now, l_width, l_registers[OLDEST], l_lines, l_table)
            while row != NOBODY:
                line = row & (len(l_lines) - 1)
                if equal_lanes(r_rows, j, r_lanes, l_lines, line, l_lanes):
                    if n == len(out_ts):
                        cursor[CHAIN] = row + 1
                        return n
                    write_pair(l_lines, line, l_width, r_rows, j, r_width, shape, out_rows, n)
                    out_ts[n] = now
                    out_expiry[n] = min(r_expiry[j], l_lines[line, l_width + EXPIRY])
                    out_weight[n] = r_weight[j] * l_lines[line, l_width + WEIGHT]
                    n += 1
                row = next_alive(row, now, l_width, l_registers[OLDEST], l_lines)
            cursor[RIGHT] += 1
        cursor[CHAIN] = 0
    return n


@inlined
def newest_of_key(rows: Int64s, i: int, lanes: Int64s, stored: Int64s, stored_lanes: Int64s, table: Int64s) -> int:
    tag = tag_of(hash_lanes(rows, i, lanes))
    return (table[find_node(rows, i, lanes, tag, table, stored, stored_lanes)] & HALF) - 1


@inlined
def is_table_next(l_ts: Int64s, r_ts: Int64s, cursor: Int64s) -> bool:
    """Whether the table changes before the next row comes; rows of an instant come before the changes of that instant."""
    i, j = cursor[LEFT], cursor[RIGHT]
    return j < len(r_ts) and (i >= len(l_ts) or r_ts[j] < l_ts[i])


@inlined
def change_table(
    r_rows: Int64s, r_weight: Int64s, r_lanes: Int64s, r_masks: Int64s, r_all: Int64s, cursor: Int64s, registers: Int64s,
    table: Int64s, key_table: Int64s, nodes: Int64s, free: Int64s,
) -> None:
    """The next change of a table that is looked up; what has no key is not kept."""
    j = cursor[RIGHT]
    if not has_null(r_rows, j, r_masks):
        change_keyed(r_rows, j, r_weight[j], r_all, r_lanes, registers, table, key_table, nodes, free)
    cursor[RIGHT] += 1


@kernel
def look_up(
    l_rows: Int64s, l_ts: Int64s, l_expiry: Int64s, l_weight: Int64s, r_rows: Int64s, r_ts: Int64s, r_weight: Int64s,
    l_lanes: Int64s, r_lanes: Int64s, l_masks: Int64s, r_masks: Int64s, shape: Int64s, cursor: Int64s, r_all: Int64s,
    registers: Int64s, table: Int64s, key_table: Int64s, nodes: Int64s, free: Int64s, out_rows: Int64s, out_ts: Int64s,
    out_expiry: Int64s, out_weight: Int64s,
) -> int:
    """Pair arriving rows with a table as it is then."""
    r_width, n = r_rows.shape[1], 0
    while cursor[LEFT] < len(l_ts) or cursor[RIGHT] < len(r_ts):
        i = cursor[LEFT]
        if is_table_next(l_ts, r_ts, cursor):
            change_table(r_rows, r_weight, r_lanes, r_masks, r_all, cursor, registers, table, key_table, nodes, free)
            continue
        partner = cursor[CHAIN] - 1
        if cursor[CHAIN] == 0 and not has_null(l_rows, i, l_masks):
            partner = newest_of_key(l_rows, i, l_lanes, nodes, r_lanes, key_table)
        while partner != NOBODY:
            if n == len(out_ts):
                cursor[CHAIN] = partner + 1
                return n
            write_pair(l_rows, i, l_rows.shape[1], nodes, partner, r_width, shape, out_rows, n)
            out_ts[n], out_expiry[n], out_weight[n] = l_ts[i], l_expiry[i], l_weight[i] * nodes[partner, r_width + COUNT]
            n += 1
            partner = nodes[partner, r_width + FOLLOWING]
        cursor[CHAIN] = 0
        cursor[LEFT] += 1
    return n


@kernel
def join_signed(
    l_rows: Int64s, l_ts: Int64s, l_weight: Int64s, r_rows: Int64s, r_ts: Int64s, r_weight: Int64s, l_lanes: Int64s,
    r_lanes: Int64s, l_masks: Int64s, r_masks: Int64s, shape: Int64s, cursor: Int64s, l_all: Int64s, ls_registers: Int64s,
    ls_table: Int64s, ls_key_table: Int64s, ls_nodes: Int64s, ls_free: Int64s, r_all: Int64s, rs_registers: Int64s,
    rs_table: Int64s, rs_key_table: Int64s, rs_nodes: Int64s, rs_free: Int64s, out_rows: Int64s, out_ts: Int64s,
    out_weight: Int64s,
) -> int:
    """Join of signed changes over two keyed bags: the weight of a pair is the product of the weights."""
    l_width, r_width, n = l_rows.shape[1], r_rows.shape[1], 0
    while cursor[LEFT] < len(l_ts) or cursor[RIGHT] < len(r_ts):
        is_left = cursor[RIGHT] >= len(r_ts) or (cursor[LEFT] < len(l_ts) and l_ts[cursor[LEFT]] <= r_ts[cursor[RIGHT]])
        i = cursor[LEFT] if is_left else cursor[RIGHT]
        if is_left:
            is_skipped = has_null(l_rows, i, l_masks)
        else:
            is_skipped = has_null(r_rows, i, r_masks)
        if not is_skipped:
            if cursor[CHAIN] == 0:
                if is_left:
                    change_keyed(
                        l_rows, i, l_weight[i], l_all, l_lanes, ls_registers, ls_table, ls_key_table, ls_nodes,
                        ls_free,
                    )
                    partner = newest_of_key(l_rows, i, l_lanes, rs_nodes, r_lanes, rs_key_table)
                else:
                    change_keyed(
                        r_rows, i, r_weight[i], r_all, r_lanes, rs_registers, rs_table, rs_key_table, rs_nodes,
                        rs_free,
                    )
                    partner = newest_of_key(r_rows, i, r_lanes, ls_nodes, l_lanes, ls_key_table)
            else:
                partner = cursor[CHAIN] - 1
            while partner != NOBODY:
                if n == len(out_ts):
                    cursor[CHAIN] = partner + 1
                    return n
                if is_left:
                    write_pair(l_rows, i, l_width, rs_nodes, partner, r_width, shape, out_rows, n)
                    out_ts[n], out_weight[n] = l_ts[i], l_weight[i] * rs_nodes[partner, r_width + COUNT]
                    partner = rs_nodes[partner, r_width + FOLLOWING]
                else:
                    write_pair(ls_nodes, partner, l_width, r_rows, i, r_width, shape, out_rows, n)
                    out_ts[n], out_weight[n] = r_ts[i], r_weight[i] * ls_nodes[partner, l_width + COUNT]
                    partner = ls_nodes[partner, l_width + FOLLOWING]
                n += 1
        cursor[CHAIN] = 0
        if is_left:
            cursor[LEFT] += 1
        else:
            cursor[RIGHT] += 1
    return n
