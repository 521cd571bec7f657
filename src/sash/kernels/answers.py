"""Answers: bags of whole rows (`bag.py` draws one) that are only added to, by lanes that lie side by side.

An answer takes every change of a view, and gives its rows when somebody asks. No operator looks into it, so its tags are its own:
a sum of products, mixed once, where tags of keys mix every lane. Where a few lanes tell rows apart, as the key of a group does,
tags are of these: so the row that takes the place of another, right after it has left, has its tag and gets its node.
"""

from __future__ import annotations

from sash.deltas import Int64s
from sash.kernels.bag import COUNT, TOUCHED, give_back, take_node
from sash.kernels.compiling import inlined, kernel
from sash.kernels.hashing import HALF, mix, remove_entry, tag_of
from sash.kernels.prefetching import look_ahead
from sash.kernels.rows import copy_row
from sash.kernels.view_index import touch

_FACTOR = 0xD6E8FEB86659FD93 - 2**64  # odd, of 64 bits


@kernel
def tag_answers(rows: Int64s, lanes: int, tags: Int64s) -> None:
    """The tag of every row, by so many of its first lanes."""
    for i in range(len(rows)):
        state = 0
        for lane in range(lanes):
            state = state * _FACTOR + rows[i, lane]
        tags[i] = tag_of(mix(0, state))


@inlined
def _find(rows: Int64s, i: int, tag: int, table: Int64s, nodes: Int64s) -> int:
    """The slot of row i, or the empty one where it would go."""
    last, width = len(table) - 1, rows.shape[1]
    slot = tag & last
    while table[slot]:
        if (table[slot] >> 32) & HALF == tag:
            node, lane = (table[slot] & HALF) - 1, 0
            while lane < width and rows[i, lane] == nodes[node, lane]:
                lane += 1
            if lane == width:
                return slot
        slot = (slot + 1) & last
    return slot


@kernel
def add_to_answer(
    rows: Int64s, weights: Int64s, tags: Int64s, registers: Int64s, table: Int64s, nodes: Int64s, free: Int64s, touched: Int64s
) -> None:
    """Add rows with their weights; there is room for all of them. For indexes, nodes that change are noted."""
    count, is_taken, is_watched = rows.shape[1] + COUNT, False, len(touched) > 0
    for i in range(len(weights)):
        look_ahead(tags, i, table, nodes)
        if is_taken:
            is_taken = False
            continue
        slot = _find(rows, i, tags[i], table, nodes)
        if table[slot] == 0:
            node = take_node(registers, free)
            copy_row(rows, i, nodes, node)
            nodes[node, count] = weights[i]
            table[slot] = (tags[i] << 32) | (node + 1)
            if is_watched:
                touch(node, TOUCHED, registers, touched)
            continue
        node = (table[slot] & HALF) - 1
        nodes[node, count] += weights[i]
        if is_watched:
            touch(node, TOUCHED, registers, touched)
        has_heir = nodes[node, count] == 0 and i + 1 < len(weights) and tags[i + 1] == tags[i]
        if has_heir and table[_find(rows, i + 1, tags[i], table, nodes)] == 0:  # one that has a node already keeps it
            copy_row(rows, i + 1, nodes, node)
            nodes[node, count] = weights[i + 1]
            is_taken = True
        elif nodes[node, count] == 0:
            remove_entry(table, tags[i], node + 1)
            give_back(registers, free, node)


@kernel
def add_few(rows: Int64s, counts: Int64s, few: Int64s, weights: Int64s, found: Int64s) -> None:
    """Add the weights of a few rows to the counts of those that are equal; which of the few were there."""
    for i in range(len(rows)):
        for j in range(len(few)):
            lane = 0
            while lane < rows.shape[1] and rows[i, lane] == few[j, lane]:
                lane += 1
            if lane == rows.shape[1]:
                counts[i] += weights[j]
                found[j] = 1
