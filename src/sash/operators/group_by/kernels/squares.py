"""Sums of squares that lose nothing.

The square of an integer, or of a decimal of one lane, has up to 126 bits and adds up in three cells. A decimal of two
lanes is high * 2^64 + low, with a signed low half: its square is made of three products that add up apart,

    high^2 * 2^128  +  high * low * 2^65  +  low^2

The square of a double is m^2 * 2^(2 place - 2148), with m of 53 bits, in fixed point as the sums are, from 2^-2148 on.
"""

from __future__ import annotations

from sash.deltas import Int64s
from sash.kernels.compiling import inlined, kernel
from sash.kernels.exact_sum import (
    CHUNK,
    CHUNK_BITS,
    FRACTION,
    MOST_LOAD,
    add_exact,
    carry_limbs,
)
from sash.kernels.hashing import HALF

HIGH_SQUARES, PRODUCTS, LOW_SQUARES = 6, 3, 0  # the cells of a decimal of two lanes


@inlined
def multiply(x: int, y: int) -> tuple[int, int]:
    """The product of two signed integers: its low and high 64 bits."""
    a, b, c, d = x & HALF, x >> 32, y & HALF, y >> 32
    lowest = a * c
    middle = a * d + (lowest >> 32 & HALF)
    other = b * c + (middle & HALF)
    return other << 32 | (lowest & HALF), b * d + (middle >> 32) + (other >> 32)


@kernel
def add_square(cells: Int64s, group: int, cell: int, low: int, high: int, lanes: int, weight: int) -> None:
    """Add weight times the square of an integer of one or two lanes."""
    first, second = multiply(low, low)
    add_exact(cells, group, cell + LOW_SQUARES, first, second, weight)
    if lanes == 2:
        high += int(low < 0)
        first, second = multiply(high, low)
        add_exact(cells, group, cell + PRODUCTS, first, second, weight)
        first, second = multiply(high, high)
        add_exact(cells, group, cell + HIGH_SQUARES, first, second, weight)


@kernel
def add_double_square(
    cells: Int64s, group: int, load: int, first: int, base: int, length: int, bits: int, weight: int
) -> None:
    """Add weight times the square of a double to the limbs from cell `first` on; NaN and infinities count elsewhere."""
    exponent = bits >> 52 & 0x7FF
    mantissa = bits & FRACTION | int(exponent > 0) << 52
    if exponent == 0x7FF or mantissa == 0:
        return
    low, high = multiply(mantissa, mantissa)
    place = 2 * (max(exponent, 1) - 1)
    sign = -1 if weight < 0 else 1
    left = abs(weight)
    while left:
        part = left & CHUNK
        cells[group, load] += part
        limb, shift = first + (place >> 5) - base, place & 31
        _add_limbs(cells, group, limb, low, shift, sign * part)
        _add_limbs(cells, group, limb + 2, high, shift, sign * part)
        if cells[group, load] > MOST_LOAD:
            carry_limbs(cells, group, first, length)
            cells[group, load] = 0
        left >>= CHUNK_BITS
        place += CHUNK_BITS


@inlined
def _add_limbs(cells: Int64s, group: int, limb: int, value: int, shift: int, weight: int) -> None:
    """Add weight times 64 bits, shifted by less than a limb, to three limbs."""
    lower, upper = (value & HALF) << shift, (value >> 32 & HALF) << shift
    cells[group, limb] += weight * (lower & HALF)
    cells[group, limb + 1] += weight * ((lower >> 32) + (upper & HALF))
    cells[group, limb + 2] += weight * (upper >> 32)
