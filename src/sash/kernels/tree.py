"""Rows in an order, counted: a balanced tree that finds a row by comparing, and by its rank.

    node   0 is nobody; a node is one distinct row with its count, and TOTAL is the count of all rows below it and itself

                     d 2 (7)          rank   0 1 2 3 4 5 6
                   /        \\         row    a b b c d d e
              b 2 (4)      e 1 (1)
             /      \\
          a 1 (1)   c 1 (1)

The tree is a treap: every node has a priority, here the hash of its number, and none lies below one of less priority. So its
depth is logarithmic whatever comes in whatever order, without anything to keep about balance.
"""

from __future__ import annotations

from typing import NamedTuple

from sash.deltas import Int64s
from sash.kernels.bundles import Lines
from sash.kernels.compiling import inlined, kernel
from sash.kernels.hashing import mix
from sash.kernels.rows import compare_ordered
from sash.kernels.strings import Strings

LEFT, RIGHT, PARENT, COUNT, TOTAL, NODE_FIELDS = 0, 1, 2, 3, 4, 5


class Tree(NamedTuple):
    """The rows of nodes, which may be those of several trees, and their fields."""

    stored: Lines
    nodes: Lines


@inlined
def order_of(rows: Int64s, i: int, stored: Int64s, node: int, orders: Int64s, strings: Strings) -> int:
    """The order of a row and that of a node: -1, 0 or 1."""
    return compare_ordered(rows, i, stored, node, orders, strings.starts, strings.lengths, strings.heap)


@kernel
def find_row(
    rows: Int64s, i: int, tree: Tree, root: int, orders: Int64s, strings: Strings
) -> tuple[int, int, int, int]:
    """The node of a row, or 0; how many rows come before it; and where a new node would go: its parent and the side."""
    nodes = tree.nodes
    node, rank, parent, order = root, 0, 0, 0
    while node:
        order = order_of(rows, i, tree.stored, node, orders, strings)
        before = nodes[nodes[node, LEFT], TOTAL]
        if order == 0:
            return node, rank + before, parent, 0
        parent = node
        if order < 0:
            node = nodes[node, LEFT]
        else:
            rank += before + nodes[node, COUNT]
            node = nodes[node, RIGHT]
    return 0, rank, parent, order


@kernel
def count_before(
    rows: Int64s, i: int, with_equal: bool, tree: Tree, root: int, orders: Int64s, strings: Strings
) -> int:
    """How many rows come before a row in the order of some first columns; with those that are equal in it, or without."""
    nodes = tree.nodes
    node, count = root, 0
    while node:
        order = order_of(rows, i, tree.stored, node, orders, strings)
        if order > 0 or (order == 0 and with_equal):
            count += nodes[nodes[node, LEFT], TOTAL] + nodes[node, COUNT]
            node = nodes[node, RIGHT]
        else:
            node = nodes[node, LEFT]
    return count


@kernel
def node_at(nodes: Int64s, root: int, rank: int) -> tuple[int, int]:
    """The node that holds the row of a rank, and the rank of its first row. The rank is below the root's total."""
    node, first = root, 0
    while True:
        before = first + nodes[nodes[node, LEFT], TOTAL]
        if rank < before:
            node = nodes[node, LEFT]
        elif rank < before + nodes[node, COUNT]:
            return node, before
        else:
            first = before + nodes[node, COUNT]
            node = nodes[node, RIGHT]


@kernel
def next_node(nodes: Int64s, node: int) -> int:
    """The node that follows in the order, 0 after the last."""
    if nodes[node, RIGHT]:
        node = nodes[node, RIGHT]
        while nodes[node, LEFT]:
            node = nodes[node, LEFT]
        return node
    while nodes[node, PARENT] and nodes[nodes[node, PARENT], RIGHT] == node:
        node = nodes[node, PARENT]
    return nodes[node, PARENT]


@kernel
def add_count(nodes: Int64s, node: int, weight: int) -> None:
    nodes[node, COUNT] += weight
    while node:
        nodes[node, TOTAL] += weight
        node = nodes[node, PARENT]


@kernel
def insert_node(nodes: Int64s, root: int, node: int, parent: int, order: int, count: int) -> int:
    """Hang a new node where `find_row` said; the answer is the root."""
    nodes[node, LEFT], nodes[node, RIGHT], nodes[node, PARENT] = 0, 0, parent
    nodes[node, COUNT], nodes[node, TOTAL] = 0, 0
    if parent:
        nodes[parent, LEFT if order < 0 else RIGHT] = node
    add_count(nodes, node, count)
    while nodes[node, PARENT] and _priority(node) > _priority(nodes[node, PARENT]):
        _rotate_up(nodes, node)
    return root if nodes[node, PARENT] else node


@kernel
def remove_node(nodes: Int64s, root: int, node: int) -> int:
    """Take a node out; the answer is the root."""
    while nodes[node, LEFT] or nodes[node, RIGHT]:
        left, right = nodes[node, LEFT], nodes[node, RIGHT]
        child = left if right == 0 or (left and _priority(left) > _priority(right)) else right
        _rotate_up(nodes, child)
        if root == node:
            root = child
    parent = nodes[node, PARENT]
    add_count(nodes, node, -nodes[node, COUNT])
    if parent == 0:
        return 0
    nodes[parent, LEFT if nodes[parent, LEFT] == node else RIGHT] = 0
    return root


@inlined
def _priority(node: int) -> int:
    return mix(0, node)


@kernel
def _rotate_up(nodes: Int64s, node: int) -> None:
    """Exchange a node with its parent."""
    parent = nodes[node, PARENT]
    above = nodes[parent, PARENT]
    near, far = (LEFT, RIGHT) if nodes[parent, LEFT] == node else (RIGHT, LEFT)
    child = nodes[node, far]
    nodes[parent, near] = child
    if child:
        nodes[child, PARENT] = parent
    nodes[node, far] = parent
    nodes[parent, PARENT], nodes[node, PARENT] = node, above
    if above:
        nodes[above, LEFT if nodes[above, LEFT] == parent else RIGHT] = node
    nodes[node, TOTAL] = nodes[parent, TOTAL]
    nodes[parent, TOTAL] = (
        nodes[parent, COUNT] + nodes[nodes[parent, LEFT], TOTAL] + nodes[nodes[parent, RIGHT], TOTAL]
    )
