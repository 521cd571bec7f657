"""The youngest rows of every key that the other side leaves over.

Rows of a key lie in one tree, the youngest first. Equal rows that came at different instants are chained in a ring: the table of
rows names the youngest, its `younger` is the oldest, and so on back to it. So the one that leaves first is found at once.
"""

from __future__ import annotations

from sash.deltas import Int64s
from sash.kernels.bag import find_node
from sash.kernels.compiling import inlined, kernel
from sash.kernels.hashing import HALF, hash_lanes, remove_entry, tag_of
from sash.kernels.ranking import (
    AGAINST,
    LIVE_NODES,
    ROOT,
    forget_if_empty,
    free_node,
    new_node,
    partition_of,
    write_key,
    write_ranks,
    write_shift,
)
from sash.kernels.rows import Bytes, copy_row
from sash.kernels.tree import COUNT, TOTAL, add_count, find_row, insert_node, rank_of, remove_node

LEFT, RIGHT, NEEDED, GONE = 0, 1, 2, 3  # of the cursor; GONE is how many of the leaving row at hand have left


@kernel
def minus_changes(
    l_rows: Int64s, l_ts: Int64s, l_weight: Int64s, r_rows: Int64s, r_ts: Int64s, r_weight: Int64s, cursor: Int64s,
    l_lanes: Int64s, l_nulls: Int64s, r_lanes: Int64s, r_nulls: Int64s, key: Int64s, key_lanes: Int64s, line: Int64s,
    row_lanes: Int64s, orders: Int64s, registers: Int64s, table: Int64s, keys: Int64s, partitions: Int64s,
    stored: Int64s, nodes: Int64s, row_table: Int64s, younger: Int64s, starts: Int64s, lengths: Int64s, heap: Bytes,
    out_rows: Int64s, out_ts: Int64s, out_weight: Int64s,
) -> int:
    """Change after change of both sides, what enters and leaves the first max(0, n - m) ranks of its key.

    `stored` has one lane more than the rows: the instant a row came. `line` is one such row to work with.
    """
    n = 0
    while cursor[LEFT] < len(l_ts) or cursor[RIGHT] < len(r_ts):
        i, j = cursor[LEFT], cursor[RIGHT]
        is_left = j >= len(r_ts) or (i < len(l_ts) and l_ts[i] <= r_ts[j])
        count = abs(l_weight[i]) - cursor[GONE] if is_left else abs(r_weight[j])
        cursor[NEEDED] = 2 * min(count, registers[LIVE_NODES] + 1) + 1
        if n + cursor[NEEDED] > len(out_ts):
            return n
        if is_left:
            write_key(l_rows, i, l_lanes, l_nulls, key)
        else:
            write_key(r_rows, j, r_lanes, r_nulls, key)
        partition = partition_of(key, key_lanes, registers, table, keys, partitions)
        if not is_left:
            root, against = partitions[partition, ROOT], partitions[partition, AGAINST]
            shown = max(0, nodes[root, TOTAL] - against)
            left_over = max(0, nodes[root, TOTAL] - against - r_weight[j])
            sign = 1 if left_over > shown else -1
            n = write_ranks(
                stored, nodes, root, min(shown, left_over), max(shown, left_over), sign, r_ts[j], out_rows, out_ts,
                out_weight, n,
            )
            partitions[partition, AGAINST] = against + r_weight[j]
            cursor[RIGHT] = j + 1
        elif l_weight[i] > 0:
            for lane in range(l_rows.shape[1]):
                line[0, lane] = l_rows[i, lane]
            line[0, l_rows.shape[1]] = l_ts[i]
            n = _arrive(
                line, count, partition, row_lanes, orders, registers, partitions, stored, nodes, row_table, younger,
                starts, lengths, heap, out_rows, out_ts, out_weight, n,
            )
            cursor[LEFT] = i + 1
        else:
            n, leaving = _depart(
                l_rows, i, l_ts[i], count, partition, row_lanes, registers, partitions, stored, nodes, row_table,
                younger, out_rows, out_ts, out_weight, n,
            )
            cursor[GONE] += leaving
            if leaving == count:
                cursor[LEFT], cursor[GONE] = i + 1, 0
        forget_if_empty(partition, key_lanes, registers, table, keys, partitions)
    return n


@inlined
def _arrive(
    line: Int64s, count: int, partition: int, row_lanes: Int64s, orders: Int64s, registers: Int64s, partitions: Int64s,
    stored: Int64s, nodes: Int64s, row_table: Int64s, younger: Int64s, starts: Int64s, lengths: Int64s, heap: Bytes,
    out_rows: Int64s, out_ts: Int64s, out_weight: Int64s, n: int,
) -> int:
    """The row of `line` comes, `count` times."""
    root, against = partitions[partition, ROOT], partitions[partition, AGAINST]
    total, ts = nodes[root, TOTAL], line[0, line.shape[1] - 1]
    _, rank, parent, order = find_row(line, 0, stored, nodes, root, orders, starts, lengths, heap)
    n = write_shift(
        line, 0, rank, count, stored, nodes, root, 0, max(0, total - against), 0, max(0, total + count - against), 1, ts,
        out_rows, out_ts, out_weight, n,
    )
    node = new_node(registers, nodes)
    copy_row(line, 0, stored, node)
    partitions[partition, ROOT] = insert_node(nodes, root, node, parent, order, count)
    tag = tag_of(hash_lanes(line, 0, row_lanes))
    slot = find_node(line, 0, row_lanes, tag, row_table, stored, row_lanes)
    if row_table[slot]:
        youngest = (row_table[slot] & HALF) - 1
        younger[node], younger[youngest] = younger[youngest], node
    else:
        younger[node] = node
    row_table[slot] = (tag << 32) | (node + 1)
    return n


@inlined
def _depart(
    rows: Int64s, i: int, ts: int, count: int, partition: int, row_lanes: Int64s, registers: Int64s, partitions: Int64s,
    stored: Int64s, nodes: Int64s, row_table: Int64s, younger: Int64s, out_rows: Int64s, out_ts: Int64s,
    out_weight: Int64s, n: int,
) -> tuple[int, int]:
    """Of `count` times row i, those that came at the oldest instant go; also says how many."""
    tag = tag_of(hash_lanes(rows, i, row_lanes))
    slot = find_node(rows, i, row_lanes, tag, row_table, stored, row_lanes)
    if row_table[slot] == 0:
        return n, count
    youngest = (row_table[slot] & HALF) - 1
    node = younger[youngest]
    root, against = partitions[partition, ROOT], partitions[partition, AGAINST]
    total, rank, leaving = nodes[root, TOTAL], rank_of(nodes, node), min(count, nodes[node, COUNT])
    if nodes[node, COUNT] > leaving:
        add_count(nodes, node, -leaving)
    else:
        root = remove_node(nodes, root, node)
        younger[youngest] = younger[node]
        if node == youngest:
            remove_entry(row_table, tag, node + 1)
        free_node(registers, nodes, node)
    partitions[partition, ROOT] = root
    n = write_shift(
        rows, i, rank, leaving, stored, nodes, root, 0, max(0, total - leaving - against), 0, max(0, total - against),
        -1, ts, out_rows, out_ts, out_weight, n,
    )
    return n, leaving
