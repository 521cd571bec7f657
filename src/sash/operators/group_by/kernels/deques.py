"""MIN and MAX over a bag that rows leave in the order they came: for every group and set, a deque of values.

A value that comes takes away the older ones that are not before it in the order of the set: they leave earlier, and would never
be shown again. So those that are left stand in order, the first one is the answer, and each is linked and taken away once:

    first  --next->  3 -- 5 -- 5 -- 9  <-previous--  last          comes 5:   3 -- 5       the youngest of equals stays
                     |
                     leaves when as many values of the group have left as had come with it

Which value leaves need not be said, for it is the oldest: counting is enough. NEXT and PREVIOUS of a node are its neighbours,
COUNT is how many values had come with it.
"""

from __future__ import annotations

from sash.deltas import Int64s
from sash.kernels.compiling import inlined
from sash.kernels.prefetching import prefetch
from sash.operators.group_by.kernels.value_nodes import (
    BESIDE_FIELDS,
    BESIDE_MAJOR,
    BESIDE_MINOR,
    BESIDE_THERE,
    COUNT,
    NEXT,
    OWNER_BITS,
    PREVIOUS,
    Bytes,
    free_node,
    is_before,
    new_node,
)
from sash.operators.group_by.opcodes import DEQUE, NOTHING_BESIDE, SET_BESIDE, SET_CELL, SET_KIND

FIRST, LAST, CAME, LEFT = 0, 1, 2, 3  # cells of a deque


@inlined
def ask_deques(group: int, sets: Int64s, cells: Int64s, nodes: Int64s) -> None:
    """Ask for both ends of the deques of a group."""
    for set_ in range(len(sets)):
        if sets[set_, SET_KIND] == DEQUE:
            prefetch(nodes, cells[group, sets[set_, SET_CELL] + FIRST])
            prefetch(nodes, cells[group, sets[set_, SET_CELL] + LAST])


@inlined
def slide_value(
    nodes: Int64s, beside: Int64s, registers: Int64s, cells: Int64s, group: int, sets: Int64s, set_: int, major: int, minor: int,
    other_major: int, other_minor: int, is_there: int, weight: int, starts: Int64s, lengths: Int64s, heap: Bytes,
) -> None:
    """A value comes, or leaves if its weight is negative. The caller knows that there is room for one more node."""
    cell = sets[set_, SET_CELL]
    if weight < 0:
        cells[group, cell + LEFT] -= weight
        _drop_first(nodes, beside, registers, cells, group, sets, set_, cell)
        return
    cells[group, cell + CAME] += weight
    node = new_node(nodes, registers, group << OWNER_BITS | set_, major, minor)
    nodes[node, COUNT] = cells[group, cell + CAME]
    if sets[set_, SET_BESIDE] != NOTHING_BESIDE:
        beside[node, BESIDE_MAJOR], beside[node, BESIDE_MINOR], beside[node, BESIDE_THERE] = other_major, other_minor, is_there
    last = cells[group, cell + LAST]
    while last and not is_before(nodes, beside, last, node, sets, starts, lengths, heap):
        before = nodes[last, PREVIOUS]
        _release(nodes, beside, registers, sets, set_, last)
        last = before
    nodes[node, PREVIOUS] = last
    if last:
        nodes[last, NEXT] = node
    else:
        cells[group, cell + FIRST] = node
    cells[group, cell + LAST] = node


@inlined
def _drop_first(
    nodes: Int64s, beside: Int64s, registers: Int64s, cells: Int64s, group: int, sets: Int64s, set_: int, cell: int
) -> None:
    first = cells[group, cell + FIRST]
    while first and nodes[first, COUNT] <= cells[group, cell + LEFT]:
        following = nodes[first, NEXT]
        _release(nodes, beside, registers, sets, set_, first)
        first = following
    cells[group, cell + FIRST] = first
    if first:
        nodes[first, PREVIOUS] = 0
    else:
        cells[group, cell + LAST] = 0


@inlined
def _release(nodes: Int64s, beside: Int64s, registers: Int64s, sets: Int64s, set_: int, node: int) -> None:
    if sets[set_, SET_BESIDE] != NOTHING_BESIDE:
        for field in range(BESIDE_FIELDS):
            beside[node, field] = 0
    free_node(nodes, registers, node)
