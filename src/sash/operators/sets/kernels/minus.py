"""The youngest rows of every key that the other side leaves over.

    key 7    oldest  a · b · c c · d  youngest      n = 5, m = 2: the youngest three are shown
                             ^ border: one of two is shown; all that are younger are, none that is older

Changes come in the order of time, and those of an instant in the order of rows, so what comes is the youngest of its key whatever
the input is. A list in the order of age is enough then: a row is entered at its young end, any may leave, and one row more or
less on the other side moves the border by one.

Equal rows that came at different instants are chained in a ring: the table of rows names the youngest, which names the oldest,
and so on back to it. So the one that leaves first is found at once.
"""

from __future__ import annotations

from typing import NamedTuple

from sash.deltas import Int64s
from sash.kernels import ranking
from sash.kernels.bag import find_node
from sash.kernels.bundles import SignedChanges, opened
from sash.kernels.compiling import inlined, kernel
from sash.kernels.hashing import HALF, remove_entry
from sash.kernels.prefetching import look_ahead
from sash.kernels.ranking import (
    LIVE_NODES,
    LIVE_PARTITIONS,
    Aged,
    KeyPlaces,
    Ranked,
    forget_if_empty,
    free_node,
    new_node,
    partition_of,
)
from sash.kernels.rows import copy_row

LEFT, RIGHT, NEEDED, GONE = 0, 1, 2, 3  # of the cursor; GONE is how many of the leaving row at hand have left
# Fields of a partition, those of `ranking.py` under other names: its youngest row, the rows of the other side, the oldest row of
# which some are shown, how many are shown, how many there are.
YOUNGEST, AGAINST, BORDER, ALL_SHOWN, TOTAL = ranking.ROOT, ranking.AGAINST, ranking.TOUCHED, ranking.GROWTH, ranking.TAIL
# Fields of a node, as many as a tree has: its neighbours in age, the next younger row that is equal, how often the row came at
# its instant, how many of these are shown.
OLDER, YOUNGER, EQUAL, COUNT, SHOWN = 0, 1, 2, 3, 4


class MinusSides(NamedTuple):
    left: KeyPlaces
    right: KeyPlaces
    aged: Aged


open_minus = opened(MinusSides)


@kernel
def minus_changes(
    l_rows: Int64s, l_ts: Int64s, l_weight: Int64s, l_tags: Int64s, r_rows: Int64s, r_ts: Int64s, r_weight: Int64s,
    cursor: Int64s, record: Int64s, out_rows: Int64s, out_ts: Int64s, out_weight: Int64s,
) -> int:
    """Change after change of both sides, what enters and leaves the youngest max(0, n - m) rows of its key.

    Stops where there is no room for one more row, one more key, or NEEDED more changes.
    """
    minus, out, n = open_minus(record), SignedChanges(out_rows, out_ts, out_weight), 0
    aged, ranked, partitions = minus.aged, minus.aged.ranked, minus.aged.ranked.partitions
    while cursor[LEFT] < len(l_ts) or cursor[RIGHT] < len(r_ts):
        i, j = cursor[LEFT], cursor[RIGHT]
        is_left = j >= len(r_ts) or (i < len(l_ts) and l_ts[i] <= r_ts[j])
        count = abs(l_weight[i]) - cursor[GONE] if is_left else abs(r_weight[j])
        cursor[NEEDED] = min(count, ranked.registers[LIVE_NODES] + 1) + 2
        if n + cursor[NEEDED] > len(out_ts) or not _has_room(aged):
            return n
        if not is_left:
            partition = partition_of(r_rows, j, minus.right, ranked)
            partitions[partition, AGAINST] += r_weight[j]
            n = _move_border(partition, r_ts[j], ranked, out, n)
            cursor[RIGHT] = j + 1
        else:
            look_ahead(l_tags, i, aged.row_table, ranked.tree.stored)
            partition = partition_of(l_rows, i, minus.left, ranked)
            if l_weight[i] > 0:
                shown = _arrive(l_rows, i, l_tags[i], count, partition, aged)
                if shown:
                    n = _write(l_rows, i, l_ts[i], shown, out, n)
                cursor[LEFT] = i + 1
            else:
                leaving, shown = _depart(l_rows, i, l_tags[i], count, partition, aged)
                if shown:
                    n = _write(l_rows, i, l_ts[i], -shown, out, n)
                n = _move_border(partition, l_ts[i], ranked, out, n)
                cursor[GONE] += leaving
                if leaving == count:
                    cursor[LEFT], cursor[GONE] = i + 1, 0
        forget_if_empty(partition, ranked)
    return n


@inlined
def _has_room(aged: Aged) -> bool:
    """For one more row and one more key; number 0 is nobody, and tables are half empty."""
    ranked = aged.ranked
    rows, keys = ranked.registers[LIVE_NODES] + 1, ranked.registers[LIVE_PARTITIONS] + 1
    has_rows = rows < len(ranked.tree.nodes) and 2 * rows <= len(aged.row_table)
    return has_rows and keys < len(ranked.partitions) and 2 * keys < len(ranked.table)


@inlined
def _write(rows: Int64s, i: int, ts: int, weight: int, out: SignedChanges, n: int) -> int:
    for lane in range(out.rows.shape[1]):
        out.rows[n, lane] = rows[i, lane]
    out.ts[n], out.weight[n] = ts, weight
    return n + 1


@inlined
def _wanted(partition: int, partitions: Int64s) -> int:
    """How many are to be shown; fewer than none on the other side, which may be so within an instant, leave all."""
    total = partitions[partition, TOTAL]
    return min(total, max(0, total - partitions[partition, AGAINST]))


@inlined
def _move_border(partition: int, ts: int, ranked: Ranked, out: SignedChanges, n: int) -> int:
    """Show more rows, or hide the oldest ones, until as many are shown as should be."""
    partitions, stored, nodes = ranked.partitions, ranked.tree.stored, ranked.tree.nodes
    wanted = _wanted(partition, partitions)
    while partitions[partition, ALL_SHOWN] < wanted:
        node = partitions[partition, BORDER]
        if node == 0:
            node = partitions[partition, YOUNGEST]
        elif nodes[node, SHOWN] == nodes[node, COUNT]:
            node = nodes[node, OLDER]
        some = min(wanted - partitions[partition, ALL_SHOWN], nodes[node, COUNT] - nodes[node, SHOWN])
        nodes[node, SHOWN] += some
        partitions[partition, ALL_SHOWN] += some
        partitions[partition, BORDER] = node
        n = _write(stored, node, ts, some, out, n)
    while partitions[partition, ALL_SHOWN] > wanted:
        node = partitions[partition, BORDER]
        some = min(partitions[partition, ALL_SHOWN] - wanted, nodes[node, SHOWN])
        nodes[node, SHOWN] -= some
        partitions[partition, ALL_SHOWN] -= some
        if nodes[node, SHOWN] == 0:
            partitions[partition, BORDER] = nodes[node, YOUNGER]
        n = _write(stored, node, ts, -some, out, n)
    return n


@inlined
def _arrive(rows: Int64s, i: int, tag: int, count: int, partition: int, aged: Aged) -> int:
    """Row i comes, `count` times. What comes is shown before all others are; also says how many are."""
    row_table, row_lanes, registers, partitions = aged.row_table, aged.lanes, aged.ranked.registers, aged.ranked.partitions
    stored, nodes = aged.ranked.tree.stored, aged.ranked.tree.nodes
    node = new_node(registers, nodes)
    copy_row(rows, i, stored, node)
    youngest = partitions[partition, YOUNGEST]
    if youngest:
        nodes[youngest, YOUNGER] = node
    partitions[partition, YOUNGEST] = node
    partitions[partition, TOTAL] += count
    shown = _wanted(partition, partitions) - partitions[partition, ALL_SHOWN]
    if shown and partitions[partition, BORDER] == 0:
        partitions[partition, BORDER] = node
    partitions[partition, ALL_SHOWN] += shown
    nodes[node, OLDER], nodes[node, YOUNGER], nodes[node, COUNT], nodes[node, SHOWN] = youngest, 0, count, shown
    slot = find_node(rows, i, row_lanes, tag, row_table, stored, row_lanes)
    if row_table[slot]:
        equal = (row_table[slot] & HALF) - 1
        nodes[node, EQUAL], nodes[equal, EQUAL] = nodes[equal, EQUAL], node
    else:
        nodes[node, EQUAL] = node
    row_table[slot] = (tag << 32) | (node + 1)
    return shown


@inlined
def _depart(rows: Int64s, i: int, tag: int, count: int, partition: int, aged: Aged) -> tuple[int, int]:
    """Of `count` times row i, those that came at the oldest instant go; says how many, and how many of them were shown."""
    row_table, row_lanes, registers, partitions = aged.row_table, aged.lanes, aged.ranked.registers, aged.ranked.partitions
    stored, nodes = aged.ranked.tree.stored, aged.ranked.tree.nodes
    slot = find_node(rows, i, row_lanes, tag, row_table, stored, row_lanes)
    if row_table[slot] == 0:
        return count, 0
    newest = (row_table[slot] & HALF) - 1
    node = nodes[newest, EQUAL]
    leaving = min(count, nodes[node, COUNT])
    nodes[node, COUNT] -= leaving
    shown = max(0, nodes[node, SHOWN] - nodes[node, COUNT])
    nodes[node, SHOWN] -= shown
    partitions[partition, TOTAL] -= leaving
    partitions[partition, ALL_SHOWN] -= shown
    if partitions[partition, BORDER] == node and nodes[node, SHOWN] == 0:
        partitions[partition, BORDER] = nodes[node, YOUNGER]
    if nodes[node, COUNT] == 0:
        _unlink(node, partition, partitions, nodes)
        nodes[newest, EQUAL] = nodes[node, EQUAL]
        if node == newest:
            remove_entry(row_table, tag, node + 1)
        free_node(registers, nodes, node)
    return leaving, shown


@inlined
def _unlink(node: int, partition: int, partitions: Int64s, nodes: Int64s) -> None:
    older, younger = nodes[node, OLDER], nodes[node, YOUNGER]
    if older:
        nodes[older, YOUNGER] = younger
    if younger:
        nodes[younger, OLDER] = older
    else:
        partitions[partition, YOUNGEST] = older
