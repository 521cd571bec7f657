"""Indexes of an answer: nodes of its bag (`bag.py` draws one), found by the values of some columns.

    bag        touched: the nodes whose row came, went, was replaced or counted anew since the indexes were last asked, each once
    hash       key table ─▶ first node of a tag ─▶ next ─▶ …          one line (tag, next, before) a node of the bag
    tree       a treap (`tree.py` draws one) of the same nodes, in the order of the columns, equal ones in any order; it counts
               rows, a node as often as its row is in the answer

An index is asked for candidates: all rows that have the values, perhaps others of the same tag. Whoever asks tests them.
All nodes that were touched are taken out by their links, whatever their rows are by now, before any is put in: no row is compared
that has gone.
"""

from __future__ import annotations

from typing import NamedTuple

from sash.deltas import Int64s
from sash.kernels.bundles import Line, opened
from sash.kernels.compiling import inlined, kernel
from sash.kernels.hashing import HALF, mix, remove_entry, tag_of
from sash.kernels.strings import Strings
from sash.kernels.tree import COUNT, LEFT, RIGHT, Tree, count_before, insert_node, next_node, node_at, order_of, remove_node

NODE, IS_TOUCHED = 0, 1  # columns of the list of touched nodes: whom it names, and whether the node of this place is in it
TAG, NEXT, BEFORE, LINKS = 0, 1, 2, 3  # of a node in a hash index: its tag and one, its neighbours; 0: nobody, or not there
ROOT = 0  # the register of a tree


class OrderedNodes(NamedTuple):
    """A tree of nodes of a bag, its root, and the strings that rows are compared by."""

    tree: Tree
    registers: Line
    strings: Strings


open_ordered = opened(OrderedNodes)


@inlined
def touch(node: int, place: int, registers: Int64s, touched: Int64s) -> None:
    """Note that the row of a node has changed; the register at `place` counts them."""
    if touched[node, IS_TOUCHED] == 0:
        touched[node, IS_TOUCHED] = 1
        touched[registers[place], NODE] = node
        registers[place] += 1


@kernel
def forget_touched(count: int, touched: Int64s) -> None:
    for place in range(count):
        touched[touched[place, NODE], IS_TOUCHED] = 0


@kernel
def tag_keys(rows: Int64s, lanes: Int64s, nulls: Int64s, tags: Int64s) -> None:
    """The tag of the key of every row; NULL is a value of its own here."""
    for i in range(len(rows)):
        tags[i] = _tag(rows, i, lanes, nulls)


@inlined
def _tag(rows: Int64s, i: int, lanes: Int64s, nulls: Int64s) -> int:
    state = 0
    for place in range(len(lanes)):
        state = mix(state, rows[i, lanes[place]])
    for column in range(len(nulls)):
        state = mix(state, rows[i, nulls[column, 0]] >> nulls[column, 1] & 1)
    return tag_of(state)


@inlined
def _slot(tag: int, table: Int64s) -> int:
    """Where the first node of a tag is named, or the empty slot where it would be."""
    last = len(table) - 1
    slot = tag & last
    while table[slot] and table[slot] >> 32 & HALF != tag:
        slot = (slot + 1) & last
    return slot


@kernel
def refresh_hash(
    touched: Int64s, count: int, nodes: Int64s, alive: int, lanes: Int64s, nulls: Int64s, table: Int64s, links: Int64s
) -> None:
    """Take the touched nodes out, and put those in that are there: lane `alive` of a node says whether it is."""
    for place in range(count):
        node = touched[place, NODE]
        if links[node, TAG]:
            _unlink(node, table, links)
    for place in range(count):
        node = touched[place, NODE]
        if nodes[node, alive]:
            _link(node, _tag(nodes, node, lanes, nulls), table, links)


@inlined
def _unlink(node: int, table: Int64s, links: Int64s) -> None:
    tag, after, before = links[node, TAG] - 1, links[node, NEXT], links[node, BEFORE]
    links[node, TAG] = 0
    if after:
        links[after, BEFORE] = before
    if before:
        links[before, NEXT] = after
    elif after:
        table[_slot(tag, table)] = tag << 32 | after
    else:
        remove_entry(table, tag, node)


@inlined
def _link(node: int, tag: int, table: Int64s, links: Int64s) -> None:
    slot = _slot(tag, table)
    after = table[slot] & HALF
    links[node, TAG], links[node, NEXT], links[node, BEFORE] = tag + 1, after, 0
    table[slot] = tag << 32 | node
    if after:
        links[after, BEFORE] = node


@kernel
def nodes_of_tags(tags: Int64s, table: Int64s, links: Int64s, out: Int64s) -> int:
    """How many nodes have these tags, which are different ones; as many are written as there is room for."""
    n = 0
    for place in range(len(tags)):
        node = table[_slot(tags[place], table)] & HALF
        while node:
            if n < len(out):
                out[n] = node
            n += 1
            node = links[node, NEXT]
    return n


@kernel
def refresh_tree(touched: Int64s, count: int, alive: int, orders: Int64s, record: Int64s) -> None:
    """The same of a tree."""
    kept = open_ordered(record)
    stored, nodes = kept.tree.stored, kept.tree.nodes
    root = kept.registers[ROOT]
    for place in range(count):
        node = touched[place, NODE]
        if nodes[node, COUNT]:
            root = remove_node(nodes, root, node)
    for place in range(count):
        node = touched[place, NODE]
        if stored[node, alive] > 0:
            root = _insert(node, stored[node, alive], root, kept.tree, orders, kept.strings)
    kept.registers[ROOT] = root


@inlined
def _insert(node: int, count: int, root: int, tree: Tree, orders: Int64s, strings: Strings) -> int:
    """After all that are equal to it; the answer is the root."""
    below, parent, order = root, 0, 0
    while below:
        parent, order = below, order_of(tree.stored, node, tree.stored, below, orders, strings)
        order = -1 if order < 0 else 1
        below = tree.nodes[below, LEFT if order < 0 else RIGHT]
    return insert_node(tree.nodes, root, node, parent, order, count)


@kernel
def rank_of_bound(rows: Int64s, with_equal: bool, orders: Int64s, record: Int64s) -> int:
    """How many rows come before the first of these in the order of some columns, with those equal to it or without."""
    kept = open_ordered(record)
    return count_before(rows, 0, with_equal, kept.tree, kept.registers[ROOT], orders, kept.strings)


@kernel
def rank_of_equals(rank: int, with_equal: bool, orders: Int64s, record: Int64s) -> int:
    """The same of the row that has this rank."""
    kept = open_ordered(record)
    node, _ = node_at(kept.tree.nodes, kept.registers[ROOT], rank)
    return count_before(kept.tree.stored, node, with_equal, kept.tree, kept.registers[ROOT], orders, kept.strings)


@kernel
def nodes_between(start: int, stop: int, record: Int64s, out: Int64s) -> int:
    """The nodes of the rows from a rank to before another one, which are there; how many. There is room for them."""
    kept = open_ordered(record)
    nodes, n = kept.tree.nodes, 0
    if start < stop:
        node, rank = node_at(nodes, kept.registers[ROOT], start)
        while rank < stop:
            out[n] = node
            n += 1
            rank += nodes[node, COUNT]
            node = next_node(nodes, node)
    return n


@kernel
def values_between(start: int, stop: int, orders: Int64s, record: Int64s, out: Int64s, counts: Int64s) -> int:
    """The same by the values of some first columns: a node of each, and how many rows have it; how many values.

    Where the next node has another value, a step is enough; else the last equal one is looked for from the root.
    """
    kept = open_ordered(record)
    tree, root, strings = kept.tree, kept.registers[ROOT], kept.strings
    nodes, n = tree.nodes, 0
    if start >= stop:
        return 0
    node, rank = node_at(nodes, root, start)
    while rank < stop:
        after, end = next_node(nodes, node), rank + nodes[node, COUNT]
        if after and order_of(tree.stored, after, tree.stored, node, orders, strings) == 0:
            end = count_before(tree.stored, node, True, tree, root, orders, strings)
            if end < stop:
                after, _ = node_at(nodes, root, end)
        out[n], counts[n] = node, min(end, stop) - max(rank, start)
        n += 1
        node, rank = after, end
    return n
