"""Partitions of rows, each in an order: what Top, Minus and Snapshots look at.

    table -> partition -> ROOT of its tree (tree.py draws one)

A window of ranks is what an operator shows of a partition. Rows that enter or leave shift the others, and some of those cross a
border of the window; only these are written out, so a change costs the depth of the tree and what it changes.
"""

from __future__ import annotations

from typing import NamedTuple

from sash.deltas import Int64s
from sash.kernels.bundles import Line, Lines, SignedChanges
from sash.kernels.compiling import inlined, kernel
from sash.kernels.hashing import HALF, hash_lanes, remove_entry, tag_of
from sash.kernels.tree import COUNT, PARENT, TOTAL, Tree, next_node, node_at

# Registers. Free nodes are chained by PARENT, free partitions by NEXT.
LIVE_NODES, USED_NODES, FREE_NODE, LIVE_PARTITIONS, USED_PARTITIONS, FREE_PARTITION, REGISTERS = 0, 1, 2, 3, 4, 5, 6
# Fields of a partition; partitions are numbered from 1. AGAINST is what Minus counts on its right side, and the root of the tree
# of right rows for AsOf. The others serve during one instant: the least rank that changes, counted from 1; how many rows are
# added; the next in a list; how many rows come after the last that changes.
ROOT, AGAINST, TOUCHED, GROWTH, NEXT, TAIL, PARTITION_FIELDS = 0, 1, 2, 3, 4, 5, 6


class KeyPlaces(NamedTuple):
    """Where the key of a partition lies in a row: its lanes, and for every column the mask lane and bit that say it is NULL."""

    lanes: Line
    nulls: Lines


class Ranked(NamedTuple):
    """What partitions of rows are made of; `key` is room for one key, `key_lanes` are all of its lanes."""

    registers: Line
    table: Line
    keys: Lines
    partitions: Lines
    tree: Tree
    key: Lines
    key_lanes: Line


class Aged(NamedTuple):
    """Partitions of rows that are found also by row, by a table of their own; `lanes` are all of a row."""

    ranked: Ranked
    row_table: Line
    lanes: Line


@inlined
def partition_of(rows: Int64s, i: int, places: KeyPlaces, ranked: Ranked) -> int:
    """The partition of a row, a new one if there is none; the caller knows that there is room."""
    key, registers, table, keys, partitions = ranked.key, ranked.registers, ranked.table, ranked.keys, ranked.partitions
    _write_key(rows, i, places, key)
    tag = tag_of(hash_lanes(key, 0, ranked.key_lanes))
    last = len(table) - 1
    slot = tag & last
    while table[slot]:
        partition = table[slot] & HALF
        if (table[slot] >> 32) & HALF == tag:
            is_equal = True
            for lane in range(key.shape[1]):
                is_equal = is_equal and keys[partition, lane] == key[0, lane]
            if is_equal:
                return partition
        slot = (slot + 1) & last
    registers[LIVE_PARTITIONS] += 1
    partition = registers[FREE_PARTITION]
    if partition:
        registers[FREE_PARTITION] = partitions[partition, NEXT]
    else:
        registers[USED_PARTITIONS] += 1
        partition = registers[USED_PARTITIONS]
    for lane in range(key.shape[1]):
        keys[partition, lane] = key[0, lane]
    for field in range(PARTITION_FIELDS):
        partitions[partition, field] = 0
    table[slot] = (tag << 32) | partition
    return partition


@inlined
def _write_key(rows: Int64s, i: int, places: KeyPlaces, key: Int64s) -> None:
    """The key of a row: its lanes, then a bit for every column that is NULL."""
    lanes, nulls = places.lanes, places.nulls
    for place in range(len(lanes)):
        key[0, place] = rows[i, lanes[place]]
    for lane in range(len(lanes), key.shape[1]):
        key[0, lane] = 0
    for column in range(len(nulls)):
        key[0, len(lanes) + column // 32] |= ((rows[i, nulls[column, 0]] >> nulls[column, 1]) & 1) << (column % 32)


@inlined
def forget_if_empty(partition: int, ranked: Ranked) -> None:
    if ranked.partitions[partition, ROOT] == 0 and ranked.partitions[partition, AGAINST] == 0:
        _forget(partition, ranked.key_lanes, ranked.registers, ranked.table, ranked.keys, ranked.partitions)


@kernel
def _forget(
    partition: int, key_lanes: Int64s, registers: Int64s, table: Int64s, keys: Int64s, partitions: Int64s
) -> None:
    remove_entry(table, tag_of(hash_lanes(keys, partition, key_lanes)), partition)
    for lane in range(keys.shape[1]):
        keys[partition, lane] = 0
    partitions[partition, NEXT] = registers[FREE_PARTITION]
    registers[FREE_PARTITION] = partition
    registers[LIVE_PARTITIONS] -= 1


@inlined
def new_node(registers: Int64s, nodes: Int64s) -> int:
    registers[LIVE_NODES] += 1
    node = registers[FREE_NODE]
    if node:
        registers[FREE_NODE] = nodes[node, PARENT]
        return node
    registers[USED_NODES] += 1
    return registers[USED_NODES]


@inlined
def free_node(registers: Int64s, nodes: Int64s, node: int) -> None:
    nodes[node, PARENT] = registers[FREE_NODE]
    registers[FREE_NODE] = node
    registers[LIVE_NODES] -= 1


@kernel
def write_ranks(tree: Tree, root: int, start: int, stop: int, sign: int, ts: int, out: SignedChanges, n: int) -> int:
    """Write the rows of the ranks in [start, stop) that there are, equal ones as one change; `n` are written already."""
    nodes = tree.nodes
    stop = min(stop, nodes[root, TOTAL])
    if start >= stop:
        return n
    node, first = node_at(nodes, root, start)
    while node and first < stop:
        for lane in range(out.rows.shape[1]):
            out.rows[n, lane] = tree.stored[node, lane]
        count = min(first + nodes[node, COUNT], stop) - max(first, start)
        out.ts[n], out.weight[n] = ts, sign * count
        n += 1
        first += nodes[node, COUNT]
        node = next_node(nodes, node)
    return n


@kernel
def write_moves(
    tree: Tree, root: int, low: int, high: int, before: int, after: int, next_before: int, next_after: int, sign: int, ts: int,
    out: SignedChanges, n: int,
) -> int:
    """Of the rows with ranks in [low, high), write those that are in one of two windows only.

    They leave when they are in [before, after) and enter when they are in [next_before, next_after); a sign of -1 says it the
    other way round.
    """
    a, b = max(low, before), min(high, after)
    c, d = max(low, next_before), min(high, next_after)
    if a >= b:
        a, b = d, d
    if c >= d:
        c, d = b, b
    n = write_ranks(tree, root, a, min(b, c), -sign, ts, out, n)
    n = write_ranks(tree, root, max(a, d), b, -sign, ts, out, n)
    n = write_ranks(tree, root, c, min(d, a), sign, ts, out, n)
    return write_ranks(tree, root, max(c, b), d, sign, ts, out, n)


@kernel
def write_shift(
    rows: Int64s, i: int, rank: int, count: int, tree: Tree, root: int, start: int, stop: int, sign: int, ts: int,
    out: SignedChanges, n: int,
) -> int:
    """What changes in the window [start, stop) when `count` times row i enters at a rank.

    With a sign of -1: when they leave. The tree is always the one without them.

        before        a b c d e f         window [1, 4): b c d
        x x at 2      a b x x c d e f     window [1, 4): b x x      - c d   + x x
    """
    end = tree.nodes[root, TOTAL]
    n = write_moves(tree, root, 0, rank, start, stop, start, stop, sign, ts, out, n)
    n = write_moves(tree, root, rank, end, start, stop, start - count, stop - count, sign, ts, out, n)
    shown = min(rank + count, stop) - max(rank, start)
    if shown > 0:
        for lane in range(out.rows.shape[1]):
            out.rows[n, lane] = rows[i, lane]
        out.ts[n], out.weight[n] = ts, sign * shown
        n += 1
    return n
