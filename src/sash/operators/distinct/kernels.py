"""The distinct rows of an input whose rows carry their expiry.

    node   lanes of the row | greatest expiry of all its copies | the nodes before and after it in the order of leaving | tag

A row is shown while its youngest copy lives; older copies need not be remembered. Where rows leave in the order they came, the
copy that comes is the last to leave: its node moves to the end of a list, and what is at the head goes first. Elsewhere a heap
holds one alarm for every node; an alarm that rings too early is set anew.
"""

from __future__ import annotations

from sash.deltas import Int64s
from sash.kernels.bag import LIVE, find_node, give_back, take_node
from sash.kernels.compiling import inlined, kernel
from sash.kernels.hashing import HALF, remove_entry
from sash.kernels.heap import pop, push
from sash.kernels.prefetching import NEXT, look_ahead, prefetch
from sash.kernels.rows import copy_row
from sash.schema import FOREVER

# Registers, the first three being those of a bag: head and tail of the list (node + 1), alarms.
HEAD, TAIL, ALARMS, REGISTERS = 3, 4, 5, 6
# Lanes of a node after those of its row: expiry of the youngest copy; neighbours as node + 1, 0 for nobody; its tag in the table.
GREATEST, BEFORE, AFTER, TAG, EXTRA = 0, 1, 2, 3, 4
SCOUTS = 64  # rows that leave until the scout starts again


@inlined
def _unlink(node: int, width: int, registers: Int64s, nodes: Int64s) -> None:
    before, after = nodes[node, width + BEFORE], nodes[node, width + AFTER]
    if before:
        nodes[before - 1, width + AFTER] = after
    else:
        registers[HEAD] = after
    if after:
        nodes[after - 1, width + BEFORE] = before
    else:
        registers[TAIL] = before


@inlined
def _link_last(node: int, width: int, registers: Int64s, nodes: Int64s) -> None:
    tail = registers[TAIL]
    nodes[node, width + BEFORE], nodes[node, width + AFTER] = tail, 0
    if tail:
        nodes[tail - 1, width + AFTER] = node + 1
    else:
        registers[HEAD] = node + 1
    registers[TAIL] = node + 1


@inlined
def _ask_neighbours(tags: Int64s, i: int, width: int, table: Int64s, nodes: Int64s) -> None:
    """A later row that is a copy will be taken from between its neighbours."""
    if i + NEXT < len(tags):
        node = (table[tags[i + NEXT] & len(table) - 1] & HALF) - 1
        if node >= 0:
            prefetch(nodes, nodes[node, width + BEFORE] - 1)
            prefetch(nodes, nodes[node, width + AFTER] - 1)


@inlined
def _scout(scout: int, left: int, width: int, registers: Int64s, table: Int64s, nodes: Int64s) -> int:
    """Ask for the node that leaves some nodes later, one further for each that leaves; the answer is where it is.

    A copy may move it to the end of the list, so now and then the way is gone anew from the head.
    """
    if left % SCOUTS == 0:
        scout = registers[HEAD]
        for _ in range(NEXT):
            if scout:
                scout = nodes[scout - 1, width + AFTER]
    if scout:
        prefetch(table, nodes[scout - 1, width + TAG] & len(table) - 1)
        scout = nodes[scout - 1, width + AFTER]
        prefetch(nodes, scout - 1)
    return scout


@inlined
def _has_room(registers: Int64s, table: Int64s, nodes: Int64s) -> bool:
    """For one more node."""
    return registers[LIVE] < len(nodes) and 2 * registers[LIVE] + 2 <= len(table)


@inlined
def _leave(
    node: int, instant: int, lanes: Int64s, registers: Int64s, table: Int64s, nodes: Int64s, free: Int64s, out_rows: Int64s,
    out_ts: Int64s, out_weight: Int64s, n: int,
) -> None:
    for lane in range(len(lanes)):
        out_rows[n, lane] = nodes[node, lane]
    out_ts[n], out_weight[n] = instant, -1
    remove_entry(table, nodes[node, len(lanes) + TAG], node + 1)
    give_back(registers, free, node)


@kernel
def distinct_in_order(
    delta_rows: Int64s, delta_ts: Int64s, delta_expiry: Int64s, tags: Int64s, now: int, cursor: Int64s, lanes: Int64s,
    registers: Int64s, table: Int64s, nodes: Int64s, free: Int64s, out_rows: Int64s, out_ts: Int64s, out_weight: Int64s,
) -> int:
    """Stops when its output or the store is full, and goes on at `cursor` in the next call, as `expire_fifo` does."""
    width, n, left, scout = len(lanes), 0, 0, 0
    while cursor[0] <= len(delta_ts) and n < len(out_ts):
        i = cursor[0]
        limit = delta_ts[i] if i < len(delta_ts) else now - 1
        while registers[HEAD] and nodes[registers[HEAD] - 1, width + GREATEST] <= limit and n < len(out_ts):
            node = registers[HEAD] - 1
            scout = _scout(scout, left, width, registers, table, nodes)
            left += 1
            _unlink(node, width, registers, nodes)
            _leave(
                node, nodes[node, width + GREATEST], lanes, registers, table, nodes, free, out_rows, out_ts, out_weight, n
            )
            n += 1
        if n == len(out_ts) or not _has_room(registers, table, nodes):
            break
        cursor[0] = i + 1
        if i == len(delta_ts):
            break
        look_ahead(tags, i, table, nodes)
        _ask_neighbours(tags, i, width, table, nodes)
        slot = find_node(delta_rows, i, lanes, tags[i], table, nodes, lanes)
        if table[slot]:
            node = (table[slot] & HALF) - 1
            if nodes[node, width + GREATEST] == FOREVER:
                continue
            if registers[TAIL] == node + 1 and delta_expiry[i] != FOREVER:
                nodes[node, width + GREATEST] = delta_expiry[i]
                continue
            _unlink(node, width, registers, nodes)
        else:
            node = take_node(registers, free)
            copy_row(delta_rows, i, nodes, node)
            nodes[node, width + TAG] = tags[i]
            table[slot] = (tags[i] << 32) | (node + 1)
            copy_row(delta_rows, i, out_rows, n)
            out_ts[n], out_weight[n] = delta_ts[i], 1
            n += 1
        nodes[node, width + GREATEST] = delta_expiry[i]
        if delta_expiry[i] != FOREVER:
            _link_last(node, width, registers, nodes)
    return n


@kernel
def distinct_by_alarm(
    delta_rows: Int64s, delta_ts: Int64s, delta_expiry: Int64s, tags: Int64s, now: int, cursor: Int64s, lanes: Int64s,
    registers: Int64s, table: Int64s, nodes: Int64s, free: Int64s, heap: Int64s, out_rows: Int64s, out_ts: Int64s,
    out_weight: Int64s,
) -> int:
    """The same for rows that leave in any order."""
    width, n = len(lanes), 0
    while cursor[0] <= len(delta_ts) and n < len(out_ts):
        i = cursor[0]
        limit = delta_ts[i] if i < len(delta_ts) else now - 1
        while registers[ALARMS] and heap[0, 0] <= limit and n < len(out_ts):
            instant, node = heap[0, 0], heap[0, 1]
            pop(heap, registers[ALARMS])
            registers[ALARMS] -= 1
            greatest = nodes[node, width + GREATEST]
            if greatest == instant:
                _leave(node, instant, lanes, registers, table, nodes, free, out_rows, out_ts, out_weight, n)
                n += 1
            elif greatest != FOREVER:
                push(heap, registers[ALARMS], greatest, node)
                registers[ALARMS] += 1
        if n == len(out_ts) or not _has_room(registers, table, nodes):
            break
        cursor[0] = i + 1
        if i == len(delta_ts):
            break
        look_ahead(tags, i, table, nodes)
        slot = find_node(delta_rows, i, lanes, tags[i], table, nodes, lanes)
        if table[slot]:
            node = (table[slot] & HALF) - 1
            nodes[node, width + GREATEST] = max(nodes[node, width + GREATEST], delta_expiry[i])
            continue
        node = take_node(registers, free)
        copy_row(delta_rows, i, nodes, node)
        nodes[node, width + GREATEST], nodes[node, width + TAG] = delta_expiry[i], tags[i]
        table[slot] = (tags[i] << 32) | (node + 1)
        if delta_expiry[i] != FOREVER:
            push(heap, registers[ALARMS], delta_expiry[i], node)
            registers[ALARMS] += 1
        copy_row(delta_rows, i, out_rows, n)
        out_ts[n], out_weight[n] = delta_ts[i], 1
        n += 1
    return n
