"""From rows that carry their expiry to rows that leave by a negative row, where they leave in the order they came.

Two orders of time are merged: arrivals, which come sorted by ts, and expirations, which are due by expiry. At one instant
expirations come first. The rows that wait lie in a ring. (`calendar.py` is for rows that leave in another order.)

How many rows leave is not known before: the kernel that finds its output full stops, `cursor` says before which arrival, and is
called again. It is through when the cursor is past the last arrival.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sash.kernels.compiling import kernel
from sash.kernels.rows import copy_row
from sash.schema import FOREVER

Int64s = npt.NDArray[np.int64]

HEAD, COUNT = 0, 1


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
        if delta_weight[i] == 0:
            continue  # it only tells the time
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
