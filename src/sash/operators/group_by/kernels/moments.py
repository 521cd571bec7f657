"""Statistics of numbers: the double nearest to the exact one over the bag, made of exact sums of powers.

    VAR_POP  =  (n * sum of squares - (sum)^2) / n^2          VAR_SAMP: over n * (n - 1)

Sums of powers lose nothing. A power is a line of limbs of 32 bits; a double is its mantissa times a power of two, in fixed point
as the sums are, from 2^(-1074 * power) on. The square of an integer of one lane has up to 126 bits and adds up in three cells.
What is made of the sums is an integer times a power of two (and of ten, for decimals), so nothing is rounded before the quotient,
or its square root, at the very end. NaN and infinities make it NaN.
"""

from __future__ import annotations

from sash.deltas import Int64s
from sash.kernels.compiling import inlined, kernel
from sash.kernels.exact_sum import (
    CHUNK,
    CHUNK_BITS,
    FRACTION,
    LIMB_BITS,
    LOWEST,
    MINUS_INFINITIES,
    MOST_LOAD,
    NAN,
    NANS,
    PLUS_INFINITIES,
    RANGE_BASE,
    RANGE_CELL,
    RANGE_LENGTH,
    add_exact,
    carry_limbs,
)
from sash.kernels.hashing import HALF
from sash.operators.group_by.kernels import rounding
from sash.operators.group_by.kernels.ratios import accumulate, multiply_limbs, ratio_to_double
from sash.operators.group_by.kernels.rounding import EXACT_LIMBS, take_exact, take_limbs, top_limb
from sash.operators.group_by.opcodes import CALL_CELL, CALL_IS_DOUBLE, CALL_PART, CALL_POWERS, CALL_SCALE, CALL_STATISTIC
from sash.plan.aggregates import Function

STATISTICS = (Function.VAR_POP, Function.VAR_SAMP, Function.STDDEV_POP, Function.STDDEV_SAMP)
VAR_SAMP, STDDEV_POP, STDDEV_SAMP = 1, 2, 3  # their places

# Long numbers lie in the scratch behind what rounding needs: limbs, how many there are, and whether it is negative.
SLOT = 160  # of the square of a sum of doubles, and more
LENGTH, NEGATIVE = SLOT - 2, SLOT - 1
COUNT, SUM, SQUARES, SPREAD, PRODUCT = (rounding.SCRATCH + SLOT * slot for slot in range(5))
SCRATCH = PRODUCT + SLOT


@inlined
def multiply(x: int, y: int) -> tuple[int, int]:
    """The product of two signed integers: its low and high 64 bits."""
    a, b, c, d = x & HALF, x >> 32, y & HALF, y >> 32
    lowest = a * c
    middle = a * d + (lowest >> 32 & HALF)
    other = b * c + (middle & HALF)
    return other << 32 | (lowest & HALF), b * d + (middle >> 32) + (other >> 32)


def limbs_of(power: int, lanes: int) -> int:
    """Those of a power of an integer, two for its weight, one for the shift, one for carries; 0 if three cells hold the sum."""
    return 0 if power == 2 and lanes == 1 else 2 * lanes * power + 4


def power_cells(power: int, lanes: int) -> int:
    """How many cells the sum of a power of an integer of one or two lanes has: three, or the load and limbs."""
    length = limbs_of(power, lanes)
    return 1 + length if length else 3


_limbs_of = inlined(limbs_of)


@kernel
def add_power(cells: Int64s, group: int, cell: int, low: int, high: int, lanes: int, power: int, weight: int) -> None:
    """Add weight times a power of an integer of one or two lanes."""
    length = _limbs_of(power, lanes)
    if length == 0:
        first, second = multiply(low, low)
        add_exact(cells, group, cell, first, second, weight)
        return
    is_negative = high < 0
    if is_negative:
        low = -low
        high = ~high + int(low == 0)
    for limb in range(2 * lanes):
        cells[0, cell + 1 + limb] = (low if limb < 2 else high) >> 32 * (limb & 1) & HALF
    _add_limbs(cells, group, cell, cell + 1, length, 0, 2 * lanes, power, is_negative and power & 1 == 1, weight)


@kernel
def add_double_power(
    cells: Int64s, group: int, load: int, first: int, base: int, length: int, bits: int, power: int, weight: int
) -> None:
    """Add weight times a power of a double to the limbs from cell `first` on; NaN and infinities count elsewhere."""
    exponent = bits >> 52 & 0x7FF
    mantissa = bits & FRACTION | int(exponent > 0) << 52
    if exponent == 0x7FF or mantissa == 0:
        return
    cells[0, first], cells[0, first + 1] = mantissa & HALF, mantissa >> 32
    place = power * (max(exponent, 1) - 1) - LIMB_BITS * base
    _add_limbs(cells, group, load, first, length, place, 2, power, bits < 0 and power & 1 == 1, weight)


@inlined
def _add_limbs(
    cells: Int64s, group: int, load: int, first: int, length: int, place: int, width: int, power: int, is_negative: bool,
    weight: int,
) -> None:
    """Add weight times a power of a number to the limbs from cell `first` on, from bit `place` of them on.

    The number is in `width` limbs of row 0, which is no group's; there is room behind it for its power.
    """
    _raise(cells, first, width, power)
    sign = -1 if is_negative != (weight < 0) else 1
    left = abs(weight)
    while left:
        part = left & CHUNK
        cells[group, load] += part
        part *= sign
        limb, shift = first + (place >> 5), place & 31
        for each in range(width * power):
            value = cells[0, first + width + each] << shift
            cells[group, limb + each] += part * (value & HALF)
            cells[group, limb + each + 1] += part * (value >> 32)
        if cells[group, load] > MOST_LOAD:
            carry_limbs(cells, group, first, length)
            cells[group, load] = 0
        left >>= CHUNK_BITS
        place += CHUNK_BITS


@inlined
def _raise(cells: Int64s, first: int, width: int, power: int) -> None:
    """Write the power of the number in row 0 behind it."""
    product = first + width
    for limb in range(width * power):
        cells[0, product + limb] = cells[0, first + limb] if limb < width else 0
    for length in range(width, width * power, width):
        for limb in range(length - 1, -1, -1):
            # In place, from the highest limb down: what is above it has been multiplied already.
            factor, carry, at = cells[0, product + limb], 0, product + limb
            cells[0, at] = 0
            for other in range(width):
                total = factor * cells[0, first + other]
                lower = (total & HALF) + cells[0, at] + carry
                cells[0, at] = lower & HALF
                carry = (total >> 32 & HALF) + (lower >> 32)
                at += 1
            while carry:
                lower = cells[0, at] + carry
                cells[0, at] = lower & HALF
                carry = lower >> 32
                at += 1


@kernel
def statistic(
    call: int, group: int, calls: Int64s, ranges: Int64s, cells: Int64s, limbs: Int64s
) -> tuple[int, bool]:
    """The bits of the double, and whether it is NULL; there is a value at least."""
    which, cell, part = calls[call, CALL_STATISTIC], calls[call, CALL_CELL], calls[call, CALL_PART]
    is_double, count, exponent = calls[call, CALL_IS_DOUBLE] != 0, cells[group, cell], 0
    less = int(which in (VAR_SAMP, STDDEV_SAMP))
    if count <= less:
        return 0, True
    if is_double:
        if cells[group, cell + NANS] or cells[group, cell + PLUS_INFINITIES] or cells[group, cell + MINUS_INFINITIES]:
            return NAN, False
        exponent = LOWEST + LIMB_BITS * ranges[part, RANGE_BASE]
    limbs[COUNT], limbs[COUNT + 1] = count & HALF, count >> 32
    _measure(limbs, COUNT, 2, False)
    if is_double:
        _take_doubles(cells, group, ranges, part, 1, 0, limbs, SUM)
        _take_doubles(cells, group, ranges, calls[call, CALL_POWERS], 2, ranges[part, RANGE_BASE], limbs, SQUARES)
    else:
        is_negative = take_exact(cells, group, cell + 1, limbs)
        _keep(limbs, SUM, 0, EXACT_LIMBS, is_negative)
        _take_power(cells, group, calls[call, CALL_POWERS], 2, part, limbs, SQUARES)
    _multiply(limbs, COUNT, SQUARES, SPREAD)
    _multiply(limbs, SUM, SUM, PRODUCT)
    length = limbs[SPREAD + LENGTH]
    accumulate(limbs, SPREAD, length, PRODUCT, limbs[PRODUCT + LENGTH], True)
    is_root, scale = which in (STDDEV_POP, STDDEV_SAMP), 2 * calls[call, CALL_SCALE]
    return ratio_to_double(limbs, SPREAD, length, 2 * exponent, count, count - less, scale, is_root), False


@kernel
def _take_doubles(
    cells: Int64s, group: int, ranges: Int64s, part: int, power: int, base: int, limbs: Int64s, slot: int
) -> None:
    """A sum of powers of doubles, whose lowest limb is at the power of that of the sum itself, or a little above it."""
    first, length = ranges[part, RANGE_CELL], ranges[part, RANGE_LENGTH]
    if length == 0:
        _measure(limbs, slot, 0, False)
        return
    carry_limbs(cells, group, first, length)
    is_negative = take_limbs(cells, group, first, length, limbs)
    _keep(limbs, slot, ranges[part, RANGE_BASE] - power * base if power > 1 else 0, length + 1, is_negative)


@kernel
def _take_power(cells: Int64s, group: int, cell: int, power: int, lanes: int, limbs: Int64s, slot: int) -> None:
    """A sum of powers of integers."""
    length = _limbs_of(power, lanes)
    if length == 0:
        is_negative = take_exact(cells, group, cell, limbs)
        _keep(limbs, slot, 0, EXACT_LIMBS, is_negative)
        return
    carry_limbs(cells, group, cell + 1, length)
    is_negative = take_limbs(cells, group, cell + 1, length, limbs)
    _keep(limbs, slot, 0, length + 1, is_negative)


@inlined
def _keep(limbs: Int64s, slot: int, offset: int, length: int, is_negative: bool) -> None:
    """Copy what was taken to a slot, with zeros below it."""
    for limb in range(offset):
        limbs[slot + limb] = 0
    for limb in range(length):
        limbs[slot + offset + limb] = limbs[limb]
    _measure(limbs, slot, offset + length, is_negative)


@inlined
def _measure(limbs: Int64s, slot: int, length: int, is_negative: bool) -> None:
    limbs[slot + LENGTH], limbs[slot + NEGATIVE] = top_limb(limbs, slot, length) + 1, int(is_negative)


@inlined
def _multiply(limbs: Int64s, one: int, other: int, to: int) -> None:
    lengths = limbs[one + LENGTH], limbs[other + LENGTH]
    multiply_limbs(limbs, one, lengths[0], other, lengths[1], to)
    _measure(limbs, to, lengths[0] + lengths[1], limbs[one + NEGATIVE] != limbs[other + NEGATIVE])

