"""The values of groups: for every group and set, its distinct values with the number of their rows.

A node is a value of an owner (group and set), 64 bytes long; a hash table finds it. (Those of deques are not looked for:
`deques.py`.) What lies beside a value, under MIN_BY and MAX_BY, is in an array of its own and is part of the value. Values are
kept as (major, minor) such that their order is that of integers, turned round for MAX; only strings are compared by their bytes.

Inside an instant only the counts move. At its end every touched node is settled (`settling.py`): it enters the heap or
the tree of its set, leaves it, or stays.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sash.deltas import Int64s
from sash.kernels.compiling import inlined, kernel
from sash.kernels.exact_sum import SIGN, canonical_double
from sash.kernels.hashing import HALF, mix, remove_entry, tag_of
from sash.kernels.rows import order_of_doubles
from sash.kernels.strings import compare_strings
from sash.operators.group_by.kernels.registers import FREE_NODE, LIVE_NODES, TOUCHED_NODE, USED_NODES
from sash.operators.group_by.opcodes import (
    BY_DOUBLE,
    BY_STRING,
    BY_WIDE_DECIMAL,
    NOTHING_BESIDE,
    SET_BESIDE,
    SET_IS_MAX,
    SET_ORDER,
)

Bytes = npt.NDArray[np.uint8]

# Fields of a node. Node 0 is nobody. TOUCHED chains the touched nodes and is 0 for the others; NEXT chains free ones.
OWNER, MAJOR, MINOR, COUNT, CHILD, NEXT, PREVIOUS, TOUCHED, NODE_FIELDS = 0, 1, 2, 3, 4, 5, 6, 7, 8
OUTSIDE = -1  # PREVIOUS of a node that is not in its heap, tree or set

BESIDE_MAJOR, BESIDE_MINOR, BESIDE_THERE, BESIDE_FIELDS = 0, 1, 2, 3  # THERE is 0 for NULL

OWNER_BITS = 16  # an owner is a group and, in so many low bits, the number of the set


@inlined
def group_of(nodes: Int64s, node: int) -> int:
    return nodes[node, OWNER] >> OWNER_BITS


@inlined
def set_of(nodes: Int64s, node: int) -> int:
    return nodes[node, OWNER] & (1 << OWNER_BITS) - 1


@inlined
def to_order(order: int, is_max: int, low: int, high: int) -> tuple[int, int]:
    """A value as (major, minor)."""
    if order == BY_STRING:
        return low, 0
    major, minor = low, 0
    if order == BY_DOUBLE:
        major = order_of_doubles(canonical_double(low))
    elif order == BY_WIDE_DECIMAL:
        major, minor = high, low ^ SIGN
    if is_max:
        return ~major, ~minor
    return major, minor


@kernel
def from_order(order: int, is_max: int, major: int, minor: int) -> tuple[int, int]:
    """The lanes of a value, low and high, from (major, minor)."""
    if order == BY_STRING:
        return major, 0
    if is_max:
        major, minor = ~major, ~minor
    if order == BY_DOUBLE:
        return order_of_doubles(major), 0
    if order == BY_WIDE_DECIMAL:
        return minor ^ SIGN, major
    return major, major >> 63


@inlined
def value_of(nodes: Int64s, node: int, sets: Int64s) -> tuple[int, int]:
    """The lanes of a node's value."""
    set_ = nodes[node, OWNER] & (1 << OWNER_BITS) - 1
    return from_order(sets[set_, SET_ORDER], sets[set_, SET_IS_MAX], nodes[node, MAJOR], nodes[node, MINOR])


@inlined
def _compare(
    order: int, is_max: int, major_a: int, minor_a: int, major_b: int, minor_b: int, starts: Int64s, lengths: Int64s,
    heap: Bytes,
) -> int:
    if major_a == major_b:
        return 0 if minor_a == minor_b else (-1 if minor_a < minor_b else 1)
    if order == BY_STRING:
        found = compare_strings(major_a, major_b, starts, lengths, heap)
        return -found if is_max else found
    return -1 if major_a < major_b else 1


@inlined
def is_before(
    nodes: Int64s, beside: Int64s, a: int, b: int, sets: Int64s, starts: Int64s, lengths: Int64s, heap: Bytes
) -> bool:
    """The order of two nodes of one set."""
    set_ = nodes[a, OWNER] & (1 << OWNER_BITS) - 1
    order, is_max, other = sets[set_, SET_ORDER], sets[set_, SET_IS_MAX], sets[set_, SET_BESIDE]
    found = _compare(
        order, is_max, nodes[a, MAJOR], nodes[a, MINOR], nodes[b, MAJOR], nodes[b, MINOR], starts, lengths, heap
    )
    if found or other == NOTHING_BESIDE:
        return found < 0
    return _is_beside_before(beside, a, b, other, is_max, starts, lengths, heap)


@kernel
def _is_beside_before(
    beside: Int64s, a: int, b: int, order: int, is_max: int, starts: Int64s, lengths: Int64s, heap: Bytes
) -> bool:
    there_a, there_b = beside[a, BESIDE_THERE], beside[b, BESIDE_THERE]
    if there_a != there_b:
        return there_a == is_max  # NULL is the least
    return _compare(
        order, is_max, beside[a, BESIDE_MAJOR], beside[a, BESIDE_MINOR], beside[b, BESIDE_MAJOR],
        beside[b, BESIDE_MINOR], starts, lengths, heap,
    ) < 0


@inlined
def _tag(owner: int, major: int, minor: int) -> int:
    return tag_of(mix(mix(owner, major), minor))


@inlined
def count_value(
    nodes: Int64s, table: Int64s, registers: Int64s, owner: int, major: int, minor: int, weight: int
) -> None:
    """Change the count of an owner's value. The caller knows that there is room for one more node."""
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
        node = new_node(nodes, registers, owner, major, minor)
        table[slot] = tag << 32 | node
    _touch(nodes, registers, node, weight)


@kernel
def count_pair(
    nodes: Int64s, beside: Int64s, table: Int64s, registers: Int64s, owner: int, major: int, minor: int,
    other_major: int, other_minor: int, is_there: int, weight: int,
) -> None:
    """The same for a value with another one beside it."""
    tag = _pair_tag(owner, major, minor, other_major, other_minor, is_there)
    last = len(table) - 1
    slot = tag & last
    node = 0
    while table[slot] != 0 and node == 0:
        if table[slot] >> 32 & HALF == tag:
            found = table[slot] & HALF
            is_same = nodes[found, OWNER] == owner and nodes[found, MAJOR] == major and nodes[found, MINOR] == minor
            is_same &= beside[found, BESIDE_MAJOR] == other_major and beside[found, BESIDE_MINOR] == other_minor
            if is_same and beside[found, BESIDE_THERE] == is_there:
                node = found
        slot = (slot + 1) & last
    if node == 0:
        node = new_node(nodes, registers, owner, major, minor)
        beside[node, BESIDE_MAJOR], beside[node, BESIDE_MINOR] = other_major, other_minor
        beside[node, BESIDE_THERE] = is_there
        table[slot] = tag << 32 | node
    _touch(nodes, registers, node, weight)


@inlined
def _pair_tag(owner: int, major: int, minor: int, other_major: int, other_minor: int, is_there: int) -> int:
    return tag_of(mix(mix(mix(mix(mix(owner, major), minor), other_major), other_minor), is_there))


@inlined
def new_node(nodes: Int64s, registers: Int64s, owner: int, major: int, minor: int) -> int:
    registers[LIVE_NODES] += 1
    node = registers[FREE_NODE]
    if node:
        registers[FREE_NODE] = nodes[node, NEXT]
        nodes[node, NEXT] = 0
    else:
        registers[USED_NODES] += 1
        node = registers[USED_NODES]
    nodes[node, OWNER], nodes[node, MAJOR], nodes[node, MINOR] = owner, major, minor
    nodes[node, PREVIOUS] = OUTSIDE
    return node


@inlined
def free_node(nodes: Int64s, registers: Int64s, node: int) -> None:
    for field in range(NODE_FIELDS):
        nodes[node, field] = 0
    nodes[node, NEXT] = registers[FREE_NODE]
    registers[FREE_NODE] = node
    registers[LIVE_NODES] -= 1


@inlined
def _touch(nodes: Int64s, registers: Int64s, node: int, weight: int) -> None:
    nodes[node, COUNT] += weight
    if nodes[node, TOUCHED] == 0:
        nodes[node, TOUCHED] = registers[TOUCHED_NODE]
        registers[TOUCHED_NODE] = node


@kernel
def forget_node(nodes: Int64s, beside: Int64s, table: Int64s, registers: Int64s, sets: Int64s, node: int) -> None:
    owner, major, minor = nodes[node, OWNER], nodes[node, MAJOR], nodes[node, MINOR]
    if sets[set_of(nodes, node), SET_BESIDE] == NOTHING_BESIDE:
        remove_entry(table, _tag(owner, major, minor), node)
    else:
        other_major, other_minor = beside[node, BESIDE_MAJOR], beside[node, BESIDE_MINOR]
        tag = _pair_tag(owner, major, minor, other_major, other_minor, beside[node, BESIDE_THERE])
        remove_entry(table, tag, node)
        for field in range(BESIDE_FIELDS):
            beside[node, field] = 0
    free_node(nodes, registers, node)
