"""Variances and standard deviations: the double nearest to the exact one over the bag.

    VAR_POP  =  (n * sum of squares - (sum)^2) / n^2          VAR_SAMP: over n * (n - 1)

The numerator is an integer times a power of two (and of ten, for decimals), so nothing is rounded before the quotient,
or its square root, at the very end. NaN and infinities make it NaN.
"""

from __future__ import annotations

from sash.deltas import Int64s
from sash.kernels.compiling import kernel
from sash.kernels.exact_sum import (
    LIMB_BITS,
    LOWEST,
    MINUS_INFINITIES,
    NAN,
    NANS,
    PLUS_INFINITIES,
    RANGE_BASE,
    RANGE_CELL,
    RANGE_LENGTH,
    carry_limbs,
)
from sash.kernels.hashing import HALF
from sash.operators.group_by.kernels.ratios import accumulate, multiply_limbs, ratio_to_double
from sash.operators.group_by.kernels.rounding import EXACT_LIMBS, take_exact, take_limbs
from sash.operators.group_by.kernels.squares import HIGH_SQUARES, LOW_SQUARES, PRODUCTS

# Where numbers lie in the scratch: one that was taken, a product, the numerator, a count.
TAKEN, PRODUCT, NUMERATOR, FACTOR = 0, 160, 320, 508
EXACT_NUMERATOR = 20  # limbs


@kernel
def variance_of_exact(
    cells: Int64s, group: int, cell: int, squares: int, lanes: int, less: int, scale: int, is_root: bool, limbs: Int64s
) -> int:
    """Of integers, or of decimals: `scale` is twice theirs."""
    count = cells[group, cell]
    _clear(limbs, EXACT_NUMERATOR)
    _add_exact_product(cells, group, squares + LOW_SQUARES, count, 0, limbs)
    if lanes == 2:
        _add_exact_product(cells, group, squares + PRODUCTS, 2 * count, 2, limbs)
        _add_exact_product(cells, group, squares + HIGH_SQUARES, count, 4, limbs)
    take_exact(cells, group, cell + 1, limbs)
    multiply_limbs(limbs, TAKEN, EXACT_LIMBS, TAKEN, EXACT_LIMBS, PRODUCT)
    accumulate(limbs, NUMERATOR, EXACT_NUMERATOR, PRODUCT, 2 * EXACT_LIMBS, True)
    return ratio_to_double(limbs, NUMERATOR, EXACT_NUMERATOR, 0, count, count - less, scale, is_root)


@kernel
def variance_of_doubles(
    cells: Int64s, group: int, cell: int, ranges: Int64s, sums: int, squares: int, less: int, is_root: bool,
    limbs: Int64s,
) -> int:
    """`sums` and `squares` are ranges of limbs. That of the squares begins at the square of the other, or a limb later."""
    if cells[group, cell + NANS] or cells[group, cell + PLUS_INFINITIES] or cells[group, cell + MINUS_INFINITIES]:
        return NAN
    length, square_length = ranges[sums, RANGE_LENGTH], ranges[squares, RANGE_LENGTH]
    if length == 0:
        return 0
    count = cells[group, cell]
    base = 2 * ranges[sums, RANGE_BASE]
    numerator = max(2 * length + 2, square_length + 5)
    _clear(limbs, numerator)
    _take(cells, group, ranges, squares, limbs)
    _multiply(limbs, square_length + 1, count)
    offset = ranges[squares, RANGE_BASE] - base
    accumulate(limbs, NUMERATOR + offset, numerator - offset, PRODUCT, square_length + 3, False)
    _take(cells, group, ranges, sums, limbs)
    multiply_limbs(limbs, TAKEN, length + 1, TAKEN, length + 1, PRODUCT)
    accumulate(limbs, NUMERATOR, numerator, PRODUCT, 2 * length + 2, True)
    exponent = 2 * LOWEST + LIMB_BITS * base
    return ratio_to_double(limbs, NUMERATOR, numerator, exponent, count, count - less, 0, is_root)


@kernel
def _clear(limbs: Int64s, length: int) -> None:
    for place in range(length):
        limbs[NUMERATOR + place] = 0


@kernel
def _multiply(limbs: Int64s, length: int, factor: int) -> None:
    """The product of what was taken and a count."""
    limbs[FACTOR], limbs[FACTOR + 1] = factor & HALF, factor >> 32 & HALF
    multiply_limbs(limbs, TAKEN, length, FACTOR, 2, PRODUCT)


@kernel
def _add_exact_product(cells: Int64s, group: int, cell: int, factor: int, offset: int, limbs: Int64s) -> None:
    is_negative = take_exact(cells, group, cell, limbs)
    _multiply(limbs, EXACT_LIMBS, factor)
    accumulate(limbs, NUMERATOR + offset, EXACT_NUMERATOR - offset, PRODUCT, EXACT_LIMBS + 2, is_negative)


@kernel
def _take(cells: Int64s, group: int, ranges: Int64s, part: int, limbs: Int64s) -> None:
    first, length = ranges[part, RANGE_CELL], ranges[part, RANGE_LENGTH]
    carry_limbs(cells, group, first, length)
    take_limbs(cells, group, first, length, limbs)
