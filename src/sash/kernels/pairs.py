"""What kernels that pair rows share. A pair is made of

    left lanes | right lanes | masks of both, the right one's bits moved behind the left one's
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sash.deltas import MASK_BITS
from sash.kernels.bag import KeyedNodes, find_node
from sash.kernels.bundles import Changes, Line
from sash.kernels.compiling import inlined, kernel
from sash.kernels.hashing import HALF, hash_lanes, tag_of

Int64s = npt.NDArray[np.int64]

# Places of the cursor: next left row, next right row, where in the chain of the row at hand (0: it is not at hand yet), and
# whether the rows are hashed.
LEFT, RIGHT, CHAIN, IS_HASHED, CURSOR = 0, 1, 2, 3, 4


class PairSide(NamedTuple):
    """Of one side: the lanes of its key, the bits that say that a key is NULL, a mask a lane, and room for hashes of new rows."""

    lanes: Line
    masks: Line
    hashes: Line


class PairSides(NamedTuple):
    """`shape` holds: value lanes left and right, columns left."""

    left: PairSide
    right: PairSide
    shape: Line
    cursor: Line


@inlined
def write_pair(
    left: Int64s, i: int, left_width: int, right: Int64s, j: int, right_width: int, shape: Int64s, out: Int64s, n: int
) -> None:
    """`shape` as in `PairSides`."""
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


@inlined
def write_pair_of(
    is_left: int, own: Int64s, i: int, own_width: int, other: Int64s, j: int, other_width: int, shape: Int64s, out: Int64s, n: int
) -> None:
    """A pair of a row of one side, the left one or not, and a row of the other."""
    if is_left:
        write_pair(own, i, own_width, other, j, other_width, shape, out, n)
    else:
        write_pair(other, j, other_width, own, i, own_width, shape, out, n)


@inlined
def is_left_next(left: Changes, right: Changes, cursor: Int64s) -> bool:
    """At one instant left rows come first."""
    i, j = cursor[LEFT], cursor[RIGHT]
    return j >= len(right.ts) or (i < len(left.ts) and left.ts[i] <= right.ts[j])


@inlined
def hash_sides(left: Changes, right: Changes, sides: PairSides) -> None:
    """The hashes of all new rows, at the first of several calls."""
    if sides.cursor[IS_HASHED] == 0:
        for i in range(len(left.ts)):
            sides.left.hashes[i] = hash_lanes(left.rows, i, sides.left.lanes)
        for i in range(len(right.ts)):
            sides.right.hashes[i] = hash_lanes(right.rows, i, sides.right.lanes)
        sides.cursor[IS_HASHED] = 1


@kernel
def hash_rows(rows: Int64s, lanes: Int64s, hashes: Int64s) -> None:
    for i in range(len(rows)):
        hashes[i] = hash_lanes(rows, i, lanes)


@inlined
def newest_of_key(rows: Int64s, i: int, lanes: Int64s, bag: KeyedNodes) -> int:
    """The newest node of a keyed bag that has the key which a row has in these lanes."""
    tag = tag_of(hash_lanes(rows, i, lanes))
    return (bag.key_table[find_node(rows, i, lanes, tag, bag.key_table, bag.nodes, bag.key_lanes)] & HALF) - 1
