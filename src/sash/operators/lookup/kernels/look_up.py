"""Arriving rows are paired with the rows that a table has when they arrive."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sash.kernels.bag import COUNT, FOLLOWING, change_keyed
from sash.kernels.compiling import inlined, kernel
from sash.kernels.pairs import CHAIN, LEFT, RIGHT, newest_of_key, write_pair
from sash.kernels.row_log import NOBODY
from sash.kernels.rows import has_null

Int64s = npt.NDArray[np.int64]


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
