"""Windows by count.

    [ROWS 4 SLIDE 2]     row number   0 1 | 2 3 | 4 5 | 6
                         at row 5     gone  `- visible -'  waiting
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sash.kernels.bag import find_node
from sash.kernels.compiling import kernel
from sash.kernels.hashing import HALF, hash_lanes, tag_of
from sash.kernels.rows import copy_row

Int64s = npt.NDArray[np.int64]

TAKEN = 0  # register: how many rows a count window has seen
PARTITIONS, NODES = 0, 1  # registers of a partitioned one


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
