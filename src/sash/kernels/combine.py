"""Set operators: a bag of rows with two counts, one a side.

Each change is answered with how much it moves the multiplicity of its row. These add up over an instant whatever the order, also
where a count is below zero for a while.
"""

from __future__ import annotations

from sash.deltas import Int64s
from sash.kernels.bag import find_node, give_back, take_node
from sash.kernels.compiling import inlined, kernel
from sash.kernels.hashing import HALF, hash_lanes, remove_entry, tag_of
from sash.kernels.rows import copy_row

INTERSECT_ALL, INTERSECT, EXCEPT_ALL, EXCEPT, SEMI, ANTI = 0, 1, 2, 3, 4, 5


@inlined
def multiplicity(how: int, n: int, m: int) -> int:
    """How often a row is in the result that is n times on the left and m times on the right."""
    if how == INTERSECT_ALL:
        return min(n, m)
    if how == INTERSECT:
        return 1 if n > 0 and m > 0 else 0
    if how == EXCEPT_ALL:
        return max(0, n - m)
    if how == EXCEPT:
        return 1 if n > 0 and m <= 0 else 0
    if how == SEMI:
        return n if m > 0 else 0
    return n if m <= 0 else 0


@kernel
def combine(
    l_rows: Int64s, l_ts: Int64s, l_weight: Int64s, r_rows: Int64s, r_ts: Int64s, r_weight: Int64s, how: int, lanes: Int64s,
    registers: Int64s, table: Int64s, nodes: Int64s, counts: Int64s, others: Int64s, free: Int64s, out_rows: Int64s,
    out_ts: Int64s, out_weight: Int64s,
) -> int:
    """`counts` are those of the left side, `others` those of the right one. There is room for all rows to be new."""
    i, j, n = 0, 0, 0
    while i < len(l_ts) or j < len(r_ts):
        is_left = j >= len(r_ts) or (i < len(l_ts) and l_ts[i] <= r_ts[j])
        rows = l_rows if is_left else r_rows
        place = i if is_left else j
        tag = tag_of(hash_lanes(rows, place, lanes))
        slot = find_node(rows, place, lanes, tag, table, nodes, lanes)
        node = (table[slot] & HALF) - 1
        if table[slot] == 0:
            node = take_node(registers, free)
            copy_row(rows, place, nodes, node)
            counts[node], others[node] = 0, 0
            table[slot] = (tag << 32) | (node + 1)
        before = multiplicity(how, counts[node], others[node])
        if is_left:
            counts[node] += l_weight[i]
        else:
            others[node] += r_weight[j]
        moved = multiplicity(how, counts[node], others[node]) - before
        if moved:
            copy_row(rows, place, out_rows, n)
            out_ts[n], out_weight[n] = l_ts[i] if is_left else r_ts[j], moved
            n += 1
        if counts[node] == 0 and others[node] == 0:
            remove_entry(table, tag, node + 1)
            give_back(registers, free, node)
        if is_left:
            i += 1
        else:
            j += 1
    return n
