"""Values and what is known of each: nodes in sorted lists, or in balanced trees.

    L-index   one list                      heads   [ list ]
    H-index   a list for every bucket       heads   [ list, list, … ]
    T-index   a tree                        heads   [ root ]

A split index has these heads once for every stretch of time. A node is found, or made, by `find`; it goes when it is purged. The
tree is a treap: the priority of a node is the hash of its number, and none lies below one of less priority. Every node that is
looked at is a step.
"""

from __future__ import annotations

from typing import NamedTuple

from sash.kernels.bundles import Line, Lines
from sash.kernels.compiling import inlined, kernel
from sash.kernels.hashing import mix

# Of a node. COUNT and the lane after it are those of two windows; PENDING counts links from basic windows that are still open.
VALUE, LEFT, RIGHT, COUNT, OTHER, PENDING, SLOT, ZERO, FIRST, LAST, DIRTY, MAIN, NODE_LANES = range(13)
NEXT = LEFT  # in a list
STEPS, FREE_NODE, USED_NODES, LIVE_NODES, ZEROS, SINCE_PURGE, INDEX_REGISTERS = range(7)
IS_TREE, BUCKETS, PURGE_EVERY, INDEX_OPTIONS = range(4)
DEEPEST = 256  # of a tree; one of a million nodes is some 50 deep


class Index(NamedTuple):
    """`stack` is for walks through a tree."""

    options: Line
    registers: Line
    heads: Line
    nodes: Lines
    stack: Line


@inlined
def _take(value: int, slot: int, index: Index) -> int:
    registers, nodes = index.registers, index.nodes
    node = registers[FREE_NODE]
    if node:
        registers[FREE_NODE] = nodes[node, NEXT]
    else:
        registers[USED_NODES] += 1
        node = registers[USED_NODES]
    registers[LIVE_NODES] += 1
    for lane in range(NODE_LANES):
        nodes[node, lane] = 0
    nodes[node, VALUE], nodes[node, SLOT] = value, slot
    return node


@inlined
def give_back(node: int, index: Index) -> None:
    """A node that is in no list and no tree."""
    index.nodes[node, NEXT], index.nodes[node, SLOT] = index.registers[FREE_NODE], -1
    index.registers[FREE_NODE] = node
    index.registers[LIVE_NODES] -= 1


@inlined
def _hang(parent: int, side: int, slot: int, node: int, index: Index) -> None:
    """Let a link lead to a node: that of a parent, or the head."""
    if parent:
        index.nodes[parent, side] = node
    else:
        index.heads[slot] = node


@kernel
def _find_in_list(value: int, slot: int, index: Index) -> int:
    nodes, before, node, steps = index.nodes, 0, index.heads[slot], 0
    while node and nodes[node, VALUE] < value:
        before, node = node, nodes[node, NEXT]
        steps += 1
    index.registers[STEPS] += steps + 1
    if node and nodes[node, VALUE] == value:
        return node
    made = _take(value, slot, index)
    nodes[made, NEXT] = node
    _hang(before, NEXT, slot, made, index)
    return made


@kernel
def _find_in_tree(value: int, slot: int, index: Index) -> int:
    nodes, node, steps = index.nodes, index.heads[slot], 1
    while node and nodes[node, VALUE] != value:
        node = nodes[node, LEFT] if value < nodes[node, VALUE] else nodes[node, RIGHT]
        steps += 1
    index.registers[STEPS] += steps
    if node:
        return node
    made = _take(value, slot, index)
    priority, parent, side, below = mix(0, made), 0, LEFT, index.heads[slot]
    while below and mix(0, below) >= priority:
        parent, side = below, LEFT if value < nodes[below, VALUE] else RIGHT
        below = nodes[below, side]
    _hang(parent, side, slot, made, index)
    # What is below is split: smaller values go to the left of the new node, greater ones to the right.
    left, left_side, right, right_side = made, LEFT, made, RIGHT
    while below:
        if nodes[below, VALUE] < value:
            nodes[left, left_side] = below
            left, left_side, below = below, RIGHT, nodes[below, RIGHT]
        else:
            nodes[right, right_side] = below
            right, right_side, below = below, LEFT, nodes[below, LEFT]
    nodes[left, left_side] = 0
    nodes[right, right_side] = 0
    return made


@kernel
def find(value: int, part: int, index: Index) -> int:
    """The node of a value in one part of an index, made where there is none."""
    if index.options[IS_TREE]:
        return _find_in_tree(value, part, index)
    buckets = index.options[BUCKETS]
    return _find_in_list(value, part * buckets + value % buckets, index)


@kernel
def remove(node: int, index: Index) -> None:
    """Take a node out and give it back."""
    nodes, slot = index.nodes, index.nodes[node, SLOT]
    parent, side, below = 0, LEFT, index.heads[slot]
    while below != node:
        side = LEFT
        if index.options[IS_TREE] and nodes[node, VALUE] > nodes[below, VALUE]:
            side = RIGHT
        parent, below = below, nodes[below, side]
    if index.options[IS_TREE]:
        left, right = nodes[node, LEFT], nodes[node, RIGHT]
        while left and right:
            if mix(0, left) >= mix(0, right):
                _hang(parent, side, slot, left, index)
                parent, side, left = left, RIGHT, nodes[left, RIGHT]
            else:
                _hang(parent, side, slot, right, index)
                parent, side, right = right, LEFT, nodes[right, LEFT]
        _hang(parent, side, slot, left + right, index)
    else:
        _hang(parent, side, slot, nodes[node, NEXT], index)
    give_back(node, index)


@inlined
def first_in_order(slot: int, index: Index) -> tuple[int, int]:
    """The first node, and how deep the stack is."""
    node, depth = index.heads[slot], 0
    if index.options[IS_TREE]:
        while node:
            index.stack[depth] = node
            depth += 1
            node = index.nodes[node, LEFT]
        return (index.stack[depth - 1] if depth else 0), depth
    return node, 0


@inlined
def next_in_order(node: int, depth: int, index: Index) -> tuple[int, int]:
    if not index.options[IS_TREE]:
        return index.nodes[node, NEXT], 0
    depth -= 1
    below = index.nodes[node, RIGHT]
    while below:
        index.stack[depth] = below
        depth += 1
        below = index.nodes[below, LEFT]
    return (index.stack[depth - 1] if depth else 0), depth
