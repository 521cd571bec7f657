"""Join of rows that leave early with a table whose changes touch only what comes later.

    instances    left rows, one by one, as in sequence.py: those of one row from the youngest back
    pairs        a keyed bag: lanes of a table row | number of the instance that met it; found by that number

A row that leaves takes back what was given for it, whatever the table has become. Of equal rows the oldest leaves first. At one
instant rows leave before others come, so the changes of an instant may stand in any order; one that leaves before it has come is
owed (a bag of rows), and is not paired when it comes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sash.kernels.bag import COUNT, FOLLOWING, NOBODY, change_keyed
from sash.kernels.compiling import kernel
from sash.kernels.pairs import LEFT, RIGHT, newest_of_key, write_pair
from sash.kernels.rows import has_null
from sash.operators.lookup.kernels.look_up import change_table, is_table_next
from sash.operators.sequence.kernels import KEY_YOUNGER, OLDER, enter_waiting, leave_waiting, youngest_of

Int64s = npt.NDArray[np.int64]

CHAIN, UNITS, CURSOR = 2, 3, 4  # after LEFT and RIGHT: where in a chain, and how many units of a change are done


@kernel
def look_up_signed(
    l_rows: Int64s, l_ts: Int64s, l_weight: Int64s, r_rows: Int64s, r_ts: Int64s, r_weight: Int64s, l_lanes: Int64s,
    r_lanes: Int64s, l_masks: Int64s, r_masks: Int64s, shape: Int64s, cursor: Int64s, r_all: Int64s, registers: Int64s,
    table: Int64s, key_table: Int64s, nodes: Int64s, free: Int64s, w_lanes: Int64s, w_registers: Int64s, w_table: Int64s,
    w_stored: Int64s, w_stamps: Int64s, w_links: Int64s, p_all: Int64s, p_key: Int64s, p_registers: Int64s, p_table: Int64s,
    p_key_table: Int64s, p_nodes: Int64s, p_free: Int64s, pair: Int64s, o_registers: Int64s, o_table: Int64s,
    o_key_table: Int64s, o_nodes: Int64s, o_free: Int64s, out_rows: Int64s, out_ts: Int64s, out_weight: Int64s,
) -> int:
    """Pair rows that come with a table as it is then; unpair rows that go, which stand first in their instant.

    `pair` is one line of a pair to work with.
    """
    l_width, r_width, n = l_rows.shape[1], r_rows.shape[1], 0
    while cursor[LEFT] < len(l_ts) or cursor[RIGHT] < len(r_ts):
        i = cursor[LEFT]
        if is_table_next(l_ts, r_ts, cursor):
            change_table(r_rows, r_weight, r_lanes, r_masks, r_all, cursor, registers, table, key_table, nodes, free)
            continue
        while cursor[UNITS] < abs(l_weight[i]) and not has_null(l_rows, i, l_masks):
            partner = cursor[CHAIN] - 1
            if l_weight[i] > 0:
                if cursor[CHAIN] == 0 and newest_of_key(l_rows, i, w_lanes, o_nodes, w_lanes, o_key_table) != NOBODY:
                    change_keyed(l_rows, i, 1, w_lanes, w_lanes, o_registers, o_table, o_key_table, o_nodes, o_free)
                    cursor[UNITS] += 1
                    continue
                if cursor[CHAIN] == 0:
                    enter_waiting(l_rows, i, l_ts[i], w_lanes, w_registers, w_table, w_stored, w_stamps, w_links)
                    partner = newest_of_key(l_rows, i, l_lanes, nodes, r_lanes, key_table)
                pair[0, r_width] = w_links[0, OLDER]
                while partner != NOBODY:
                    if n == len(out_ts):
                        cursor[CHAIN] = partner + 1
                        return n
                    write_pair(l_rows, i, l_width, nodes, partner, r_width, shape, out_rows, n)
                    out_ts[n], out_weight[n] = l_ts[i], nodes[partner, r_width + COUNT]
                    n += 1
                    for lane in range(r_width):
                        pair[0, lane] = nodes[partner, lane]
                    change_keyed(
                        pair, 0, nodes[partner, r_width + COUNT], p_all, p_key, p_registers, p_table, p_key_table, p_nodes, p_free
                    )
                    partner = nodes[partner, r_width + FOLLOWING]
            else:
                youngest = youngest_of(l_rows, i, w_lanes, l_masks, w_lanes, w_table, w_stored)
                if youngest == 0:
                    change_keyed(l_rows, i, -1, w_lanes, w_lanes, o_registers, o_table, o_key_table, o_nodes, o_free)
                    cursor[UNITS] += 1
                    continue
                instance = w_links[youngest, KEY_YOUNGER]
                pair[0, r_width] = instance
                if cursor[CHAIN] == 0:
                    partner = newest_of_key(pair, 0, p_key, p_nodes, p_key, p_key_table)
                while partner != NOBODY:
                    if n == len(out_ts):
                        cursor[CHAIN] = partner + 1
                        return n
                    write_pair(l_rows, i, l_width, p_nodes, partner, r_width, shape, out_rows, n)
                    out_ts[n], out_weight[n] = l_ts[i], -p_nodes[partner, r_width + 1 + COUNT]
                    n += 1
                    partner = p_nodes[partner, r_width + 1 + FOLLOWING]
                partner = newest_of_key(pair, 0, p_key, p_nodes, p_key, p_key_table)
                while partner != NOBODY:
                    for lane in range(r_width):
                        pair[0, lane] = p_nodes[partner, lane]
                    gone = -p_nodes[partner, r_width + 1 + COUNT]
                    change_keyed(pair, 0, gone, p_all, p_key, p_registers, p_table, p_key_table, p_nodes, p_free)
                    partner = newest_of_key(pair, 0, p_key, p_nodes, p_key, p_key_table)
                leave_waiting(instance, w_lanes, w_registers, w_table, w_stored, w_stamps, w_links)
            cursor[CHAIN] = 0
            cursor[UNITS] += 1
        cursor[CHAIN] = cursor[UNITS] = 0
        cursor[LEFT] += 1
    return n
