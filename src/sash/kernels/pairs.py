"""What kernels that pair rows share. A pair is made of

    left lanes | right lanes | masks of both, the right one's bits moved behind the left one's
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sash.deltas import MASK_BITS
from sash.kernels.bag import find_node
from sash.kernels.compiling import inlined, kernel
from sash.kernels.hashing import HALF, hash_lanes, tag_of

Int64s = npt.NDArray[np.int64]

# Places of the cursor: next left row, next right row, where in the chain of the row at hand (0: it is not at hand yet).
LEFT, RIGHT, CHAIN = 0, 1, 2


@inlined
def write_pair(
    left: Int64s, i: int, left_width: int, right: Int64s, j: int, right_width: int, shape: Int64s, out: Int64s, n: int
) -> None:
    """`shape` holds: value lanes left and right, columns left."""
    values_left, values_right, columns_left = shape[0], shape[1], shape[2]
    for lane in range(values_left):
        out[n, lane] = left[i, lane]
    for lane in range(values_right):
        out[n, values_left + lane] = right[j, lane]
    masks = values_left + values_right
    for lane in range(masks, out.shape[1]):
        out[n, lane] = 0
    for lane in range(left_width - values_left):
        if masks + lane < out.shape[1]:
            out[n, masks + lane] = left[i, values_left + lane]
    word, shift = columns_left // MASK_BITS, columns_left % MASK_BITS
    for lane in range(right_width - values_right):
        bits = right[j, values_right + lane] << shift
        if bits:
            out[n, masks + word + lane] |= bits & 0xFFFFFFFF
            if bits >> MASK_BITS:
                out[n, masks + word + lane + 1] |= bits >> MASK_BITS


@kernel
def hash_rows(rows: Int64s, lanes: Int64s, hashes: Int64s) -> None:
    for i in range(len(rows)):
        hashes[i] = hash_lanes(rows, i, lanes)


@inlined
def newest_of_key(rows: Int64s, i: int, lanes: Int64s, stored: Int64s, stored_lanes: Int64s, table: Int64s) -> int:
    tag = tag_of(hash_lanes(rows, i, lanes))
    return (table[find_node(rows, i, lanes, tag, table, stored, stored_lanes)] & HALF) - 1
