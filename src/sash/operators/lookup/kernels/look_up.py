"""Arriving rows are paired with the rows that a table has when they arrive."""

from __future__ import annotations

from typing import NamedTuple

from sash.deltas import Int64s
from sash.kernels.bag import COUNT, FOLLOWING, KeyedNodes, change_keyed
from sash.kernels.bundles import Changes, opened
from sash.kernels.compiling import inlined, kernel
from sash.kernels.pairs import CHAIN, LEFT, RIGHT, PairSides, newest_of_key, write_pair
from sash.kernels.row_log import NOBODY
from sash.kernels.rows import has_null


class LookupSides(NamedTuple):
    sides: PairSides
    table: KeyedNodes


open_lookup = opened(LookupSides)


@inlined
def is_table_next(l_ts: Int64s, r_ts: Int64s, cursor: Int64s) -> bool:
    """Whether the table changes before the next row comes; rows of an instant come before the changes of that instant."""
    i, j = cursor[LEFT], cursor[RIGHT]
    return j < len(r_ts) and (i >= len(l_ts) or r_ts[j] < l_ts[i])


@inlined
def change_table(rows: Int64s, weight: Int64s, sides: PairSides, table: KeyedNodes) -> None:
    """The next change of a table that is looked up; what has no key is not kept."""
    j = sides.cursor[RIGHT]
    if not has_null(rows, j, sides.right.masks):
        change_keyed(rows, j, weight[j], table)
    sides.cursor[RIGHT] += 1


@inlined
def write_found(left: Changes, i: int, node: int, width: int, sides: PairSides, table: KeyedNodes, out: Changes, n: int) -> None:
    """A row with a node of the table, whose rows are of a width: it lives as long as the row."""
    write_pair(left.rows, i, left.rows.shape[1], table.nodes, node, width, sides.shape, out.rows, n)
    out.ts[n], out.expiry[n], out.weight[n] = left.ts[i], left.expiry[i], left.weight[i] * table.nodes[node, width + COUNT]


@kernel
def look_up(
    l_rows: Int64s, l_ts: Int64s, l_expiry: Int64s, l_weight: Int64s, r_rows: Int64s, r_ts: Int64s, r_weight: Int64s,
    record: Int64s, out_rows: Int64s, out_ts: Int64s, out_expiry: Int64s, out_weight: Int64s,
) -> int:
    """Pair arriving rows with a table as it is then."""
    left, out = Changes(l_rows, l_ts, l_expiry, l_weight), Changes(out_rows, out_ts, out_expiry, out_weight)
    lookup = open_lookup(record)
    sides, table, cursor = lookup.sides, lookup.table, lookup.sides.cursor
    r_width, n = r_rows.shape[1], 0
    while cursor[LEFT] < len(l_ts) or cursor[RIGHT] < len(r_ts):
        i = cursor[LEFT]
        if is_table_next(l_ts, r_ts, cursor):
            change_table(r_rows, r_weight, sides, table)
            continue
        partner = cursor[CHAIN] - 1
        if cursor[CHAIN] == 0 and not has_null(l_rows, i, sides.left.masks):
            partner = newest_of_key(l_rows, i, sides.left.lanes, table)
        while partner != NOBODY:
            if n == len(out_ts):
                cursor[CHAIN] = partner + 1
                return n
            write_found(left, i, partner, r_width, sides, table, out, n)
            n += 1
            partner = table.nodes[partner, r_width + FOLLOWING]
        cursor[CHAIN] = 0
        cursor[LEFT] += 1
    return n
