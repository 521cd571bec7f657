"""The order of timestamps: whether there is one, and what a row has before it in its own partition."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sash.deltas import Int64s
from sash.kernels.compiling import kernel
from sash.schema import BEGINNING, END


@kernel
def is_ascending(ts: Int64s) -> bool:
    """Whether no row is before the one that it follows."""
    for i in range(1, len(ts)):
        if ts[i] < ts[i - 1]:
            return False
    return True


@kernel
def span_of(ts: Int64s) -> tuple[int, int]:
    """The least and the greatest of some timestamps, at least one."""
    least = greatest = ts[0]
    for i in range(1, len(ts)):
        least, greatest = min(least, ts[i]), max(greatest, ts[i])
    return least, greatest


@kernel
def read_times(
    rows: Int64s, lane: int, mask: int, bit: int, delay: int, late_below: int, ts: Int64s
) -> tuple[int, int, bool, bool]:
    """The timestamps of rows; the least and the greatest of them, whether all of them are times, of rows that are not late:
    neither below a limit, nor below the greatest one before them, less the delay; and whether they are in order.
    """
    least, greatest, is_good, is_in_order = END, late_below, True, True
    for i in range(len(rows)):
        ts[i] = rows[i, lane]
        if ts[i] < max(late_below, greatest - delay) or not BEGINNING <= ts[i] < END or (rows[i, mask] >> bit) & 1:
            is_good = False
        if i and ts[i] < ts[i - 1]:
            is_in_order = False
        least, greatest = min(least, ts[i]), max(greatest, ts[i])
    return least, greatest, is_good, is_in_order


@kernel
def mark_late(
    partitions: npt.NDArray[np.int32], positions: Int64s, ts: Int64s, delay: int, late: npt.NDArray[np.bool_]
) -> int:
    """Of rows in the order of (partition, position), which are below the greatest ts at earlier positions of their partition,
    less the delay; how many there are. Rows at one position do not judge each other.
    """
    count, is_first = 0, True
    before, greatest = 0, 0
    for i in range(len(ts)):
        if i == 0 or partitions[i] != partitions[i - 1]:
            is_first, greatest = True, ts[i]
        elif positions[i] != positions[i - 1]:
            is_first, before = False, greatest
        late[i] = not is_first and ts[i] < before - delay
        count += late[i]
        greatest = max(greatest, ts[i])
    return count
