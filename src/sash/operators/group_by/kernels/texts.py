"""STRING_AGG: the strings of a group in their order, one after the other. And lists of values, for the users' aggregates.

ARRAY_AGG is the same of arrays, whose bytes one after the other are those of an array of all their elements.

Kernels cannot intern strings, so a new text is written to a buffer and known as -1, -2, ... until the step is over;
then all get their codes at once. A text is made anew only if its set has changed since.
"""

from __future__ import annotations

from sash.deltas import Int64s
from sash.kernels.compiling import kernel
from sash.operators.group_by.kernels.ranks import SUM, find_rank, own_rows
from sash.operators.group_by.kernels.value_nodes import BESIDE_MAJOR, MAJOR, Bytes, value_of
from sash.operators.group_by.opcodes import (
    CALL_CELL,
    CALL_IS_LIST,
    CALL_KIND,
    CALL_PART,
    CALL_ROOT,
    CALL_SEPARATOR,
    CALL_SEPARATOR_END,
    NOTHING_BESIDE,
    SET_BESIDE,
    TEXT,
)

# Columns of the list of new texts, which begins with a line for none: where it ends in the buffer, its group, its call.
TEXT_END, TEXT_GROUP, TEXT_CALL, TEXT_COLUMNS = 0, 1, 2, 3


@kernel
def make_texts(
    group: int, calls: Int64s, sets: Int64s, cells: Int64s, nodes: Int64s, beside: Int64s, starts: Int64s,
    lengths: Int64s, heap: Bytes, separators: Bytes, texts: Int64s, count: Int64s, buffer: Bytes,
) -> bool:
    """Make the texts of a group that are out of date; the answer is whether there was room. `count` has one place."""
    for call in range(len(calls)):
        if calls[call, CALL_KIND] != TEXT:
            continue
        cell, root = calls[call, CALL_CELL], calls[call, CALL_ROOT]
        if cells[group, cell + 1] == cells[group, root + 1]:
            continue
        text = 0
        if cells[group, root]:
            text = count[0] + 1
            if text >= len(texts):
                return False
            start, stop = calls[call, CALL_SEPARATOR], calls[call, CALL_SEPARATOR_END]
            end = texts[text - 1, TEXT_END]
            if calls[call, CALL_IS_LIST]:
                end = _list(nodes, cells[group, root], sets, buffer, end)
            else:
                tree = cells[group, root]
                is_pair = sets[calls[call, CALL_PART], SET_BESIDE] != NOTHING_BESIDE
                end = _join(nodes, beside, is_pair, tree, starts, lengths, heap, separators, start, stop, buffer, end)
            if end < 0:
                return False
            texts[text, TEXT_END], texts[text, TEXT_GROUP], texts[text, TEXT_CALL] = end, group, call
            count[0] = text
        cells[group, cell] = -text
        cells[group, cell + 1] = cells[group, root + 1]
    return True


@kernel
def _join(
    nodes: Int64s, beside: Int64s, is_pair: bool, root: int, starts: Int64s, lengths: Int64s, heap: Bytes,
    separators: Bytes, start: int, stop: int, buffer: Bytes, at: int,
) -> int:
    """Write the strings of a tree, or those beside its values, from `at` on; the answer is where they end, -1 for no room."""
    rank = 0
    while rank < nodes[root, SUM]:
        node = find_rank(nodes, root, rank)
        code, rows = beside[node, BESIDE_MAJOR] if is_pair else nodes[node, MAJOR], own_rows(nodes, node)
        if at + rows * (lengths[code] + stop - start) > len(buffer):
            return -1
        for _ in range(rows):
            if rank:
                for place in range(start, stop):
                    buffer[at] = separators[place]
                    at += 1
            for place in range(starts[code], starts[code] + lengths[code]):
                buffer[at] = heap[place]
                at += 1
            rank += 1
    return at


@kernel
def _list(nodes: Int64s, root: int, sets: Int64s, buffer: Bytes, at: int) -> int:
    """Write the values of a tree: for each its low lane, high lane and number of rows, 8 bytes each, lowest first."""
    rank = 0
    while rank < nodes[root, SUM]:
        node = find_rank(nodes, root, rank)
        low, high = value_of(nodes, node, sets)
        rows = own_rows(nodes, node)
        if at + 24 > len(buffer):
            return -1
        for number in (low, high, rows):
            for place in range(8):
                buffer[at + place] = number >> 8 * place & 0xFF
            at += 8
        rank += rows
    return at
