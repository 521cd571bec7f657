"""From rows that carry their expiry to rows that leave by a negative row.

Both kernels merge two orders of time: arrivals, which come sorted by ts, and expirations, which are due by expiry. At one instant
expirations come first. They differ in how the waiting rows lie:

    fifo    a ring; rows expire in the order they came      (weakest pattern: one time window)
    heap    a heap of four children a node, over slots      (weak pattern: joins of windows)

How many rows leave is not known before: a kernel that finds its output full stops, `cursor` says before which arrival, and is
called again. It is through when the cursor is past the last arrival.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sash.kernels.compiling import inlined, kernel
from sash.kernels.rows import copy_row
from sash.schema import FOREVER

Int64s = npt.NDArray[np.int64]

HEAD, COUNT, FREE = 0, 1, 2


@kernel
def expire_fifo(
    delta_rows: Int64s, delta_ts: Int64s, delta_expiry: Int64s, delta_weight: Int64s, now: int, cursor: Int64s, registers: Int64s,
    rows: Int64s, expiry: Int64s, weight: Int64s, out_rows: Int64s, out_ts: Int64s, out_weight: Int64s,
) -> int:
    head, count, mask, n = registers[HEAD], registers[COUNT], len(expiry) - 1, 0
    while cursor[0] <= len(delta_ts) and n < len(out_ts):
        i = cursor[0]
        # After the last arrival, everything due before `now` leaves.
        limit = delta_ts[i] if i < len(delta_ts) else now - 1
        while count and expiry[head & mask] <= limit and n < len(out_ts):
            place = head & mask
            copy_row(rows, place, out_rows, n)
            out_ts[n], out_weight[n] = expiry[place], -weight[place]
            n, head, count = n + 1, head + 1, count - 1
        if n == len(out_ts):
            break
        cursor[0] = i + 1
        if i == len(delta_ts):
            break
        copy_row(delta_rows, i, out_rows, n)
        out_ts[n], out_weight[n] = delta_ts[i], delta_weight[i]
        n += 1
        if delta_expiry[i] != FOREVER:
            place = (head + count) & mask
            copy_row(delta_rows, i, rows, place)
            expiry[place], weight[place] = delta_expiry[i], delta_weight[i]
            count += 1
    registers[HEAD], registers[COUNT] = head, count
    return n


@inlined
def _push(keys: Int64s, slots: Int64s, count: int, key: int, slot: int) -> None:
    place = count
    while place > 0:
        parent = (place - 1) >> 2
        if keys[parent] <= key:
            break
        keys[place], slots[place] = keys[parent], slots[parent]
        place = parent
    keys[place], slots[place] = key, slot


@inlined
def _pop(keys: Int64s, slots: Int64s, count: int) -> None:
    """Take the least away from a heap of `count` nodes."""
    last = count - 1
    key, slot, place = keys[last], slots[last], 0
    while True:
        child = 4 * place + 1
        if child >= last:
            break
        least = child
        for other in range(child + 1, min(child + 4, last)):
            if keys[other] < keys[least]:
                least = other
        if keys[least] >= key:
            break
        keys[place], slots[place] = keys[least], slots[least]
        place = least
    keys[place], slots[place] = key, slot


@kernel
def expire_heap(
    delta_rows: Int64s, delta_ts: Int64s, delta_expiry: Int64s, delta_weight: Int64s, now: int, cursor: Int64s, registers: Int64s,
    rows: Int64s, weight: Int64s, free: Int64s, keys: Int64s, slots: Int64s, out_rows: Int64s, out_ts: Int64s,
    out_weight: Int64s,
) -> int:
    """`free` holds the slots given back, FREE of them; slots never used follow after COUNT + FREE."""
    count, released, n = registers[COUNT], registers[FREE], 0
    while cursor[0] <= len(delta_ts) and n < len(out_ts):
        i = cursor[0]
        limit = delta_ts[i] if i < len(delta_ts) else now - 1
        while count and keys[0] <= limit and n < len(out_ts):
            slot = slots[0]
            copy_row(rows, slot, out_rows, n)
            out_ts[n], out_weight[n] = keys[0], -weight[slot]
            n += 1
            _pop(keys, slots, count)
            count -= 1
            free[released] = slot
            released += 1
        if n == len(out_ts):
            break
        cursor[0] = i + 1
        if i == len(delta_ts):
            break
        copy_row(delta_rows, i, out_rows, n)
        out_ts[n], out_weight[n] = delta_ts[i], delta_weight[i]
        n += 1
        if delta_expiry[i] != FOREVER:
            if released:
                released -= 1
                slot = free[released]
            else:
                slot = count
            copy_row(delta_rows, i, rows, slot)
            weight[slot] = delta_weight[i]
            _push(keys, slots, count, delta_expiry[i], slot)
            count += 1
    registers[COUNT], registers[FREE] = count, released
    return n
