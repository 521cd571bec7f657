"""Set operators: a bag of rows with two counts, one a side.

Each change is answered with how much it moves the multiplicity of its row. These add up over an instant whatever the order, also
where a count is below zero for a while.
"""

from __future__ import annotations

from sash.deltas import Int64s
from sash.kernels.bag import COUNT, OTHER, find_node, give_back, take_node
from sash.kernels.compiling import inlined, kernel
from sash.kernels.hashing import HALF, remove_entry
from sash.kernels.prefetching import look_ahead
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
    l_rows: Int64s, l_ts: Int64s, l_weight: Int64s, l_tags: Int64s, r_rows: Int64s, r_ts: Int64s, r_weight: Int64s,
    r_tags: Int64s, how: int, lanes: Int64s, registers: Int64s, table: Int64s, nodes: Int64s, free: Int64s, out_rows: Int64s,
    out_ts: Int64s, out_weight: Int64s,
) -> int:
    """There is room for all rows to be new."""
    i, j, n = 0, 0, 0
    left, right = l_rows.shape[1] + COUNT, l_rows.shape[1] + OTHER
    while i < len(l_ts) or j < len(r_ts):
        is_left = j >= len(r_ts) or (i < len(l_ts) and l_ts[i] <= r_ts[j])
        rows, tags = (l_rows, l_tags) if is_left else (r_rows, r_tags)
        place = i if is_left else j
        look_ahead(tags, place, table, nodes)
        tag = tags[place]
        slot = find_node(rows, place, lanes, tag, table, nodes, lanes)
        node = (table[slot] & HALF) - 1
        if table[slot] == 0:
            node = take_node(registers, free)
            copy_row(rows, place, nodes, node)
            nodes[node, left], nodes[node, right] = 0, 0
            table[slot] = (tag << 32) | (node + 1)
        before = multiplicity(how, nodes[node, left], nodes[node, right])
        if is_left:
            nodes[node, left] += l_weight[i]
        else:
            nodes[node, right] += r_weight[j]
        moved = multiplicity(how, nodes[node, left], nodes[node, right]) - before
        if moved:
            copy_row(rows, place, out_rows, n)
            out_ts[n], out_weight[n] = l_ts[i] if is_left else r_ts[j], moved
            n += 1
        if nodes[node, left] == 0 and nodes[node, right] == 0:
            remove_entry(table, tag, node + 1)
            give_back(registers, free, node)
        if is_left:
            i += 1
        else:
            j += 1
    return n


@kernel
def merge_changes(
    l_rows: Int64s, l_ts: Int64s, l_expiry: Int64s, l_weight: Int64s, r_rows: Int64s, r_ts: Int64s, r_expiry: Int64s,
    r_weight: Int64s, out_rows: Int64s, out_ts: Int64s, out_expiry: Int64s, out_weight: Int64s,
) -> None:
    """All changes of both sides in the order of time, those of the left side first."""
    i, j = 0, 0
    for n in range(len(out_ts)):
        if j >= len(r_ts) or (i < len(l_ts) and l_ts[i] <= r_ts[j]):
            copy_row(l_rows, i, out_rows, n)
            out_ts[n], out_expiry[n], out_weight[n] = l_ts[i], l_expiry[i], l_weight[i]
            i += 1
        else:
            copy_row(r_rows, j, out_rows, n)
            out_ts[n], out_expiry[n], out_weight[n] = r_ts[j], r_expiry[j], r_weight[j]
            j += 1
