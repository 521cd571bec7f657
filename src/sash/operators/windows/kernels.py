"""Windows by count.

    [ROWS 4 SLIDE 2]     row number   0 1 | 2 3 | 4 5 | 6
                         at row 5     gone  `- visible -'  waiting
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sash.kernels.bag import find_node, give_back, take_node
from sash.kernels.compiling import inlined, kernel
from sash.kernels.hashing import HALF, hash_lanes, remove_entry, tag_of
from sash.kernels.heap import pop, push
from sash.kernels.rows import copy_row

Int64s = npt.NDArray[np.int64]

TAKEN = 0  # register: how many rows a count window has seen
PARTITIONS, NODES = 0, 1  # registers of a partitioned one

# Sessions. Lanes of a session after those of its key: when its last row came, its first and its last row, its tag in the table.
LAST, FIRST_ROW, LAST_ROW, TAG, SESSION_LANES = 0, 1, 2, 3, 4
WEIGHT, FOLLOWING, ROW_LANES = 0, 1, 2  # lanes of a row after its own: how often it is there (0: it has left), and the next one
ALARMS = 3  # register of sessions, after those that `take_node` keeps: how many have an alarm


@kernel
def slide_rows(
    delta_rows: Int64s, delta_ts: Int64s, size: int, slide: int, registers: Int64s, rows: Int64s, out_rows: Int64s,
    out_ts: Int64s, out_weight: Int64s,
) -> int:
    """The last `size` rows, moved on by `slide` rows at a time; `rows` is a ring with room for size + slide of them."""
    taken, room, n = registers[TAKEN], len(rows), 0
    for i in range(len(delta_ts)):
        copy_row(delta_rows, i, rows, taken % room)
        taken += 1
        if taken % slide == 0:
            for number in range(max(0, taken - slide - size), taken - size):
                copy_row(rows, number % room, out_rows, n)
                out_ts[n], out_weight[n] = delta_ts[i], -1
                n += 1
            for number in range(taken - slide, taken):
                copy_row(rows, number % room, out_rows, n)
                out_ts[n], out_weight[n] = delta_ts[i], 1
                n += 1
    registers[TAKEN] = taken
    return n


@kernel
def slide_partitions(
    delta_rows: Int64s, delta_ts: Int64s, size: int, lanes: Int64s, masks: Int64s, registers: Int64s, table: Int64s, keys: Int64s,
    counts: Int64s, oldest: Int64s, newest: Int64s, following: Int64s, rows: Int64s, key: Int64s, out_rows: Int64s,
    out_ts: Int64s, out_weight: Int64s,
) -> int:
    """The last `size` rows of every partition, each a chain from its oldest row to its newest.

    `keys` holds, for every partition, its key lanes and the mask bits of the key columns, all else zero (`masks` says which
    bits); `lanes` are those lanes. `key` is one line of zeros to work with.
    """
    n = 0
    for i in range(len(delta_ts)):
        for lane in lanes:
            key[0, lane] = delta_rows[i, lane] & masks[lane]
        tag = tag_of(hash_lanes(key, 0, lanes))
        slot = find_node(key, 0, lanes, tag, table, keys, lanes)
        if not table[slot]:
            copy_row(key, 0, keys, registers[PARTITIONS])
            registers[PARTITIONS] += 1
            table[slot] = (tag << 32) | registers[PARTITIONS]
        partition = (table[slot] & HALF) - 1
        if counts[partition] == size:
            node = oldest[partition]
            oldest[partition] = following[node]
            copy_row(rows, node, out_rows, n)
            out_ts[n], out_weight[n] = delta_ts[i], -1
            n += 1
        else:
            node = registers[NODES]
            registers[NODES] += 1
            counts[partition] += 1
        copy_row(delta_rows, i, rows, node)
        if counts[partition] == 1:
            oldest[partition] = node
        else:
            following[newest[partition]] = node
        newest[partition] = node
        copy_row(delta_rows, i, out_rows, n)
        out_ts[n], out_weight[n] = delta_ts[i], 1
        n += 1
    return n


@kernel
def hold_sessions(
    delta_rows: Int64s, delta_ts: Int64s, delta_weight: Int64s, now: int, gap: int, lanes: Int64s, masks: Int64s,
    registers: Int64s, table: Int64s, sessions: Int64s, free_sessions: Int64s, alarms: Int64s, row_registers: Int64s,
    rows: Int64s, free_rows: Int64s, key: Int64s, out_rows: Int64s, out_ts: Int64s, out_weight: Int64s,
) -> int:
    """Rows enter the open session of their key, or begin one; a session whose gap has passed leaves as a whole.

    Every session has one alarm. It is set for the end that the session had when it was set: one that rings too early is set anew.
    """
    n, width = 0, delta_rows.shape[1]
    for i in range(len(delta_ts)):
        n = _end_sessions(
            delta_ts[i], gap, width, registers, table, sessions, free_sessions, alarms, row_registers, rows, free_rows, out_rows,
            out_ts, out_weight, n,
        )
        for lane in lanes:
            key[0, lane] = delta_rows[i, lane] & masks[lane]
        tag = tag_of(hash_lanes(key, 0, lanes))
        slot = find_node(key, 0, lanes, tag, table, sessions, lanes)
        node = take_node(row_registers, free_rows)
        copy_row(delta_rows, i, rows, node)
        rows[node, width + WEIGHT], rows[node, width + FOLLOWING] = delta_weight[i], -1
        if table[slot]:
            session = (table[slot] & HALF) - 1
            rows[sessions[session, width + LAST_ROW], width + FOLLOWING] = node
        else:
            session = take_node(registers, free_sessions)
            table[slot] = (tag << 32) | (session + 1)
            copy_row(key, 0, sessions, session)
            sessions[session, width + FIRST_ROW], sessions[session, width + TAG] = node, tag
            push(alarms, registers[ALARMS], delta_ts[i] + gap, session)
            registers[ALARMS] += 1
        sessions[session, width + LAST], sessions[session, width + LAST_ROW] = delta_ts[i], node
        copy_row(delta_rows, i, out_rows, n)
        out_ts[n], out_weight[n] = delta_ts[i], delta_weight[i]
        n += 1
    return _end_sessions(
        now - 1, gap, width, registers, table, sessions, free_sessions, alarms, row_registers, rows, free_rows, out_rows, out_ts,
        out_weight, n,
    )


@inlined
def _end_sessions(
    now: int, gap: int, width: int, registers: Int64s, table: Int64s, sessions: Int64s, free_sessions: Int64s, alarms: Int64s,
    row_registers: Int64s, rows: Int64s, free_rows: Int64s, out_rows: Int64s, out_ts: Int64s, out_weight: Int64s, n: int,
) -> int:
    """Let the sessions go that end at `now` or before, in the order of their ends."""
    while registers[ALARMS] and alarms[0, 0] <= now:
        session = alarms[0, 1]
        end = sessions[session, width + LAST] + gap
        is_over = end == alarms[0, 0]
        pop(alarms, registers[ALARMS])
        if not is_over:
            push(alarms, registers[ALARMS] - 1, end, session)
            continue
        registers[ALARMS] -= 1
        node = sessions[session, width + FIRST_ROW]
        while node >= 0:
            for lane in range(width):
                out_rows[n, lane] = rows[node, lane]
            out_ts[n], out_weight[n] = end, -rows[node, width + WEIGHT]
            n += 1
            rows[node, width + WEIGHT] = 0
            give_back(row_registers, free_rows, node)
            node = rows[node, width + FOLLOWING]
        remove_entry(table, sessions[session, width + TAG], session + 1)
        give_back(registers, free_sessions, session)
    return n
