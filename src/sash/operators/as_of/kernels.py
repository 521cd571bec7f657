"""Every left row with the nearest right row of its key.

    right     b        c c'          d         in the order of what is compared; of equal ones the first counts
    left        1 2  3    4  5  6      7       1 2 have b, 3 too; 4 5 6 have c; 7 has d

A right row that comes or goes changes only the left rows between it and the next other value: if c leaves they get c', if that
was not there they get b. Both sides lie in one tree a key, so a change costs their depth and what it changes. A kernel that finds
too little room for the next change says at `cursor[NEEDED]` how much it needs, and goes on there in the next call.
"""

from __future__ import annotations

from sash.deltas import Int64s
from sash.kernels.compiling import inlined, kernel
from sash.kernels.pairs import write_pair
from sash.kernels.ranking import AGAINST, ROOT, forget_if_empty, partition_of, write_key
from sash.kernels.rows import Bytes, compare_ordered, has_null
from sash.kernels.tree import COUNT, LEFT, RIGHT, TOTAL, count_before, find_row, next_node, node_at
from sash.operators.top.kernels import enter, leave

LEFT_PLACE, RIGHT_PLACE, NEEDED, CURSOR = 0, 1, 2, 3
# What is compared: its lane on the left and on the right, how many lanes it has; whether equal ones are not near enough; whether
# a left row is shown without a right one.
LEFT_AT, RIGHT_AT, LANES, IS_STRICT, IS_OUTER, FACTS = 0, 1, 2, 3, 4, 5


@kernel
def as_of_changes(
    l_rows: Int64s, l_ts: Int64s, l_weight: Int64s, r_rows: Int64s, r_ts: Int64s, r_weight: Int64s, cursor: Int64s, facts: Int64s,
    l_lanes: Int64s, l_nulls: Int64s, l_masks: Int64s, r_lanes: Int64s, r_nulls: Int64s, r_masks: Int64s, key: Int64s,
    key_lanes: Int64s, l_probe: Int64s, r_probe: Int64s, l_orders: Int64s, l_first: Int64s, r_orders: Int64s, r_first: Int64s,
    registers: Int64s, table: Int64s, keys: Int64s, partitions: Int64s, l_stored: Int64s, l_nodes: Int64s, r_registers: Int64s,
    r_stored: Int64s, r_nodes: Int64s, starts: Int64s, lengths: Int64s, heap: Bytes, shape: Int64s, out_rows: Int64s,
    out_ts: Int64s, out_weight: Int64s,
) -> int:
    """Change after change of both sides, the pairs that come and go. `r_stored[0]` is a row of NULLs."""
    n = 0
    while cursor[LEFT_PLACE] < len(l_ts) or cursor[RIGHT_PLACE] < len(r_ts):
        i, j = cursor[LEFT_PLACE], cursor[RIGHT_PLACE]
        if j >= len(r_ts) or (i < len(l_ts) and l_ts[i] <= r_ts[j]):
            cursor[NEEDED] = 1
            if n + 1 > len(out_ts):
                return n
            n = _change_left(
                l_rows, i, l_ts[i], l_weight[i], facts, l_lanes, l_nulls, l_masks, key, key_lanes, r_probe, l_orders, r_first,
                registers, table, keys, partitions, l_stored, l_nodes, r_stored, r_nodes, starts, lengths, heap, shape, out_rows,
                out_ts, out_weight, n,
            )
            cursor[LEFT_PLACE] = i + 1
            continue
        if has_null(r_rows, j, r_masks):
            cursor[RIGHT_PLACE] = j + 1
            continue
        write_key(r_rows, j, r_lanes, r_nulls, key)
        partition = partition_of(key, key_lanes, registers, table, keys, partitions)
        root, l_root = partitions[partition, AGAINST], partitions[partition, ROOT]
        start, stop = _touched(
            r_rows, j, facts, l_probe, l_first, r_first, l_root, l_stored, l_nodes, root, r_stored, r_nodes, starts, lengths, heap
        )
        cursor[NEEDED] = 2 * max(0, stop - start)
        if n + cursor[NEEDED] > len(out_ts):
            forget_if_empty(partition, key_lanes, registers, table, keys, partitions)
            return n
        node, _, parent, order = find_row(r_rows, j, r_stored, r_nodes, root, r_orders, starts, lengths, heap)
        before = r_nodes[node, COUNT] if node else 0
        after = max(0, before + r_weight[j])
        if after < before:
            root = leave(node, before - after, root, r_registers, r_nodes)
        if (before > 0) != (after > 0):
            n = _write_rematched(
                r_rows, j, r_ts[j], 1 if after else -1, start, stop, facts, r_orders, r_first, l_root, l_stored, l_nodes, root,
                r_stored, r_nodes, starts, lengths, heap, shape, out_rows, out_ts, out_weight, n,
            )
        if after > before:
            root = enter(r_rows, j, after - before, node, parent, order, root, r_registers, r_stored, r_nodes)
        partitions[partition, AGAINST] = root
        forget_if_empty(partition, key_lanes, registers, table, keys, partitions)
        cursor[RIGHT_PLACE] = j + 1
    return n


@kernel
def _change_left(
    rows: Int64s, i: int, ts: int, weight: int, facts: Int64s, lanes: Int64s, nulls: Int64s, masks: Int64s, key: Int64s,
    key_lanes: Int64s, probe: Int64s, orders: Int64s, r_first: Int64s, registers: Int64s, table: Int64s, keys: Int64s,
    partitions: Int64s, stored: Int64s, nodes: Int64s, r_stored: Int64s, r_nodes: Int64s, starts: Int64s, lengths: Int64s,
    heap: Bytes, shape: Int64s, out_rows: Int64s, out_ts: Int64s, out_weight: Int64s, n: int,
) -> int:
    """A left row comes or goes: with its match, if it has one."""
    if has_null(rows, i, masks):
        return _write(rows, i, 0, ts, weight, facts, r_stored, shape, out_rows, out_ts, out_weight, n)
    write_key(rows, i, lanes, nulls, key)
    partition = partition_of(key, key_lanes, registers, table, keys, partitions)
    for lane in range(facts[LANES]):
        probe[0, facts[RIGHT_AT] + lane] = rows[i, facts[LEFT_AT] + lane]
    match = _nearest(
        probe, 0, facts[IS_STRICT] == 1, r_first, partitions[partition, AGAINST], r_stored, r_nodes, starts, lengths, heap
    )
    n = _write(rows, i, match, ts, weight, facts, r_stored, shape, out_rows, out_ts, out_weight, n)
    root = partitions[partition, ROOT]
    node, _, parent, order = find_row(rows, i, stored, nodes, root, orders, starts, lengths, heap)
    if weight > 0:
        root = enter(rows, i, weight, node, parent, order, root, registers, stored, nodes)
    elif node:
        root = leave(node, -weight, root, registers, nodes)
    partitions[partition, ROOT] = root
    forget_if_empty(partition, key_lanes, registers, table, keys, partitions)
    return n


@inlined
def _write(
    rows: Int64s, i: int, match: int, ts: int, weight: int, facts: Int64s, r_stored: Int64s, shape: Int64s, out_rows: Int64s,
    out_ts: Int64s, out_weight: Int64s, n: int,
) -> int:
    """A left row with a stored right row, or with none."""
    if match == 0 and facts[IS_OUTER] == 0:
        return n
    write_pair(rows, i, shape[3], r_stored, match, r_stored.shape[1], shape, out_rows, n)
    out_ts[n], out_weight[n] = ts, weight
    return n + 1


@kernel
def _nearest(
    rows: Int64s, i: int, strictly: bool, first: Int64s, root: int, stored: Int64s, nodes: Int64s, starts: Int64s,
    lengths: Int64s, heap: Bytes,
) -> int:
    """The first of the nodes that have the last value before that of a row (or equal to it); 0 if there is none."""
    node, last = root, 0
    while node:
        order = compare_ordered(rows, i, stored, node, first, starts, lengths, heap)
        if order > 0 or (order == 0 and not strictly):
            last, node = node, nodes[node, RIGHT]
        else:
            node = nodes[node, LEFT]
    if last == 0:
        return 0
    return _first_equal(stored, last, first, root, stored, nodes, starts, lengths, heap)


@kernel
def _first_equal(
    rows: Int64s, i: int, first: Int64s, root: int, stored: Int64s, nodes: Int64s, starts: Int64s, lengths: Int64s, heap: Bytes
) -> int:
    """The first node with the value of a row, or 0."""
    node, found = root, 0
    while node:
        order = compare_ordered(rows, i, stored, node, first, starts, lengths, heap)
        if order == 0:
            found = node
        node = nodes[node, RIGHT] if order > 0 else nodes[node, LEFT]
    return found


@kernel
def _touched(
    rows: Int64s, j: int, facts: Int64s, probe: Int64s, l_first: Int64s, r_first: Int64s, l_root: int, l_stored: Int64s,
    l_nodes: Int64s, root: int, stored: Int64s, nodes: Int64s, starts: Int64s, lengths: Int64s, heap: Bytes,
) -> tuple[int, int]:
    """The ranks of the left rows between the value of a right row and the next other one."""
    strictly = facts[IS_STRICT] == 1
    for lane in range(facts[LANES]):
        probe[0, facts[LEFT_AT] + lane] = rows[j, facts[RIGHT_AT] + lane]
    start = count_before(probe, 0, strictly, l_stored, l_nodes, l_root, l_first, starts, lengths, heap)
    node, following = root, 0
    while node:
        if compare_ordered(rows, j, stored, node, r_first, starts, lengths, heap) < 0:
            following, node = node, nodes[node, LEFT]
        else:
            node = nodes[node, RIGHT]
    if following == 0:
        return start, l_nodes[l_root, TOTAL]
    for lane in range(facts[LANES]):
        probe[0, facts[LEFT_AT] + lane] = stored[following, facts[RIGHT_AT] + lane]
    return start, count_before(probe, 0, strictly, l_stored, l_nodes, l_root, l_first, starts, lengths, heap)


@kernel
def _write_rematched(
    rows: Int64s, j: int, ts: int, sign: int, start: int, stop: int, facts: Int64s, r_orders: Int64s, r_first: Int64s,
    l_root: int, l_stored: Int64s, l_nodes: Int64s, root: int, stored: Int64s, nodes: Int64s, starts: Int64s, lengths: Int64s,
    heap: Bytes, shape: Int64s, out_rows: Int64s, out_ts: Int64s, out_weight: Int64s, n: int,
) -> int:
    """The left rows of some ranks get right row j for what they have without it, as the tree is; or back, by the sign."""
    if start >= stop:
        return n
    other = _first_equal(rows, j, r_first, root, stored, nodes, starts, lengths, heap)
    if other and compare_ordered(rows, j, stored, other, r_orders, starts, lengths, heap) > 0:
        return n
    if other == 0:
        other = _nearest(rows, j, True, r_first, root, stored, nodes, starts, lengths, heap)
    node, rank = node_at(l_nodes, l_root, start)
    while node and rank < stop:
        count = l_nodes[node, COUNT]
        n = _write(l_stored, node, other, ts, -sign * count, facts, stored, shape, out_rows, out_ts, out_weight, n)
        write_pair(l_stored, node, shape[3], rows, j, rows.shape[1], shape, out_rows, n)
        out_ts[n], out_weight[n] = ts, sign * count
        n += 1
        rank += count
        node = next_node(l_nodes, node)
    return n
