"""Every left row with the nearest right row of its key.

    right     b        c c'          d         in the order of what is compared; of equal ones the first counts
    left        1 2  3    4  5  6      7       1 2 have b, 3 too; 4 5 6 have c; 7 has d

A right row that comes or goes changes only the left rows between it and the next other value: if c leaves they get c', if that
was not there they get b. Both sides lie in one tree a key, so a change costs their depth and what it changes. A kernel that finds
too little room for the next change says at `cursor[NEEDED]` how much it needs, and goes on there in the next call.
"""

from __future__ import annotations

from typing import NamedTuple

from sash.deltas import Int64s
from sash.kernels.bundles import Line, Lines, SignedChanges, opened
from sash.kernels.compiling import inlined, kernel
from sash.kernels.pairs import write_pair
from sash.kernels.ranking import AGAINST, ROOT, KeyPlaces, Ranked, forget_if_empty, partition_of
from sash.kernels.rows import has_null
from sash.kernels.strings import Strings
from sash.kernels.tree import COUNT, LEFT, RIGHT, TOTAL, Tree, count_before, find_row, next_node, node_at, order_of
from sash.operators.top.kernels import change_tree, enter, leave

LEFT_PLACE, RIGHT_PLACE, NEEDED, CURSOR = 0, 1, 2, 3
# What is compared: its lane on the left and on the right, how many lanes it has; whether equal ones are not near enough; whether
# a left row is shown without a right one.
LEFT_AT, RIGHT_AT, LANES, IS_STRICT, IS_OUTER, FACTS = 0, 1, 2, 3, 4, 5


class AsOfSide(NamedTuple):
    """Of one side: its key, the bits that say that it is NULL, a row to look for, the order of its tree, its first column."""

    places: KeyPlaces
    masks: Line
    probe: Lines
    orders: Lines
    first: Lines


class AsOfJoin(NamedTuple):
    """The trees of both sides belong to the partitions of the left one. Node 0 on the right is a row of NULLs."""

    left: AsOfSide
    right: AsOfSide
    ranked: Ranked
    others: Ranked
    facts: Line
    shape: Line
    strings: Strings


open_as_of = opened(AsOfJoin)


@kernel
def as_of_changes(
    l_rows: Int64s, l_ts: Int64s, l_weight: Int64s, r_rows: Int64s, r_ts: Int64s, r_weight: Int64s, cursor: Int64s,
    record: Int64s, out_rows: Int64s, out_ts: Int64s, out_weight: Int64s,
) -> int:
    """Change after change of both sides, the pairs that come and go."""
    join, out, n = open_as_of(record), SignedChanges(out_rows, out_ts, out_weight), 0
    ranked, partitions, tree = join.ranked, join.ranked.partitions, join.others.tree
    while cursor[LEFT_PLACE] < len(l_ts) or cursor[RIGHT_PLACE] < len(r_ts):
        i, j = cursor[LEFT_PLACE], cursor[RIGHT_PLACE]
        if j >= len(r_ts) or (i < len(l_ts) and l_ts[i] <= r_ts[j]):
            cursor[NEEDED] = 1
            if n + 1 > len(out_ts):
                return n
            n = _change_left(l_rows, i, l_ts[i], l_weight[i], join, out, n)
            cursor[LEFT_PLACE] = i + 1
            continue
        if has_null(r_rows, j, join.right.masks):
            cursor[RIGHT_PLACE] = j + 1
            continue
        partition = partition_of(r_rows, j, join.right.places, ranked)
        root, l_root = partitions[partition, AGAINST], partitions[partition, ROOT]
        start, stop = _touched(r_rows, j, l_root, root, join)
        cursor[NEEDED] = 2 * max(0, stop - start)
        if n + cursor[NEEDED] > len(out_ts):
            forget_if_empty(partition, ranked)
            return n
        node, _, parent, order = find_row(r_rows, j, tree, root, join.right.orders, join.strings)
        before = tree.nodes[node, COUNT] if node else 0
        after = max(0, before + r_weight[j])
        if after < before:
            root = leave(node, before - after, root, join.others)
        if (before > 0) != (after > 0):
            n = _write_rematched(r_rows, j, r_ts[j], 1 if after else -1, start, stop, l_root, root, join, out, n)
        if after > before:
            root = enter(r_rows, j, after - before, node, parent, order, root, join.others)
        partitions[partition, AGAINST] = root
        forget_if_empty(partition, ranked)
        cursor[RIGHT_PLACE] = j + 1
    return n


@inlined
def _change_left(rows: Int64s, i: int, ts: int, weight: int, join: AsOfJoin, out: SignedChanges, n: int) -> int:
    """A left row comes or goes: with its match, if it has one."""
    facts, partitions, probe, match = join.facts, join.ranked.partitions, join.right.probe, 0
    if not has_null(rows, i, join.left.masks):
        partition = partition_of(rows, i, join.left.places, join.ranked)
        for lane in range(facts[LANES]):
            probe[0, facts[RIGHT_AT] + lane] = rows[i, facts[LEFT_AT] + lane]
        tree, root = join.others.tree, partitions[partition, AGAINST]
        match = _nearest(probe, 0, facts[IS_STRICT] == 1, join.right.first, tree, root, join.strings)
        root = partitions[partition, ROOT]
        partitions[partition, ROOT] = change_tree(rows, i, weight, root, join.ranked, join.left.orders, join.strings)
        forget_if_empty(partition, join.ranked)
    return _write(rows, i, match, ts, weight, join, out, n)


@inlined
def _write(rows: Int64s, i: int, match: int, ts: int, weight: int, join: AsOfJoin, out: SignedChanges, n: int) -> int:
    """A left row with a stored right row, or with none."""
    if match == 0 and join.facts[IS_OUTER] == 0:
        return n
    stored, shape = join.others.tree.stored, join.shape
    write_pair(rows, i, shape[3], stored, match, stored.shape[1], shape, out.rows, n)
    out.ts[n], out.weight[n] = ts, weight
    return n + 1


@kernel
def _nearest(rows: Int64s, i: int, strictly: bool, first: Int64s, tree: Tree, root: int, strings: Strings) -> int:
    """The first of the nodes that have the last value before that of a row (or equal to it); 0 if there is none."""
    node, last = root, 0
    while node:
        order = order_of(rows, i, tree.stored, node, first, strings)
        if order > 0 or (order == 0 and not strictly):
            last, node = node, tree.nodes[node, RIGHT]
        else:
            node = tree.nodes[node, LEFT]
    if last == 0:
        return 0
    return _first_equal(tree.stored, last, first, tree, root, strings)


@kernel
def _first_equal(rows: Int64s, i: int, first: Int64s, tree: Tree, root: int, strings: Strings) -> int:
    """The first node with the value of a row, or 0."""
    node, found = root, 0
    while node:
        order = order_of(rows, i, tree.stored, node, first, strings)
        if order == 0:
            found = node
        node = tree.nodes[node, RIGHT] if order > 0 else tree.nodes[node, LEFT]
    return found


@inlined
def _touched(rows: Int64s, j: int, l_root: int, root: int, join: AsOfJoin) -> tuple[int, int]:
    """The ranks of the left rows between the value of a right row and the next other one."""
    facts, probe, left, tree, first = join.facts, join.left.probe, join.ranked.tree, join.others.tree, join.left.first
    strictly = facts[IS_STRICT] == 1
    for lane in range(facts[LANES]):
        probe[0, facts[LEFT_AT] + lane] = rows[j, facts[RIGHT_AT] + lane]
    start = count_before(probe, 0, strictly, left, l_root, first, join.strings)
    node, following = root, 0
    while node:
        if order_of(rows, j, tree.stored, node, join.right.first, join.strings) < 0:
            following, node = node, tree.nodes[node, LEFT]
        else:
            node = tree.nodes[node, RIGHT]
    if following == 0:
        return start, left.nodes[l_root, TOTAL]
    for lane in range(facts[LANES]):
        probe[0, facts[LEFT_AT] + lane] = tree.stored[following, facts[RIGHT_AT] + lane]
    return start, count_before(probe, 0, strictly, left, l_root, first, join.strings)


@inlined
def _write_rematched(
    rows: Int64s, j: int, ts: int, sign: int, start: int, stop: int, l_root: int, root: int, join: AsOfJoin, out: SignedChanges,
    n: int,
) -> int:
    """The left rows of some ranks get right row j for what they have without it, as the tree is; or back, by the sign."""
    if start >= stop:
        return n
    left, tree, first, strings, shape = join.ranked.tree, join.others.tree, join.right.first, join.strings, join.shape
    other = _first_equal(rows, j, first, tree, root, strings)
    if other and order_of(rows, j, tree.stored, other, join.right.orders, strings) > 0:
        return n
    if other == 0:
        other = _nearest(rows, j, True, first, tree, root, strings)
    node, rank = node_at(left.nodes, l_root, start)
    while node and rank < stop:
        count = left.nodes[node, COUNT]
        n = _write(left.stored, node, other, ts, -sign * count, join, out, n)
        write_pair(left.stored, node, shape[3], rows, j, rows.shape[1], shape, out.rows, n)
        out.ts[n], out.weight[n] = ts, sign * count
        n += 1
        rank += count
        node = next_node(left.nodes, node)
    return n
