"""What every kernel does with rows of lanes: copy, compare, look for a NULL."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sash.kernels.compiling import inlined, kernel
from sash.kernels.strings import compare_strings

Int64s = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

# How a column is ordered.
BY_INTEGER, BY_DOUBLE, BY_WIDE_DECIMAL, BY_STRING = 0, 1, 2, 3


@inlined
def copy_row(source: Int64s, i: int, target: Int64s, j: int) -> None:
    for lane in range(source.shape[1]):
        target[j, lane] = source[i, lane]


@kernel
def copy_lanes(rows: Int64s, lanes: Int64s, bits: Int64s, out: Int64s) -> None:
    """Copy columns to other places. `lanes` has pairs (from, to), `bits` lines (from lane, bit, to lane, bit)."""
    for i in range(len(rows)):
        for k in range(len(lanes)):
            out[i, lanes[k, 1]] = rows[i, lanes[k, 0]]
        for k in range(len(bits)):
            out[i, bits[k, 2]] |= (rows[i, bits[k, 0]] >> bits[k, 1] & 1) << bits[k, 3]


@inlined
def has_null(rows: Int64s, i: int, masks: Int64s) -> bool:
    """`masks` has one entry a lane: the bits that must not be set."""
    for lane in range(len(masks)):
        if masks[lane] and rows[i, lane] & masks[lane]:
            return True
    return False


@inlined
def order_of_doubles(bits: int) -> int:
    """An integer in the order of the doubles; NaN comes out greatest."""
    return bits ^ 0x7FFFFFFFFFFFFFFF if bits < 0 else bits


@inlined
def compare_column(
    a: Int64s, i: int, b: Int64s, j: int, how: int, lane: int, starts: Int64s, lengths: Int64s, heap: Bytes
) -> int:
    """The order of two values that are not NULL: -1, 0 or 1."""
    x, y = a[i, lane], b[j, lane]
    if how == BY_STRING:
        return compare_strings(x, y, starts, lengths, heap)
    if how == BY_DOUBLE:
        x, y = order_of_doubles(x), order_of_doubles(y)
    elif how == BY_WIDE_DECIMAL:
        if a[i, lane + 1] != b[j, lane + 1]:
            return -1 if a[i, lane + 1] < b[j, lane + 1] else 1
        # Low halves are compared without sign.
        x, y = x ^ np.int64(-0x8000000000000000), y ^ np.int64(-0x8000000000000000)
    return int(x > y) - int(x < y)


@kernel
def compare_rows(
    a: Int64s, i: int, b: Int64s, j: int, orders: Int64s, starts: Int64s, lengths: Int64s, heap: Bytes
) -> int:
    """The order of two rows, column by column, NULLs first: -1, 0 or 1.

    `orders` has a line for every column: how it is ordered, its lane, the lane of its mask, its bit there.
    """
    for column in range(len(orders)):
        how, lane, mask, bit = orders[column, 0], orders[column, 1], orders[column, 2], orders[column, 3]
        null_a, null_b = (a[i, mask] >> bit) & 1, (b[j, mask] >> bit) & 1
        if null_a or null_b:
            if null_a != null_b:
                return -1 if null_a else 1
            continue
        order = compare_column(a, i, b, j, how, lane, starts, lengths, heap)
        if order:
            return order
    return 0


@kernel
def compare_ordered(
    a: Int64s, i: int, b: Int64s, j: int, orders: Int64s, starts: Int64s, lengths: Int64s, heap: Bytes
) -> int:
    """The same for an ORDER BY: two more numbers in every line of `orders`, whether it is descending, and NULLs first."""
    for column in range(len(orders)):
        how, lane, mask, bit = orders[column, 0], orders[column, 1], orders[column, 2], orders[column, 3]
        null_a, null_b = (a[i, mask] >> bit) & 1, (b[j, mask] >> bit) & 1
        if null_a or null_b:
            if null_a != null_b:
                return -1 if null_a == orders[column, 5] else 1
            continue
        order = compare_column(a, i, b, j, how, lane, starts, lengths, heap)
        if order:
            return -order if orders[column, 4] else order
    return 0
