"""The border between Arrow's columns and lanes: rows of columns that come in, and rows that go out.

What comes in is read where Arrow has it, by the structures of its C data interface: one call for all columns of a batch, however
many there are. (To ask Arrow for one column takes longer than to read a hundred values of it.)
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sash.deltas import Int64s
from sash.kernels.addresses import byte_at, half_at, word_at
from sash.kernels.compiling import kernel
from sash.kernels.exact_sum import canonical_double

# ArrowArray, in words
LENGTH, NULL_COUNT, OFFSET, BUFFERS, CHILDREN, RELEASE, WORDS = 0, 1, 2, 5, 6, 8, 10
# A line for every column that is read here: its place, how its values lie, its lane, the lane and the bit of its mask
PLACE, SHAPE, LANE, MASK, BIT, COLUMNS = range(6)
NEAR = 64  # rows that are still in a near cache when their next lane is written
WHOLE, HALF, DOUBLE, BITS = range(4)  # 8 bytes, 4 bytes, 8 bytes of a double, one bit


@kernel
def read_columns(batch: Int64s, columns: Int64s, rows: Int64s) -> None:
    """Columns of an exported batch into lanes; all lanes of rows are zero before."""
    for c in range(len(columns)):
        place, shape, lane = columns[c, PLACE], columns[c, SHAPE], columns[c, LANE]
        child = word_at(batch[CHILDREN], place)
        first, buffers = batch[OFFSET] + word_at(child, OFFSET), word_at(child, BUFFERS)
        valid, values = word_at(buffers, 0), word_at(buffers, 1)
        count = len(rows) if values else 0  # without any, all are NULL
        if shape == WHOLE:
            for i in range(count):
                rows[i, lane] = word_at(values, first + i)
        elif shape == HALF:
            for i in range(count):
                rows[i, lane] = half_at(values, first + i)
        elif shape == DOUBLE:
            for i in range(count):
                rows[i, lane] = canonical_double(word_at(values, first + i))
        else:
            for i in range(count):
                rows[i, lane] = byte_at(values, (first + i) >> 3) >> ((first + i) & 7) & 1
        if valid and word_at(child, NULL_COUNT):
            for i in range(len(rows)):
                if not byte_at(valid, (first + i) >> 3) >> ((first + i) & 7) & 1:
                    rows[i, lane] = 0
                    rows[i, columns[c, MASK]] |= 1 << columns[c, BIT]


@kernel
def spread_lanes(rows: Int64s, columns: Int64s) -> bool:
    """Write the first lanes of every row as columns, one line each; whether any of the other lanes has a bit set."""
    bits = 0
    for start in range(0, len(rows), NEAR):
        stop = min(start + NEAR, len(rows))
        for lane in range(len(columns)):
            for i in range(start, stop):
                columns[lane, i] = rows[i, lane]
        for lane in range(len(columns), rows.shape[1]):
            for i in range(start, stop):
                bits |= rows[i, lane]
    return bits != 0


@kernel
def spread_changes(
    rows: Int64s, ts: Int64s, weight: Int64s, at: int, ops: npt.NDArray[np.int8], columns: Int64s
) -> bool:
    """The same of changes, behind others: their signs, then their instants and lanes; nothing is written if a bit is set."""
    bits = 0
    for i in range(len(rows)):
        for lane in range(len(columns) - 1, rows.shape[1]):
            bits |= rows[i, lane]
    if bits:
        return False
    for i in range(len(rows)):
        ops[at + i], columns[0, at + i] = weight[i], ts[i]
        for lane in range(len(columns) - 1):
            columns[lane + 1, at + i] = rows[i, lane]
    return True
