"""Join of rows that leave early with a table whose changes touch only what comes later.

    instances    left rows, one by one, as in sequence.py: those of one row from the youngest back
    pairs        a keyed bag: lanes of a table row | number of the instance that met it; found by that number

A row that leaves takes back what was given for it, whatever the table has become. Of equal rows the oldest leaves first. At one
instant rows leave before others come, so the changes of an instant may stand in any order; one that leaves before it has come is
owed (a bag of rows), and is not paired when it comes.
"""

from __future__ import annotations

from typing import NamedTuple

from sash.deltas import Int64s
from sash.kernels.bag import COUNT, FOLLOWING, NOBODY, KeyedNodes, change_keyed
from sash.kernels.bundles import Lines, SignedChanges, opened
from sash.kernels.compiling import inlined, kernel
from sash.kernels.pairs import CHAIN, CURSOR, LEFT, RIGHT, PairSides, newest_of_key, write_pair
from sash.kernels.rows import has_null
from sash.operators.lookup.kernels.look_up import change_table, is_table_next
from sash.operators.sequence.kernels import (
    KEY_YOUNGER,
    OLDER,
    WaitingNodes,
    enter_waiting,
    leave_waiting,
    youngest_of,
)

UNITS = CURSOR  # one more place of the cursor: how many units of a change are done


class RememberedLookup(NamedTuple):
    """`pair` is one line of a pair to work with."""

    sides: PairSides
    table: KeyedNodes
    instances: WaitingNodes
    pairs: KeyedNodes
    owed: KeyedNodes
    pair: Lines


open_remembered = opened(RememberedLookup)


@kernel
def look_up_signed(
    l_rows: Int64s, l_ts: Int64s, l_weight: Int64s, r_rows: Int64s, r_ts: Int64s, r_weight: Int64s, record: Int64s,
    out_rows: Int64s, out_ts: Int64s, out_weight: Int64s,
) -> int:
    """Pair rows that come with a table as it is then; unpair rows that go, which stand first in their instant."""
    left, out = SignedChanges(l_rows, l_ts, l_weight), SignedChanges(out_rows, out_ts, out_weight)
    lookup, n, is_done = open_remembered(record), 0, True
    cursor = lookup.sides.cursor
    while is_done and (cursor[LEFT] < len(l_ts) or cursor[RIGHT] < len(r_ts)):
        i = cursor[LEFT]
        if is_table_next(l_ts, r_ts, cursor):
            change_table(r_rows, r_weight, lookup.sides, lookup.table)
            continue
        while is_done and cursor[UNITS] < abs(l_weight[i]) and not has_null(l_rows, i, lookup.sides.left.masks):
            if l_weight[i] > 0:
                n, is_done = _come(left, i, lookup, out, n)
            else:
                n, is_done = _go(left, i, lookup, out, n)
            if is_done:
                cursor[CHAIN] = 0
                cursor[UNITS] += 1
        if is_done:
            cursor[CHAIN] = cursor[UNITS] = 0
            cursor[LEFT] += 1
    return n


@inlined
def _come(left: SignedChanges, i: int, lookup: RememberedLookup, out: SignedChanges, n: int) -> tuple[int, bool]:
    """One more of a row: it is paired, and its pairs remembered, unless one is owed. Where the output ends, and whether there was
    room for all.
    """
    cursor, table, instances, pair, owed = lookup.sides.cursor, lookup.table, lookup.instances, lookup.pair, lookup.owed
    partner, r_width = cursor[CHAIN] - 1, pair.shape[1] - 1
    if cursor[CHAIN] == 0:
        if newest_of_key(left.rows, i, owed.lanes, owed) != NOBODY:
            change_keyed(left.rows, i, 1, owed)
            return n, True
        enter_waiting(left.rows, i, left.ts[i], instances)
        partner = newest_of_key(left.rows, i, lookup.sides.left.lanes, table)
    pair[0, r_width] = instances.links[0, OLDER]
    while partner != NOBODY:
        if n == len(out.ts):
            cursor[CHAIN] = partner + 1
            return n, False
        count = table.nodes[partner, r_width + COUNT]
        write_pair(left.rows, i, left.rows.shape[1], table.nodes, partner, r_width, lookup.sides.shape, out.rows, n)
        out.ts[n], out.weight[n] = left.ts[i], count
        n += 1
        for lane in range(r_width):
            pair[0, lane] = table.nodes[partner, lane]
        change_keyed(pair, 0, count, lookup.pairs)
        partner = table.nodes[partner, r_width + FOLLOWING]
    return n, True


@inlined
def _go(left: SignedChanges, i: int, lookup: RememberedLookup, out: SignedChanges, n: int) -> tuple[int, bool]:
    """One less of a row, the oldest: what it was paired with is taken back. A row that is not there is owed."""
    cursor, instances, pairs, pair, owed = lookup.sides.cursor, lookup.instances, lookup.pairs, lookup.pair, lookup.owed
    partner, r_width = cursor[CHAIN] - 1, pair.shape[1] - 1
    youngest = youngest_of(left.rows, i, owed.lanes, lookup.sides.left.masks, instances)
    if youngest == 0:
        change_keyed(left.rows, i, -1, owed)
        return n, True
    instance = instances.links[youngest, KEY_YOUNGER]
    pair[0, r_width] = instance
    if cursor[CHAIN] == 0:
        partner = newest_of_key(pair, 0, pairs.key_lanes, pairs)
    while partner != NOBODY:
        if n == len(out.ts):
            cursor[CHAIN] = partner + 1
            return n, False
        write_pair(left.rows, i, left.rows.shape[1], pairs.nodes, partner, r_width, lookup.sides.shape, out.rows, n)
        out.ts[n], out.weight[n] = left.ts[i], -pairs.nodes[partner, r_width + 1 + COUNT]
        n += 1
        partner = pairs.nodes[partner, r_width + 1 + FOLLOWING]
    partner = newest_of_key(pair, 0, pairs.key_lanes, pairs)
    while partner != NOBODY:
        for lane in range(r_width):
            pair[0, lane] = pairs.nodes[partner, lane]
        change_keyed(pair, 0, -pairs.nodes[partner, r_width + 1 + COUNT], pairs)
        partner = newest_of_key(pair, 0, pairs.key_lanes, pairs)
    leave_waiting(instance, instances)
    return n, True
