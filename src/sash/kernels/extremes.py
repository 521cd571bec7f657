"""MIN and MAX over a bag that rows leave: for every group and aggregate, a pairing heap of its distinct values.

A node is a value of an owner (group and aggregate) with the number of its rows, 64 bytes long; a hash table finds it. A
heap is a tree through child, next sibling, and previous (the parent, for a first child), so any node can be taken out:

    root        a value never comes before that of its parent; taking out the root pairs up its children
     |-child -- next -- next
         |-child                insert: O(1), remove: O(log n) amortised, and nothing is left behind

Inside an instant only the counts move. At its end every touched node is settled: it enters its heap, leaves it, or
stays. Values are kept such that the first in the order of (major, minor) is the extreme; only strings are compared by
their bytes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sash.deltas import Int64s
from sash.kernels.compiling import inlined, kernel
from sash.kernels.exact_sum import SIGN, canonical_double
from sash.kernels.group_registers import FREE_NODE, LAST, LIVE_NODES, TOUCHED_NODE, USED_NODES
from sash.kernels.hashing import HALF, mix, remove_entry, tag_of
from sash.kernels.rows import order_of_doubles
from sash.kernels.strings import compare_strings
from sash.physical.group_by import (
    BY_DOUBLE,
    BY_STRING,
    BY_WIDE_DECIMAL,
    EXTREME_CELL,
    EXTREME_IS_MAX,
    EXTREME_ORDER,
)

Bytes = npt.NDArray[np.uint8]

# Fields of a node. Node 0 is nobody. TOUCHED chains the touched nodes and is 0 for the others; NEXT chains free ones.
OWNER, MAJOR, MINOR, COUNT, CHILD, NEXT, PREVIOUS, TOUCHED, NODE_FIELDS = 0, 1, 2, 3, 4, 5, 6, 7, 8
OUTSIDE = -1  # PREVIOUS of a node that is in no heap

OWNER_BITS = 16  # an owner is a group and, in so many low bits, the number of the aggregate


@inlined
def to_order(extremes: Int64s, extreme: int, low: int, high: int) -> tuple[int, int]:
    """A value as (major, minor)."""
    order = extremes[extreme, EXTREME_ORDER]
    if order == BY_STRING:
        return low, 0
    major, minor = low, 0
    if order == BY_DOUBLE:
        major = order_of_doubles(canonical_double(low))
    elif order == BY_WIDE_DECIMAL:
        major, minor = high, low ^ SIGN
    if extremes[extreme, EXTREME_IS_MAX]:
        return ~major, ~minor
    return major, minor


@kernel
def from_order(extremes: Int64s, extreme: int, major: int, minor: int) -> tuple[int, int]:
    """The lanes of a value, low and high, from (major, minor)."""
    order = extremes[extreme, EXTREME_ORDER]
    if order == BY_STRING:
        return major, 0
    if extremes[extreme, EXTREME_IS_MAX]:
        major, minor = ~major, ~minor
    if order == BY_DOUBLE:
        return order_of_doubles(major), 0
    if order == BY_WIDE_DECIMAL:
        return minor ^ SIGN, major
    return major, 0


@inlined
def _tag(owner: int, major: int, minor: int) -> int:
    return tag_of(mix(mix(owner, major), minor))


@inlined
def count_value(
    nodes: Int64s, table: Int64s, registers: Int64s, owner: int, major: int, minor: int, weight: int
) -> None:
    """Move the count of a value of an owner; the caller knows that there is room for a node."""
    tag = _tag(owner, major, minor)
    last = len(table) - 1
    slot = tag & last
    node = 0
    while table[slot] != 0:
        if table[slot] >> 32 & HALF == tag:
            found = table[slot] & HALF
            if nodes[found, OWNER] == owner and nodes[found, MAJOR] == major and nodes[found, MINOR] == minor:
                node = found
                break
        slot = (slot + 1) & last
    if node == 0:
        node = _new_node(nodes, registers)
        nodes[node, OWNER], nodes[node, MAJOR], nodes[node, MINOR] = owner, major, minor
        nodes[node, PREVIOUS] = OUTSIDE
        table[slot] = tag << 32 | node
    nodes[node, COUNT] += weight
    if nodes[node, TOUCHED] == 0:
        nodes[node, TOUCHED] = registers[TOUCHED_NODE]
        registers[TOUCHED_NODE] = node


@inlined
def _new_node(nodes: Int64s, registers: Int64s) -> int:
    registers[LIVE_NODES] += 1
    node = registers[FREE_NODE]
    if node:
        registers[FREE_NODE] = nodes[node, NEXT]
        nodes[node, NEXT] = 0
        return node
    registers[USED_NODES] += 1
    return registers[USED_NODES]


@kernel
def settle_nodes(
    nodes: Int64s, table: Int64s, registers: Int64s, cells: Int64s, extremes: Int64s, starts: Int64s, lengths: Int64s,
    heap: Bytes,
) -> None:
    """At the end of an instant: heaps hold the values that have rows, and values without rows are forgotten."""
    node = registers[TOUCHED_NODE]
    while node != LAST:
        following = nodes[node, TOUCHED]
        nodes[node, TOUCHED] = 0
        group = nodes[node, OWNER] >> OWNER_BITS
        cell = extremes[nodes[node, OWNER] & (1 << OWNER_BITS) - 1, EXTREME_CELL]
        count, root = nodes[node, COUNT], cells[group, cell]
        if count > 0 and nodes[node, PREVIOUS] == OUTSIDE:
            nodes[node, PREVIOUS] = 0
            cells[group, cell] = meld(nodes, root, node, extremes, starts, lengths, heap) if root else node
        elif count <= 0 and nodes[node, PREVIOUS] != OUTSIDE:
            cells[group, cell] = remove_node(nodes, root, node, extremes, starts, lengths, heap)
        if count == 0:
            _forget(nodes, table, registers, node)
        node = following
    registers[TOUCHED_NODE] = LAST


@kernel
def _forget(nodes: Int64s, table: Int64s, registers: Int64s, node: int) -> None:
    remove_entry(table, _tag(nodes[node, OWNER], nodes[node, MAJOR], nodes[node, MINOR]), node)
    for field in range(NODE_FIELDS):
        nodes[node, field] = 0
    nodes[node, NEXT] = registers[FREE_NODE]
    registers[FREE_NODE] = node
    registers[LIVE_NODES] -= 1


@inlined
def _is_before(
    nodes: Int64s, a: int, b: int, extremes: Int64s, starts: Int64s, lengths: Int64s, heap: Bytes
) -> bool:
    extreme = nodes[a, OWNER] & (1 << OWNER_BITS) - 1
    if extremes[extreme, EXTREME_ORDER] == BY_STRING:
        order = compare_strings(nodes[a, MAJOR], nodes[b, MAJOR], starts, lengths, heap)
        return order > 0 if extremes[extreme, EXTREME_IS_MAX] else order < 0
    if nodes[a, MAJOR] != nodes[b, MAJOR]:
        return nodes[a, MAJOR] < nodes[b, MAJOR]
    return nodes[a, MINOR] < nodes[b, MINOR]


@inlined
def meld(nodes: Int64s, a: int, b: int, extremes: Int64s, starts: Int64s, lengths: Int64s, heap: Bytes) -> int:
    """One heap of two, given by their roots; the later root becomes the first child of the other."""
    if _is_before(nodes, b, a, extremes, starts, lengths, heap):
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
    nodes: Int64s, root: int, node: int, extremes: Int64s, starts: Int64s, lengths: Int64s, heap: Bytes
) -> int:
    """Take a node out of the heap of that root; the answer is the new root, 0 if the heap is empty."""
    previous, following = nodes[node, PREVIOUS], nodes[node, NEXT]
    orphans = _meld_children(nodes, nodes[node, CHILD], extremes, starts, lengths, heap)
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
    return meld(nodes, root, orphans, extremes, starts, lengths, heap) if orphans else root


@kernel
def _meld_children(
    nodes: Int64s, child: int, extremes: Int64s, starts: Int64s, lengths: Int64s, heap: Bytes
) -> int:
    """Pair up siblings from the first to the last, then meld the pairs from the last to the first."""
    pairs = 0
    while child:
        pair, mate = child, nodes[child, NEXT]
        child = nodes[mate, NEXT] if mate else 0
        if mate:
            pair = meld(nodes, pair, mate, extremes, starts, lengths, heap)
        nodes[pair, NEXT] = pairs
        pairs = pair
    if pairs == 0:
        return 0
    root, pairs = pairs, nodes[pairs, NEXT]
    nodes[root, NEXT] = 0
    nodes[root, PREVIOUS] = 0
    while pairs:
        pair, pairs = pairs, nodes[pairs, NEXT]
        root = meld(nodes, root, pair, extremes, starts, lengths, heap)
    return root
