"""The end of an instant: heaps, trees and sets hold the values that have rows; those without rows are forgotten."""

from __future__ import annotations

from sash.deltas import Int64s
from sash.kernels.compiling import kernel
from sash.operators.group_by.kernels.accumulate import add_value
from sash.operators.group_by.kernels.extremes import meld, remove_node
from sash.operators.group_by.kernels.ranks import settle_rank
from sash.operators.group_by.kernels.registers import LAST, TOUCHED_NODE
from sash.operators.group_by.kernels.value_nodes import (
    COUNT,
    OUTSIDE,
    PREVIOUS,
    TOUCHED,
    Bytes,
    forget_node,
    group_of,
    set_of,
    value_of,
)
from sash.operators.group_by.opcodes import FEED_SET, HEAP, RANKED, SET_CELL, SET_KIND


@kernel
def settle_nodes(
    nodes: Int64s, beside: Int64s, table: Int64s, registers: Int64s, cells: Int64s, sets: Int64s, feeds: Int64s,
    ranges: Int64s, starts: Int64s, lengths: Int64s, heap: Bytes,
) -> None:
    node = registers[TOUCHED_NODE]
    while node != LAST:
        following = nodes[node, TOUCHED]
        nodes[node, TOUCHED] = 0
        kind = sets[set_of(nodes, node), SET_KIND]
        if kind == HEAP:
            _settle_in_heap(nodes, beside, cells, sets, starts, lengths, heap, node)
        elif kind == RANKED:
            group, cell = group_of(nodes, node), sets[set_of(nodes, node), SET_CELL]
            root, is_changed = settle_rank(
                nodes, beside, cells[group, cell], node, sets, starts, lengths, heap
            )
            cells[group, cell] = root
            cells[group, cell + 1] += int(is_changed)
        else:
            _settle_in_set(nodes, cells, sets, feeds, ranges, node)
        if nodes[node, COUNT] == 0:
            forget_node(nodes, beside, table, registers, sets, node)
        node = following
    registers[TOUCHED_NODE] = LAST


@kernel
def _settle_in_heap(
    nodes: Int64s, beside: Int64s, cells: Int64s, sets: Int64s, starts: Int64s, lengths: Int64s, heap: Bytes, node: int
) -> None:
    group, cell = group_of(nodes, node), sets[set_of(nodes, node), SET_CELL]
    root = cells[group, cell]
    if nodes[node, COUNT] > 0 and nodes[node, PREVIOUS] == OUTSIDE:
        nodes[node, PREVIOUS] = 0
        cells[group, cell] = meld(nodes, beside, root, node, sets, starts, lengths, heap) if root else node
    elif nodes[node, COUNT] <= 0 and nodes[node, PREVIOUS] != OUTSIDE:
        cells[group, cell] = remove_node(nodes, beside, root, node, sets, starts, lengths, heap)


@kernel
def _settle_in_set(
    nodes: Int64s, cells: Int64s, sets: Int64s, feeds: Int64s, ranges: Int64s, node: int
) -> None:
    """A value that enters the set or leaves it counts for one row."""
    is_there = nodes[node, COUNT] > 0
    if is_there == (nodes[node, PREVIOUS] != OUTSIDE):
        return
    nodes[node, PREVIOUS] = 0 if is_there else OUTSIDE
    low, high = value_of(nodes, node, sets)
    for feed in range(len(feeds)):
        if feeds[feed, FEED_SET] == set_of(nodes, node):
            add_value(feeds, feed, low, high, 1 if is_there else -1, group_of(nodes, node), ranges, cells)
