"""A bag of rows: every distinct row once, with its count.

    table      by the hash of the whole row, to its node (hashing.py draws a table); ids are node + 1
    node       lanes of the row | count | more, by the kind of bag; the free ones are stacked in `free`
    by key     (keyed bags) a second table, to the newest node of a key, and chains both ways through the nodes

Counts may be negative between two changes of one instant; a node is there while its count is not 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sash.kernels.bundles import Line, Lines
from sash.kernels.compiling import inlined, kernel
from sash.kernels.hashing import HALF, equal_lanes, hash_lanes, insert_entry, remove_entry, tag_of
from sash.kernels.prefetching import look_ahead
from sash.kernels.rows import copy_row

Int64s = npt.NDArray[np.int64]


class KeyedNodes(NamedTuple):
    """What a keyed bag is made of; `lanes` are all of its rows, `key_lanes` those of the key."""

    registers: Line
    table: Line
    key_table: Line
    nodes: Lines
    free: Line
    lanes: Line
    key_lanes: Line


# Registers: nodes ever used, nodes on the free stack, nodes in the bag; of an answer, nodes that its indexes have not looked at.
USED, FREED, LIVE, TOUCHED = 0, 1, 2, 3
# Lanes of a node after those of its row: how often it is there; in a bag of two sides, how often on the right one; in a keyed
# bag, its neighbours.
COUNT, OTHER, FOLLOWING, PREVIOUS = 0, 1, 1, 2
NOBODY = -1


@inlined
def find_node(rows: Int64s, i: int, lanes: Int64s, tag: int, table: Int64s, nodes: Int64s, node_lanes: Int64s) -> int:
    """The slot of the entry whose node equals row i on these lanes, or the empty slot where it would go."""
    last = len(table) - 1
    slot = tag & last
    while table[slot]:
        entry = table[slot]
        if (entry >> 32) & HALF == tag and equal_lanes(rows, i, lanes, nodes, (entry & HALF) - 1, node_lanes):
            return slot
        slot = (slot + 1) & last
    return slot


@inlined
def take_node(registers: Int64s, free: Int64s) -> int:
    registers[LIVE] += 1
    if registers[FREED]:
        registers[FREED] -= 1
        return free[registers[FREED]]
    registers[USED] += 1
    return registers[USED] - 1


@inlined
def give_back(registers: Int64s, free: Int64s, node: int) -> None:
    registers[LIVE] -= 1
    free[registers[FREED]] = node
    registers[FREED] += 1


@inlined
def change_count(
    rows: Int64s, i: int, weight: int, lanes: Int64s, tag: int, registers: Int64s, table: Int64s, nodes: Int64s, free: Int64s
) -> None:
    """Add row i with its weight; there is room for it."""
    count = rows.shape[1] + COUNT
    slot = find_node(rows, i, lanes, tag, table, nodes, lanes)
    if table[slot]:
        node = (table[slot] & HALF) - 1
        nodes[node, count] += weight
        if nodes[node, count] == 0:
            remove_entry(table, tag, node + 1)
            give_back(registers, free, node)
    else:
        node = take_node(registers, free)
        copy_row(rows, i, nodes, node)
        nodes[node, count] = weight
        table[slot] = (tag << 32) | (node + 1)


@kernel
def change_counts(
    rows: Int64s, weights: Int64s, lanes: Int64s, tags: Int64s, registers: Int64s, table: Int64s, nodes: Int64s, free: Int64s
) -> None:
    """Add rows with their weights; there is room for all of them."""
    for i in range(len(weights)):
        look_ahead(tags, i, table, nodes)
        change_count(rows, i, weights[i], lanes, tags[i], registers, table, nodes, free)


@kernel
def change_keyed(rows: Int64s, i: int, weight: int, bag: KeyedNodes) -> None:
    """Add one row with its weight to a keyed bag.

    The newest node of a key heads its chain (PREVIOUS is NOBODY) and is what the key table names.
    """
    registers, table, key_table, nodes, free = bag.registers, bag.table, bag.key_table, bag.nodes, bag.free
    lanes, key_lanes, width = bag.lanes, bag.key_lanes, rows.shape[1]
    tag = tag_of(hash_lanes(rows, i, lanes))
    slot = find_node(rows, i, lanes, tag, table, nodes, lanes)
    if table[slot] == 0:
        node = take_node(registers, free)
        copy_row(rows, i, nodes, node)
        nodes[node, width + COUNT] = weight
        table[slot] = (tag << 32) | (node + 1)
        key_tag = tag_of(hash_lanes(rows, i, key_lanes))
        key_slot = find_node(rows, i, key_lanes, key_tag, key_table, nodes, key_lanes)
        head = (key_table[key_slot] & HALF) - 1
        nodes[node, width + FOLLOWING], nodes[node, width + PREVIOUS] = head, NOBODY
        if head != NOBODY:
            nodes[head, width + PREVIOUS] = node
        key_table[key_slot] = (key_tag << 32) | (node + 1)
        return
    node = (table[slot] & HALF) - 1
    nodes[node, width + COUNT] += weight
    if nodes[node, width + COUNT] == 0:
        remove_entry(table, tag, node + 1)
        leave_chain(rows, i, node, key_lanes, key_table, nodes)
        give_back(registers, free, node)


@inlined
def leave_chain(rows: Int64s, i: int, node: int, key_lanes: Int64s, key_table: Int64s, nodes: Int64s) -> None:
    width = rows.shape[1]
    before, after = nodes[node, width + PREVIOUS], nodes[node, width + FOLLOWING]
    if after != NOBODY:
        nodes[after, width + PREVIOUS] = before
    if before != NOBODY:
        nodes[before, width + FOLLOWING] = after
        return
    key_tag = tag_of(hash_lanes(rows, i, key_lanes))
    remove_entry(key_table, key_tag, node + 1)
    if after != NOBODY:
        insert_entry(key_table, key_tag, after + 1)
