"""The first rows of every partition, with and without their numbers, and all rows of one, instant after instant.

Every row changes at most once an instant: the changes are added up before. A kernel that finds too little room for the next
change (or instant) says at `cursor[NEEDED]` how much it needs, and goes on there in the next call.
"""

from __future__ import annotations

from typing import NamedTuple

from sash.deltas import Int64s
from sash.kernels.bundles import Lines, SignedChanges, opened
from sash.kernels.compiling import inlined, kernel
from sash.kernels.ranking import (
    GROWTH,
    LIVE_NODES,
    NEXT,
    ROOT,
    TOUCHED,
    KeyPlaces,
    Ranked,
    forget_if_empty,
    free_node,
    new_node,
    partition_of,
    write_ranks,
    write_shift,
)
from sash.kernels.rows import copy_row
from sash.kernels.strings import Strings
from sash.kernels.tree import COUNT, TOTAL, Tree, add_count, find_row, insert_node, next_node, node_at, remove_node

PLACE, NEEDED = 0, 1  # of the cursor


class RankedRows(NamedTuple):
    """Partitions of rows in an order, and how a row finds its place in them."""

    places: KeyPlaces
    ranked: Ranked
    orders: Lines
    strings: Strings


open_rows = opened(RankedRows)


@inlined
def enter(rows: Int64s, i: int, count: int, found: int, parent: int, order: int, root: int, ranked: Ranked) -> int:
    """Put a row into a tree, where `find_row` said; the answer is the root."""
    nodes = ranked.tree.nodes
    if found:
        add_count(nodes, found, count)
        return root
    node = new_node(ranked.registers, nodes)
    copy_row(rows, i, ranked.tree.stored, node)
    return insert_node(nodes, root, node, parent, order, count)


@inlined
def leave(node: int, count: int, root: int, ranked: Ranked) -> int:
    """Take some of the rows of a node out of its tree; the answer is the root."""
    nodes = ranked.tree.nodes
    if nodes[node, COUNT] > count:
        add_count(nodes, node, -count)
        return root
    root = remove_node(nodes, root, node)
    free_node(ranked.registers, nodes, node)
    return root


@inlined
def change_tree(rows: Int64s, i: int, weight: int, root: int, ranked: Ranked, orders: Int64s, strings: Strings) -> int:
    """Enter a change of row i into a tree; the answer is the root."""
    node, _, parent, order = find_row(rows, i, ranked.tree, root, orders, strings)
    if weight > 0:
        root = enter(rows, i, weight, node, parent, order, root, ranked)
    elif node:
        root = leave(node, -weight, root, ranked)
    return root


@inlined
def change_partitions(changes: SignedChanges, first: int, last: int, kept: RankedRows) -> None:
    """Enter the changes [first, last) into the trees of their partitions."""
    partitions = kept.ranked.partitions
    for i in range(first, last):
        partition = partition_of(changes.rows, i, kept.places, kept.ranked)
        root = partitions[partition, ROOT]
        partitions[partition, ROOT] = change_tree(
            changes.rows, i, changes.weight[i], root, kept.ranked, kept.orders, kept.strings
        )


@kernel
def top_changes(
    rows: Int64s, ts: Int64s, weight: Int64s, cursor: Int64s, start: int, stop: int, record: Int64s, out_rows: Int64s,
    out_ts: Int64s, out_weight: Int64s,
) -> int:
    """Change after change, what enters and leaves the ranks [start, stop) of its partition."""
    kept, out, n = open_rows(record), SignedChanges(out_rows, out_ts, out_weight), 0
    ranked, tree, partitions = kept.ranked, kept.ranked.tree, kept.ranked.partitions
    while cursor[PLACE] < len(ts):
        i = cursor[PLACE]
        count = abs(weight[i])
        cursor[NEEDED] = 2 * min(count, ranked.registers[LIVE_NODES] + 1) + 1
        if n + cursor[NEEDED] > len(out_ts):
            return n
        partition = partition_of(rows, i, kept.places, ranked)
        root = partitions[partition, ROOT]
        node, rank, parent, order = find_row(rows, i, tree, root, kept.orders, kept.strings)
        if weight[i] > 0:
            n = write_shift(rows, i, rank, count, tree, root, start, stop, 1, ts[i], out, n)
            root = enter(rows, i, count, node, parent, order, root, ranked)
        elif node:
            root = leave(node, count, root, ranked)
            n = write_shift(rows, i, rank, count, tree, root, start, stop, -1, ts[i], out, n)
        partitions[partition, ROOT] = root
        forget_if_empty(partition, ranked)
        cursor[PLACE] = i + 1
    return n


@kernel
def numbered_changes(
    rows: Int64s, ts: Int64s, weight: Int64s, cursor: Int64s, start: int, stop: int, values: int, record: Int64s,
    out_rows: Int64s, out_ts: Int64s, out_weight: Int64s,
) -> int:
    """Instant after instant, the ranks of every touched partition from the first that changes on: as they were, as they are.

    `values` is how many lanes the values of a row take: its number comes after them, before the masks.
    """
    kept, out, n = open_rows(record), SignedChanges(out_rows, out_ts, out_weight), 0
    tree, partitions = kept.ranked.tree, kept.ranked.partitions
    while cursor[PLACE] < len(ts):
        first, last, touched = cursor[PLACE], cursor[PLACE], 0
        while last < len(ts) and ts[last] == ts[first]:
            partition = partition_of(rows, last, kept.places, kept.ranked)
            rank = find_row(rows, last, tree, partitions[partition, ROOT], kept.orders, kept.strings)[1]
            touched = _touch(partition, rank, weight[last], partitions, touched)
            last += 1
        cursor[NEEDED] = _needed(touched, start, stop, partitions, tree.nodes)
        if n + cursor[NEEDED] > len(out_ts):
            while touched:
                touched = _untouch(touched, partitions)
            return n
        partition = touched
        while partition:
            n = _write_numbered(partition, start, stop, values, -1, ts[first], partitions, tree, out, n)
            partition = partitions[partition, NEXT]
        change_partitions(SignedChanges(rows, ts, weight), first, last, kept)
        while touched:
            n = _write_numbered(touched, start, stop, values, 1, ts[first], partitions, tree, out, n)
            partition, touched = touched, _untouch(touched, partitions)
            forget_if_empty(partition, kept.ranked)
        cursor[PLACE] = last
    return n


@inlined
def _touch(partition: int, rank: int, weight: int, partitions: Int64s, touched: int) -> int:
    """Put a partition on the list of touched ones; the answer is the first of them."""
    if partitions[partition, TOUCHED] == 0:
        partitions[partition, TOUCHED], partitions[partition, NEXT] = rank + 1, touched
        touched = partition
    partitions[partition, TOUCHED] = min(partitions[partition, TOUCHED], rank + 1)
    partitions[partition, GROWTH] += weight
    return touched


@inlined
def _untouch(partition: int, partitions: Int64s) -> int:
    """Take the first one off the list; the answer is the next."""
    partitions[partition, TOUCHED], partitions[partition, GROWTH] = 0, 0
    return partitions[partition, NEXT]


@inlined
def _needed(touched: int, start: int, stop: int, partitions: Int64s, nodes: Int64s) -> int:
    """How many rows will be written for the touched partitions."""
    needed, partition = 0, touched
    while partition:
        first = max(start, partitions[partition, TOUCHED] - 1)
        total = nodes[partitions[partition, ROOT], TOTAL]
        needed += max(0, min(stop, total) - first) + max(0, min(stop, total + partitions[partition, GROWTH]) - first)
        partition = partitions[partition, NEXT]
    return needed


@kernel
def _write_numbered(
    partition: int, start: int, stop: int, values: int, sign: int, ts: int, partitions: Int64s, tree: Tree, out: SignedChanges,
    n: int,
) -> int:
    """Write the rows of the ranks in [start, stop) that change, one by one, each with its number."""
    stored, nodes, root = tree.stored, tree.nodes, partitions[partition, ROOT]
    start, stop = max(start, partitions[partition, TOUCHED] - 1), min(stop, nodes[root, TOTAL])
    if start >= stop:
        return n
    node, first = node_at(nodes, root, start)
    for rank in range(start, stop):
        if rank == first + nodes[node, COUNT]:
            first, node = rank, next_node(nodes, node)
        for lane in range(values):
            out.rows[n, lane] = stored[node, lane]
        out.rows[n, values] = rank + 1
        for lane in range(values + 1, out.rows.shape[1]):
            out.rows[n, lane] = stored[node, lane - 1] if lane <= stored.shape[1] else 0
        out.ts[n], out.weight[n] = ts, sign
        n += 1
    return n


@kernel
def snapshots(
    rows: Int64s, ts: Int64s, weight: Int64s, cursor: Int64s, root_of: Int64s, record: Int64s, out_rows: Int64s, out_ts: Int64s,
    out_weight: Int64s,
) -> int:
    """After every instant, all rows of the one tree whose root is `root_of[0]`, equal ones as one change."""
    kept, out, n = open_rows(record), SignedChanges(out_rows, out_ts, out_weight), 0
    tree, registers = kept.ranked.tree, kept.ranked.registers
    while cursor[PLACE] < len(ts):
        first = cursor[PLACE]
        last = first
        while last < len(ts) and ts[last] == ts[first]:
            last += 1
        cursor[NEEDED] = registers[LIVE_NODES] + last - first
        if n + cursor[NEEDED] > len(out_ts):
            return n
        root = root_of[0]
        for i in range(first, last):
            root = change_tree(rows, i, weight[i], root, kept.ranked, kept.orders, kept.strings)
        root_of[0] = root
        n = write_ranks(tree, root, 0, tree.nodes[root, TOTAL], 1, ts[first], out, n)
        cursor[PLACE] = last
    return n
