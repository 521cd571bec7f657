"""Sequences: left rows wait, and right rows find their partner among them.

    all waiting rows in a ring with node 0, the oldest first          0 -> 1 -> 2 -> 3 -> 0
    those of one key from the youngest back; the youngest             table -> 3 -> 1        (2 has another key)
    is what the table names, its KEY_YOUNGER is the oldest

At one instant left rows come first. A NULL key equals nothing, so rows with one neither wait nor find.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sash.deltas import Int64s
from sash.kernels.bag import find_node
from sash.kernels.bundles import Line, Lines, opened
from sash.kernels.compiling import inlined, kernel
from sash.kernels.hashing import HALF, hash_lanes, remove_entry, tag_of
from sash.kernels.pairs import PairSides, write_pair
from sash.kernels.rows import copy_row, has_null
from sash.schema import FOREVER

Booleans = npt.NDArray[np.bool_]

LIVE, USED, FREE, REGISTERS = 0, 1, 2, 3  # free nodes are chained by YOUNGER
OLDER, YOUNGER, KEY_OLDER, KEY_YOUNGER, LINKS = 0, 1, 2, 3, 4


class WaitingNodes(NamedTuple):
    """`lanes` are those of the key by which they are found."""

    registers: Line
    table: Line
    stored: Lines
    stamps: Line
    links: Lines
    lanes: Line


class SequenceSides(NamedTuple):
    sides: PairSides
    waiting: WaitingNodes


open_sequence, open_waiting = opened(SequenceSides), opened(WaitingNodes)


@inlined
def enter_waiting(rows: Int64s, i: int, ts: int, waiting: WaitingNodes) -> None:
    registers, table, links, lanes = waiting.registers, waiting.table, waiting.links, waiting.lanes
    registers[LIVE] += 1
    node = registers[FREE]
    if node:
        registers[FREE] = links[node, YOUNGER]
    else:
        registers[USED] += 1
        node = registers[USED]
    copy_row(rows, i, waiting.stored, node)
    waiting.stamps[node] = ts
    last = links[0, OLDER]
    links[node, OLDER], links[node, YOUNGER] = last, 0
    links[last, YOUNGER], links[0, OLDER] = node, node
    tag = tag_of(hash_lanes(rows, i, lanes))
    slot = find_node(rows, i, lanes, tag, table, waiting.stored, lanes)
    links[node, KEY_OLDER], links[node, KEY_YOUNGER] = 0, node
    if table[slot]:
        youngest = (table[slot] & HALF) - 1
        links[node, KEY_OLDER], links[node, KEY_YOUNGER] = youngest, links[youngest, KEY_YOUNGER]
        links[youngest, KEY_YOUNGER] = node
    table[slot] = (tag << 32) | (node + 1)


@kernel
def leave_waiting(node: int, waiting: WaitingNodes) -> None:
    registers, table, stored, links, lanes = waiting.registers, waiting.table, waiting.stored, waiting.links, waiting.lanes
    links[links[node, OLDER], YOUNGER], links[links[node, YOUNGER], OLDER] = links[node, YOUNGER], links[node, OLDER]
    tag = tag_of(hash_lanes(stored, node, lanes))
    slot = find_node(stored, node, lanes, tag, table, stored, lanes)
    youngest = (table[slot] & HALF) - 1
    older, younger = links[node, KEY_OLDER], links[node, KEY_YOUNGER]
    if older:
        links[older, KEY_YOUNGER] = younger
    elif node != youngest:
        links[youngest, KEY_YOUNGER] = younger
    if node != youngest:
        links[younger, KEY_OLDER] = older
    elif older:
        table[slot] = (tag << 32) | (older + 1)
    else:
        remove_entry(table, tag, node + 1)
    for lane in range(stored.shape[1]):
        stored[node, lane] = 0
    links[node, YOUNGER] = registers[FREE]
    registers[FREE] = node
    registers[LIVE] -= 1


@kernel
def forget_waiting(now: int, within: int, record: Int64s) -> None:
    """Forget the rows that no right row at `now` or later can find."""
    waiting = open_waiting(record)
    while within != FOREVER and waiting.registers[LIVE] and waiting.stamps[waiting.links[0, YOUNGER]] <= now - within:
        leave_waiting(waiting.links[0, YOUNGER], waiting)


@inlined
def youngest_of(rows: Int64s, i: int, lanes: Int64s, masks: Int64s, waiting: WaitingNodes) -> int:
    """The youngest waiting row with the key that a row has in these lanes, 0 if there is none."""
    if has_null(rows, i, masks):
        return 0
    slot = find_node(rows, i, lanes, tag_of(hash_lanes(rows, i, lanes)), waiting.table, waiting.stored, waiting.lanes)
    return (waiting.table[slot] & HALF) - 1 if waiting.table[slot] else 0


@kernel
def pair_recent(
    l_rows: Int64s, l_ts: Int64s, r_rows: Int64s, r_ts: Int64s, within: int, record: Int64s, out_rows: Int64s, out_ts: Int64s
) -> int:
    """Every right row with the youngest left row; of each key only that one waits."""
    sequence = open_sequence(record)
    left, right, waiting = sequence.sides.left, sequence.sides.right, sequence.waiting
    i, n = 0, 0
    for j in range(len(r_ts) + 1):
        while i < len(l_ts) and (j == len(r_ts) or l_ts[i] <= r_ts[j]):
            if not has_null(l_rows, i, left.masks):
                before = youngest_of(l_rows, i, left.lanes, left.masks, waiting)
                if before:
                    leave_waiting(before, waiting)
                enter_waiting(l_rows, i, l_ts[i], waiting)
            i += 1
        if j < len(r_ts):
            node = youngest_of(r_rows, j, right.lanes, right.masks, waiting)
            if node and r_ts[j] - waiting.stamps[node] < within:
                shape = sequence.sides.shape
                write_pair(waiting.stored, node, l_rows.shape[1], r_rows, j, r_rows.shape[1], shape, out_rows, n)
                out_ts[n] = r_ts[j]
                n += 1
    return n


@kernel
def pair_chronicle(
    l_rows: Int64s, l_ts: Int64s, r_rows: Int64s, r_ts: Int64s, within: int, record: Int64s, out_rows: Int64s, out_ts: Int64s
) -> int:
    """Every right row with the oldest left row that still waits, which then waits no more."""
    sequence = open_sequence(record)
    left, right, waiting = sequence.sides.left, sequence.sides.right, sequence.waiting
    i, n = 0, 0
    for j in range(len(r_ts) + 1):
        while i < len(l_ts) and (j == len(r_ts) or l_ts[i] <= r_ts[j]):
            if not has_null(l_rows, i, left.masks):
                enter_waiting(l_rows, i, l_ts[i], waiting)
            i += 1
        while j < len(r_ts):
            youngest = youngest_of(r_rows, j, right.lanes, right.masks, waiting)
            if youngest == 0:
                break
            node = waiting.links[youngest, KEY_YOUNGER]
            is_found = r_ts[j] - waiting.stamps[node] < within
            if is_found:
                shape = sequence.sides.shape
                write_pair(waiting.stored, node, l_rows.shape[1], r_rows, j, r_rows.shape[1], shape, out_rows, n)
                out_ts[n] = r_ts[j]
                n += 1
            leave_waiting(node, waiting)
            if is_found:
                break
    return n


@kernel
def enter_and_look(
    l_rows: Int64s, l_ts: Int64s, r_rows: Int64s, r_ts: Int64s, record: Int64s, youngest: Int64s
) -> None:
    """All left rows wait; write for every right row the youngest that waited at its time."""
    sequence = open_sequence(record)
    left, right, i = sequence.sides.left, sequence.sides.right, 0
    for j in range(len(r_ts) + 1):
        while i < len(l_ts) and (j == len(r_ts) or l_ts[i] <= r_ts[j]):
            if not has_null(l_rows, i, left.masks):
                enter_waiting(l_rows, i, l_ts[i], sequence.waiting)
            i += 1
        if j < len(r_ts):
            youngest[j] = youngest_of(r_rows, j, right.lanes, right.masks, sequence.waiting)


@kernel
def count_candidates(
    places: Int64s, r_ts: Int64s, within: int, stamps: Int64s, links: Int64s, first: Int64s, counts: Int64s
) -> None:
    """How many left rows may be the partner of some right rows, used or not; `first` is the youngest of them."""
    for k in range(len(places)):
        node, counts[k] = first[places[k]], 0
        while node and r_ts[places[k]] - stamps[node] < within:
            counts[k] += 1
            node = links[node, KEY_OLDER]


@kernel
def candidates(
    places: Int64s, r_ts: Int64s, within: int, most: int, stamps: Int64s, links: Int64s, is_used: Booleans, next_: Int64s,
    rights: Int64s, lefts: Int64s,
) -> int:
    """For some right rows the next left rows that may be their partner, from the younger to the older, at most so many each.

    `next_` is where a right row goes on looking, 0 when there is nothing left.
    """
    n = 0
    for j in places:
        node, count = next_[j], 0
        while node and count < most:
            if r_ts[j] - stamps[node] >= within:
                node = 0
                break
            if not is_used[node]:
                rights[n], lefts[n] = j, node
                n, count = n + 1, count + 1
            node = links[node, KEY_OLDER]
        next_[j] = node
    return n


@kernel
def take_oldest(rights: Int64s, lefts: Int64s, is_true: Booleans, is_used: Booleans, partner: Int64s) -> None:
    """Candidates lie from the younger to the older: the last true one that is not used becomes the partner."""
    for k in range(len(rights)):
        if is_true[k] and not is_used[lefts[k]]:
            partner[rights[k]] = lefts[k]
        if k + 1 == len(rights) or rights[k + 1] != rights[k]:
            is_used[partner[rights[k]]] = True
    is_used[0] = False


@kernel
def write_pairs(
    stored: Int64s, lefts: Int64s, r_rows: Int64s, rights: Int64s, l_width: int, shape: Int64s, out_rows: Int64s
) -> None:
    for k in range(len(lefts)):
        write_pair(stored, lefts[k], l_width, r_rows, rights[k], r_rows.shape[1], shape, out_rows, k)


@kernel
def leave_all(used: Int64s, record: Int64s) -> None:
    waiting = open_waiting(record)
    for node in used:
        leave_waiting(node, waiting)
