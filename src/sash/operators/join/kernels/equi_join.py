"""Joins: pairs of rows with equal keys that are alive together.

Both kernels take the changes of the two sides in the order of time, enter each into its own side and pair it with what the other
side holds. The number of pairs is not known before: a kernel that finds its output full stops, and goes on at `cursor` in the
next call.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sash.kernels.bag import COUNT, FOLLOWING, change_keyed
from sash.kernels.compiling import kernel
from sash.kernels.hashing import equal_lanes
from sash.kernels.pairs import CHAIN, LEFT, RIGHT, newest_of_key, write_pair
from sash.kernels.row_log import EXPIRY, NOBODY, OLDEST, WEIGHT, enter_log, look_ahead, newest_alive, next_alive, pass_expired
from sash.kernels.rows import has_null

Int64s = npt.NDArray[np.int64]


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
