"""Ranks in a bag that rows leave: for every group and set, a search tree that knows how many rows lie below.

The tree is a treap: ordered by value from left to right, by chance from the top down. A node's SUM is the number of
rows in its subtree, so its own number is the sum less those of its children, and the value of any rank is found on one
way down. All steps go from the top down, without a stack: O(log n) expected.
"""

from __future__ import annotations

from sash.deltas import Int64s
from sash.kernels.compiling import inlined, kernel
from sash.kernels.hashing import mix
from sash.operators.group_by.kernels.value_nodes import CHILD, COUNT, NEXT, OUTSIDE, PREVIOUS, Bytes, is_before, set_of
from sash.operators.group_by.opcodes import SET_IS_DISTINCT

LEFT, RIGHT, SUM = CHILD, NEXT, PREVIOUS  # the fields of a node in a tree; SUM is OUTSIDE for the others


@inlined
def _chance(node: int) -> int:
    return mix(0, node)


@inlined
def own_rows(nodes: Int64s, node: int) -> int:
    """How many rows a node of a tree stands for."""
    return nodes[node, SUM] - nodes[nodes[node, LEFT], SUM] - nodes[nodes[node, RIGHT], SUM]


@kernel
def find_rank(nodes: Int64s, root: int, rank: int) -> int:
    """The node of the row of that rank, counted from 0; the caller knows that there is one."""
    node = root
    while True:
        left, right = nodes[node, LEFT], nodes[node, RIGHT]
        stop = nodes[node, SUM] - nodes[right, SUM]
        if rank < nodes[left, SUM]:
            node = left
        elif rank < stop:
            return node
        else:
            rank -= stop
            node = right


@kernel
def find_two(nodes: Int64s, root: int, rank: int) -> tuple[int, int]:
    """The node of the row of that rank, and that of the row after it; the caller knows that there are both."""
    node, after = root, 0
    while True:
        left, right = nodes[node, LEFT], nodes[node, RIGHT]
        stop = nodes[node, SUM] - nodes[right, SUM]
        if rank < nodes[left, SUM]:
            node, after = left, node
        elif rank + 1 < stop:
            return node, node
        elif rank < stop:
            while right:  # whatever follows begins below it, if there is anything
                after, right = right, nodes[right, LEFT]
            return node, after
        else:
            rank -= stop
            node = right


@kernel
def settle_rank(
    nodes: Int64s, beside: Int64s, root: int, node: int, sets: Int64s, starts: Int64s, lengths: Int64s, heap: Bytes
) -> tuple[int, bool]:
    """Bring the tree of a root in line with the node's count; the answer is the new root, and if anything changed."""
    wanted = max(nodes[node, COUNT], 0)
    if sets[set_of(nodes, node), SET_IS_DISTINCT]:
        wanted = min(wanted, 1)
    there = 0 if nodes[node, SUM] == OUTSIDE else own_rows(nodes, node)
    if wanted == there:
        return root, False
    if there == 0:
        return _insert(nodes, beside, root, node, wanted, sets, starts, lengths, heap), True
    if wanted == 0:
        return _remove(nodes, beside, root, node, there, sets, starts, lengths, heap), True
    _, _ = _descend(nodes, beside, root, node, wanted - there, sets, starts, lengths, heap)
    nodes[node, SUM] += wanted - there
    return root, True


@kernel
def _descend(
    nodes: Int64s, beside: Int64s, root: int, node: int, weight: int, sets: Int64s, starts: Int64s, lengths: Int64s,
    heap: Bytes,
) -> tuple[int, int]:
    """Add a weight to all nodes above one; the answer is its parent, 0 for the root, and on which side of it it is."""
    parent, side, current = 0, LEFT, root
    while current != node:
        nodes[current, SUM] += weight
        parent = current
        side = LEFT if is_before(nodes, beside, node, current, sets, starts, lengths, heap) else RIGHT
        current = nodes[current, side]
    return parent, side


@kernel
def _insert(
    nodes: Int64s, beside: Int64s, root: int, node: int, weight: int, sets: Int64s, starts: Int64s, lengths: Int64s,
    heap: Bytes,
) -> int:
    """The subtree that the new node is above of by chance is split in two, left and right of it."""
    chance = _chance(node)
    parent, side, current = 0, LEFT, root
    while current and _chance(current) >= chance:
        nodes[current, SUM] += weight
        parent = current
        side = LEFT if is_before(nodes, beside, node, current, sets, starts, lengths, heap) else RIGHT
        current = nodes[current, side]
    nodes[node, SUM] = nodes[current, SUM] + weight
    _split(nodes, beside, current, node, sets, starts, lengths, heap)
    if parent == 0:
        return node
    nodes[parent, side] = node
    return root


@kernel
def _split(
    nodes: Int64s, beside: Int64s, tree: int, node: int, sets: Int64s, starts: Int64s, lengths: Int64s, heap: Bytes
) -> None:
    """Hang what is before a node to its left, the rest to its right."""
    less = _rows_before(nodes, beside, tree, node, sets, starts, lengths, heap)
    more = nodes[tree, SUM] - less
    left_end, left_side, right_end, right_side = node, LEFT, node, RIGHT
    while tree:
        # All of this subtree is `less` rows before the node and `more` after it: the sums of its two halves.
        rows = nodes[tree, SUM]
        if is_before(nodes, beside, tree, node, sets, starts, lengths, heap):
            nodes[left_end, left_side] = tree
            left_end, left_side = tree, RIGHT
            nodes[tree, SUM] = less
            tree = nodes[tree, RIGHT]
            less -= rows - nodes[tree, SUM]
        else:
            nodes[right_end, right_side] = tree
            right_end, right_side = tree, LEFT
            nodes[tree, SUM] = more
            tree = nodes[tree, LEFT]
            more -= rows - nodes[tree, SUM]
    nodes[left_end, left_side] = 0
    nodes[right_end, right_side] = 0


@kernel
def _rows_before(
    nodes: Int64s, beside: Int64s, tree: int, node: int, sets: Int64s, starts: Int64s, lengths: Int64s, heap: Bytes
) -> int:
    rows = 0
    while tree:
        if is_before(nodes, beside, tree, node, sets, starts, lengths, heap):
            rows += nodes[tree, SUM] - nodes[nodes[tree, RIGHT], SUM]
            tree = nodes[tree, RIGHT]
        else:
            tree = nodes[tree, LEFT]
    return rows


@kernel
def _remove(
    nodes: Int64s, beside: Int64s, root: int, node: int, weight: int, sets: Int64s, starts: Int64s, lengths: Int64s,
    heap: Bytes,
) -> int:
    """Its two subtrees become one in its place."""
    parent, side = _descend(nodes, beside, root, node, -weight, sets, starts, lengths, heap)
    left, right = nodes[node, LEFT], nodes[node, RIGHT]
    end, end_side = node, LEFT
    while left and right:
        if _chance(left) >= _chance(right):
            nodes[left, SUM] += nodes[right, SUM]
            nodes[end, end_side] = left
            end, end_side = left, RIGHT
            left = nodes[left, RIGHT]
        else:
            nodes[right, SUM] += nodes[left, SUM]
            nodes[end, end_side] = right
            end, end_side = right, LEFT
            right = nodes[right, LEFT]
    nodes[end, end_side] = left + right  # one of them is nobody
    merged = nodes[node, LEFT]
    nodes[node, LEFT] = 0
    nodes[node, RIGHT] = 0
    nodes[node, SUM] = OUTSIDE
    if parent == 0:
        return merged
    nodes[parent, side] = merged
    return root
