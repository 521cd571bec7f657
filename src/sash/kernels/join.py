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
from sash.kernels.bag import change_keyed, find_node
from sash.kernels.compiling import inlined, kernel
from sash.kernels.hashing import HALF, hash_lanes, remove_entry, tag_of
from sash.kernels.rows import copy_row, has_null

Int64s = npt.NDArray[np.int64]

TAIL = 0  # register of a side: rows in its store
NOBODY = -1
# Places of the cursor: next left row, next right row, where in the chain of the row at hand (0: it is not at hand yet).
LEFT, RIGHT, CHAIN = 0, 1, 2


@inlined
def write_pair(left: Int64s, i: int, right: Int64s, j: int, shape: Int64s, out: Int64s, n: int) -> None:
    """`shape` holds: value lanes left and right, columns left."""
    values_left, values_right, columns_left = shape[0], shape[1], shape[2]
    for lane in range(values_left):
        out[n, lane] = left[i, lane]
    for lane in range(values_right):
        out[n, values_left + lane] = right[j, lane]
    masks = values_left + values_right
    for lane in range(masks, out.shape[1]):
        out[n, lane] = 0
    for lane in range(left.shape[1] - values_left):
        if masks + lane < out.shape[1]:
            out[n, masks + lane] = left[i, values_left + lane]
    word, shift = columns_left // MASK_BITS, columns_left % MASK_BITS
    for lane in range(right.shape[1] - values_right):
        bits = right[j, values_right + lane] << shift
        if bits:
            out[n, masks + word + lane] |= bits & 0xFFFFFFFF
            if bits >> MASK_BITS:
                out[n, masks + word + lane + 1] |= bits >> MASK_BITS


@inlined
def enter_chain(rows: Int64s, row: int, lanes: Int64s, previous: Int64s, table: Int64s) -> None:
    """Make a stored row the newest of its key."""
    tag = tag_of(hash_lanes(rows, row, lanes))
    slot = find_node(rows, row, lanes, tag, table, rows, lanes)
    previous[row] = (table[slot] & HALF) - 1
    table[slot] = (tag << 32) | (row + 1)


@kernel
def forget_expired(
    now: int, lanes: Int64s, registers: Int64s, rows: Int64s, expiry: Int64s, weight: Int64s, previous: Int64s,
    table: Int64s,
) -> None:
    """Move the rows that are alive at `now` together and chain them anew."""
    live = 0
    for row in range(registers[TAIL]):
        if expiry[row] > now:
            if live != row:
                copy_row(rows, row, rows, live)
                expiry[live], weight[live] = expiry[row], weight[row]
            live += 1
    registers[TAIL] = live
    table[:] = 0
    for row in range(live):
        enter_chain(rows, row, lanes, previous, table)


@inlined
def newest_of_key(rows: Int64s, i: int, lanes: Int64s, stored: Int64s, stored_lanes: Int64s, table: Int64s) -> int:
    tag = tag_of(hash_lanes(rows, i, lanes))
    return (table[find_node(rows, i, lanes, tag, table, stored, stored_lanes)] & HALF) - 1


@inlined
def newest_alive(
    rows: Int64s, i: int, lanes: Int64s, now: int, stored: Int64s, stored_lanes: Int64s, expiry: Int64s, previous: Int64s,
    table: Int64s,
) -> int:
    """The newest row of a key that is alive; those before it in the chain have expired and are cut off, once for all."""
    tag = tag_of(hash_lanes(rows, i, lanes))
    slot = find_node(rows, i, lanes, tag, table, stored, stored_lanes)
    head = (table[slot] & HALF) - 1
    row = head
    while row != NOBODY and expiry[row] <= now:
        row = previous[row]
    if row != head:
        if row == NOBODY:
            remove_entry(table, tag, head + 1)
        else:
            table[slot] = (tag << 32) | (row + 1)
    return row


@kernel
def join_expiring(
    l_rows: Int64s, l_ts: Int64s, l_expiry: Int64s, l_weight: Int64s, r_rows: Int64s, r_ts: Int64s, r_expiry: Int64s,
    r_weight: Int64s, l_lanes: Int64s, r_lanes: Int64s, l_masks: Int64s, r_masks: Int64s, shape: Int64s, cursor: Int64s,
    ls_registers: Int64s, ls_rows: Int64s, ls_expiry: Int64s, ls_weight: Int64s, ls_previous: Int64s, ls_table: Int64s,
    rs_registers: Int64s, rs_rows: Int64s, rs_expiry: Int64s, rs_weight: Int64s, rs_previous: Int64s, rs_table: Int64s,
    out_rows: Int64s, out_ts: Int64s, out_expiry: Int64s, out_weight: Int64s,
) -> int:
    """Join of rows that carry their expiry; a pair lives until the first of its two rows expires.

    A store is a list of rows in the order they came, each linked to the row before it with the same key. Expired rows are cut out
    of their chain by the first probe that meets them, and leave the store when it is full (`forget_expired`).
    """
    n = 0
    while cursor[LEFT] < len(l_ts) or cursor[RIGHT] < len(r_ts):
        is_left = cursor[RIGHT] >= len(r_ts) or (cursor[LEFT] < len(l_ts) and l_ts[cursor[LEFT]] <= r_ts[cursor[RIGHT]])
        i = cursor[LEFT] if is_left else cursor[RIGHT]
        if is_left:
            is_skipped = has_null(l_rows, i, l_masks)
        else:
            is_skipped = has_null(r_rows, i, r_masks)
        if not is_skipped:
            if cursor[CHAIN] == 0:  # enter it, then look for its partners
                if is_left:
                    row = ls_registers[TAIL]
                    copy_row(l_rows, i, ls_rows, row)
                    ls_expiry[row], ls_weight[row] = l_expiry[i], l_weight[i]
                    enter_chain(ls_rows, row, l_lanes, ls_previous, ls_table)
                    ls_registers[TAIL] = row + 1
                    partner = newest_alive(
                        l_rows, i, l_lanes, l_ts[i], rs_rows, r_lanes, rs_expiry, rs_previous, rs_table
                    )
                else:
                    row = rs_registers[TAIL]
                    copy_row(r_rows, i, rs_rows, row)
                    rs_expiry[row], rs_weight[row] = r_expiry[i], r_weight[i]
                    enter_chain(rs_rows, row, r_lanes, rs_previous, rs_table)
                    rs_registers[TAIL] = row + 1
                    partner = newest_alive(
                        r_rows, i, r_lanes, r_ts[i], ls_rows, l_lanes, ls_expiry, ls_previous, ls_table
                    )
            else:
                partner = cursor[CHAIN] - 1
            now = l_ts[i] if is_left else r_ts[i]
            own_expiry = l_expiry[i] if is_left else r_expiry[i]
            own_weight = l_weight[i] if is_left else r_weight[i]
            expiry = rs_expiry if is_left else ls_expiry
            weight = rs_weight if is_left else ls_weight
            previous = rs_previous if is_left else ls_previous
            younger = NOBODY
            while partner != NOBODY:
                if expiry[partner] <= now:
                    partner = previous[partner]
                    if younger != NOBODY:
                        previous[younger] = partner
                    continue
                if n == len(out_ts):
                    cursor[CHAIN] = partner + 1
                    return n
                if is_left:
                    write_pair(l_rows, i, rs_rows, partner, shape, out_rows, n)
                else:
                    write_pair(ls_rows, partner, r_rows, i, shape, out_rows, n)
                out_ts[n] = now
                out_expiry[n] = min(own_expiry, expiry[partner])
                out_weight[n] = own_weight * weight[partner]
                n += 1
                younger, partner = partner, previous[partner]
        cursor[CHAIN] = 0
        if is_left:
            cursor[LEFT] += 1
        else:
            cursor[RIGHT] += 1
    return n


@kernel
def join_signed(
    l_rows: Int64s, l_ts: Int64s, l_weight: Int64s, r_rows: Int64s, r_ts: Int64s, r_weight: Int64s, l_lanes: Int64s,
    r_lanes: Int64s, l_masks: Int64s, r_masks: Int64s, shape: Int64s, cursor: Int64s, l_all: Int64s, ls_registers: Int64s,
    ls_table: Int64s, ls_key_table: Int64s, ls_nodes: Int64s, ls_counts: Int64s, ls_following: Int64s, ls_previous: Int64s,
    ls_free: Int64s, r_all: Int64s, rs_registers: Int64s, rs_table: Int64s, rs_key_table: Int64s, rs_nodes: Int64s,
    rs_counts: Int64s, rs_following: Int64s,
    rs_previous: Int64s, rs_free: Int64s, out_rows: Int64s, out_ts: Int64s, out_weight: Int64s,
) -> int:
    """Join of signed changes over two keyed bags: the weight of a pair is the product of the weights."""
    n = 0
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
                        ls_counts, ls_following, ls_previous, ls_free,
                    )
                    partner = newest_of_key(l_rows, i, l_lanes, rs_nodes, r_lanes, rs_key_table)
                else:
                    change_keyed(
                        r_rows, i, r_weight[i], r_all, r_lanes, rs_registers, rs_table, rs_key_table, rs_nodes,
                        rs_counts, rs_following, rs_previous, rs_free,
                    )
                    partner = newest_of_key(r_rows, i, r_lanes, ls_nodes, l_lanes, ls_key_table)
            else:
                partner = cursor[CHAIN] - 1
            following = rs_following if is_left else ls_following
            while partner != NOBODY:
                if n == len(out_ts):
                    cursor[CHAIN] = partner + 1
                    return n
                if is_left:
                    write_pair(l_rows, i, rs_nodes, partner, shape, out_rows, n)
                    out_ts[n], out_weight[n] = l_ts[i], l_weight[i] * rs_counts[partner]
                else:
                    write_pair(ls_nodes, partner, r_rows, i, shape, out_rows, n)
                    out_ts[n], out_weight[n] = r_ts[i], r_weight[i] * ls_counts[partner]
                n += 1
                partner = following[partner]
        cursor[CHAIN] = 0
        if is_left:
            cursor[LEFT] += 1
        else:
            cursor[RIGHT] += 1
    return n
