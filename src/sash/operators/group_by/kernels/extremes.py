"""MIN and MAX over a bag that rows leave: for every group and set, a pairing heap of its distinct values.

A heap is a tree of nodes through child, next sibling, and previous (the parent, for a first child), so any node can be
taken out:

    root        a value never comes before that of its parent; taking out the root pairs up its children
     |-child -- next -- next
         |-child                insert: O(1), remove: O(log n) amortised, and nothing is left behind
"""

from __future__ import annotations

from sash.deltas import Int64s
from sash.kernels.compiling import inlined, kernel
from sash.operators.group_by.kernels.value_nodes import CHILD, NEXT, OUTSIDE, PREVIOUS, Bytes, is_before


@inlined
def meld(
    nodes: Int64s, beside: Int64s, a: int, b: int, sets: Int64s, starts: Int64s, lengths: Int64s, heap: Bytes
) -> int:
    """One heap of two, given by their roots; the later root becomes the first child of the other."""
    if is_before(nodes, beside, b, a, sets, starts, lengths, heap):
        a, b = b, a
    child = nodes[a, CHILD]
    nodes[b, NEXT] = child
    if child:
        nodes[child, PREVIOUS] = b
    nodes[a, CHILD] = b
    nodes[b, PREVIOUS] = a
    nodes[a, NEXT] = 0
    nodes[a, PREVIOUS] = 0
    return a


@kernel
def remove_node(
    nodes: Int64s, beside: Int64s, root: int, node: int, sets: Int64s, starts: Int64s, lengths: Int64s, heap: Bytes
) -> int:
    """Take a node out of the heap of that root; the answer is the new root, 0 if the heap is empty."""
    previous, following = nodes[node, PREVIOUS], nodes[node, NEXT]
    orphans = _meld_children(nodes, beside, nodes[node, CHILD], sets, starts, lengths, heap)
    nodes[node, CHILD] = 0
    nodes[node, NEXT] = 0
    nodes[node, PREVIOUS] = OUTSIDE
    if node == root:
        return orphans
    if nodes[previous, CHILD] == node:
        nodes[previous, CHILD] = following
    else:
        nodes[previous, NEXT] = following
    if following:
        nodes[following, PREVIOUS] = previous
    return meld(nodes, beside, root, orphans, sets, starts, lengths, heap) if orphans else root


@kernel
def _meld_children(
    nodes: Int64s, beside: Int64s, child: int, sets: Int64s, starts: Int64s, lengths: Int64s, heap: Bytes
) -> int:
    """Pair up siblings from the first to the last, then meld the pairs from the last to the first."""
    pairs = 0
    while child:
        pair, mate = child, nodes[child, NEXT]
        child = nodes[mate, NEXT] if mate else 0
        if mate:
            pair = meld(nodes, beside, pair, mate, sets, starts, lengths, heap)
        nodes[pair, NEXT] = pairs
        pairs = pair
    if pairs == 0:
        return 0
    root, pairs = pairs, nodes[pairs, NEXT]
    nodes[root, NEXT] = 0
    nodes[root, PREVIOUS] = 0
    while pairs:
        pair, pairs = pairs, nodes[pairs, NEXT]
        root = meld(nodes, beside, root, pair, sets, starts, lengths, heap)
    return root
