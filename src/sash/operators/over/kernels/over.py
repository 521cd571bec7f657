"""What window functions look at: the rows of every partition that an instant changes, as they were and as they are.

    ranks          0 1 2 3 4 5 6 7 8 9
    a change             ^ ^                 with its peers
    shown              . . . . .             what it may change: `ahead` rows before it, `behind` rows after it
    copied         . . . . . . . .           what those depend on

A copy of one side of one partition is a segment; segments lie one after the other. A kernel that finds too little room for the
next instant says at `cursor[NEEDED]` how much it needs, and goes on there in the next call.
"""

from __future__ import annotations

from typing import NamedTuple

from sash.deltas import Int64s
from sash.kernels.bundles import Lines, SignedChanges, opened
from sash.kernels.compiling import inlined, kernel
from sash.kernels.ranking import GROWTH, NEXT, ROOT, TAIL, TOUCHED, forget_if_empty, partition_of
from sash.kernels.tree import COUNT, TOTAL, Tree, count_before, next_node, node_at
from sash.operators.top.kernels import RankedRows, change_partitions

PLACE, NEEDED, SEGMENTS, CURSOR = 0, 1, 2, 3
# Fields of a segment: where its rows begin and end, where those that are shown do, its instant and sign.
START, STOP, SHOWN, SHOWN_STOP, TS, SIGN, SEGMENT_FIELDS = 0, 1, 2, 3, 4, 5, 6


class OverRows(NamedTuple):
    """`peers` are the first lines of the orders of the rows: those of ORDER BY."""

    kept: RankedRows
    peers: Lines


open_over = opened(OverRows)


@kernel
def copy_partitions(
    rows: Int64s, ts: Int64s, weight: Int64s, cursor: Int64s, behind: int, ahead: int, record: Int64s, out_rows: Int64s,
    segments: Int64s,
) -> int:
    """Enter the changes instant after instant, and copy what they touch; the answer is how many rows were copied.

    Every row changes at most once an instant.
    """
    over, n = open_over(record), 0
    kept, ranked, tree, partitions = over.kept, over.kept.ranked, over.kept.ranked.tree, over.kept.ranked.partitions
    cursor[SEGMENTS] = 0
    while cursor[PLACE] < len(ts):
        first, last, touched = cursor[PLACE], cursor[PLACE], 0
        while last < len(ts) and ts[last] == ts[first]:
            partition = partition_of(rows, last, kept.places, ranked)
            root = partitions[partition, ROOT]
            before = count_before(rows, last, False, tree, root, over.peers, kept.strings)
            until = count_before(rows, last, True, tree, root, over.peers, kept.strings)
            touched = _touch(partition, before, tree.nodes[root, TOTAL] - until, weight[last], partitions, touched)
            last += 1
        cursor[NEEDED] = _needed(touched, behind, ahead, partitions, tree.nodes)
        has_room = n + cursor[NEEDED] <= len(out_rows) and cursor[SEGMENTS] + 2 * (last - first) <= len(segments)
        if not has_room:
            cursor[NEEDED] = max(cursor[NEEDED], 2 * (last - first))
            while touched:
                touched = _untouch(touched, partitions)
            return n
        partition = touched
        while partition:
            n = _copy(partition, -1, ts[first], behind, ahead, partitions, tree, out_rows, segments, cursor, n)
            partition = partitions[partition, NEXT]
        change_partitions(SignedChanges(rows, ts, weight), first, last, kept)
        while touched:
            n = _copy(touched, 1, ts[first], behind, ahead, partitions, tree, out_rows, segments, cursor, n)
            partition, touched = touched, _untouch(touched, partitions)
            forget_if_empty(partition, ranked)
        cursor[PLACE] = last
    return n


@inlined
def _touch(partition: int, before: int, after: int, weight: int, partitions: Int64s, touched: int) -> int:
    """Put a partition on the list of touched ones; the answer is the first of them."""
    if partitions[partition, TOUCHED] == 0:
        partitions[partition, TOUCHED], partitions[partition, TAIL] = before + 1, after
        partitions[partition, NEXT] = touched
        touched = partition
    partitions[partition, TOUCHED] = min(partitions[partition, TOUCHED], before + 1)
    partitions[partition, TAIL] = min(partitions[partition, TAIL], after)
    partitions[partition, GROWTH] += max(0, weight)
    return touched


@inlined
def _untouch(partition: int, partitions: Int64s) -> int:
    """Take the first one off the list; the answer is the next."""
    partitions[partition, TOUCHED], partitions[partition, GROWTH], partitions[partition, TAIL] = 0, 0, 0
    return partitions[partition, NEXT]


@inlined
def _shown(partition: int, total: int, behind: int, ahead: int, partitions: Int64s) -> tuple[int, int]:
    """The ranks that may change in a partition of so many rows."""
    return (
        max(0, partitions[partition, TOUCHED] - 1 - ahead),
        total - max(0, partitions[partition, TAIL] - behind),
    )


@inlined
def _needed(touched: int, behind: int, ahead: int, partitions: Int64s, nodes: Int64s) -> int:
    """How many rows will be copied at most."""
    needed, partition = 0, touched
    while partition:
        total = nodes[partitions[partition, ROOT], TOTAL]
        shown, shown_stop = _shown(partition, total, behind, ahead, partitions)
        start, stop = max(0, shown - behind), min(total, shown_stop + ahead)
        needed += 2 * max(0, stop - start) + partitions[partition, GROWTH]
        partition = partitions[partition, NEXT]
    return needed


@kernel
def _copy(
    partition: int, sign: int, ts: int, behind: int, ahead: int, partitions: Int64s, tree: Tree, out_rows: Int64s,
    segments: Int64s, cursor: Int64s, n: int,
) -> int:
    nodes, root = tree.nodes, partitions[partition, ROOT]
    total = nodes[root, TOTAL]
    shown, shown_stop = _shown(partition, total, behind, ahead, partitions)
    start, stop = max(0, shown - behind), min(total, shown_stop + ahead)
    if start >= stop:
        return n
    segment = cursor[SEGMENTS]
    segments[segment, START], segments[segment, STOP] = n, n + stop - start
    segments[segment, SHOWN], segments[segment, SHOWN_STOP] = n + shown - start, n + shown_stop - start
    segments[segment, TS], segments[segment, SIGN] = ts, sign
    cursor[SEGMENTS] = segment + 1
    node, first = node_at(nodes, root, start)
    for rank in range(start, stop):
        if rank == first + nodes[node, COUNT]:
            first, node = rank, next_node(nodes, node)
        for lane in range(out_rows.shape[1]):
            out_rows[n, lane] = tree.stored[node, lane]
        n += 1
    return n
