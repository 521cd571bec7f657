"""Statistics of numbers: the double nearest to the exact one over the bag, made of exact sums of powers.

    VAR_POP   =  A / n^2  with  A = n * S2 - S1^2             VAR_SAMP: over n * (n - 1)
    SKEWNESS  =  B / sqrt(A^3)  with  B = n * (n * S3 - S1 * S2) - 2 * S1 * A
    KURTOSIS  =  (C - 3 * A^2) / A^2  with  C = n * (n * (n * S4 - S1 * S3) - 3 * S1 * (n * S3 - S1 * S2)) + 3 * S1^2 * A

where n is the number of values and Sp the sum of their powers p. Skewness and kurtosis do not depend on the unit of the values.

Sums of powers lose nothing. A power is a line of limbs of 32 bits; a double is its mantissa times a power of two, in fixed point
as the sums are, from 2^(-1074 * power) on. The square of an integer of one lane has up to 126 bits and adds up in three cells.
What is made of the sums is an integer times a power of two (and of ten, for decimals), so nothing is rounded before the quotient,
or its square root, at the very end. NaN and infinities make it NaN.
"""

from __future__ import annotations

from sash.deltas import Int64s
from sash.kernels.compiling import inlined, kernel, unspecialized
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
    SIGN,
    add_exact,
    carry_limbs,
)
from sash.kernels.hashing import HALF
from sash.operators.group_by.kernels import rounding
from sash.operators.group_by.kernels.ratios import accumulate, multiply_limbs, ratio_to_double
from sash.operators.group_by.kernels.rounding import EXACT_LIMBS, bit_length, take_exact, take_limbs, top_limb
from sash.operators.group_by.opcodes import CALL_CELL, CALL_IS_DOUBLE, CALL_PART, CALL_POWERS, CALL_SCALE, CALL_STATISTIC
from sash.plan.aggregates import Function

STATISTICS = (
    Function.VAR_POP, Function.VAR_SAMP, Function.STDDEV_POP, Function.STDDEV_SAMP, Function.SKEWNESS, Function.KURTOSIS,
)  # fmt: skip
VAR_SAMP, STDDEV_POP, STDDEV_SAMP, SKEWNESS, KURTOSIS = 1, 2, 3, 4, 5  # their places
QUOTIENT = 6  # limbs: 128 bits, and as many as its leading zeros may have

# Long numbers lie in the scratch behind what rounding needs: limbs, how many there are, and whether it is negative.
SLOT = 448  # of the sixth power of a sum of doubles, and more
LENGTH, NEGATIVE = SLOT - 2, SLOT - 1
COUNT, SUM, SQUARES, CUBES, FOURTHS, SPREAD, THIRD, FOURTH, OTHER, PRODUCT, REST = (
    rounding.SCRATCH + SLOT * slot for slot in range(11)
)  # the sums of powers follow each other; SPREAD is A
SCRATCH = REST + SLOT


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


@kernel
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


@unspecialized
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
    else:
        is_negative = take_exact(cells, group, cell + 1, limbs)
        _keep(limbs, SUM, 0, EXACT_LIMBS, is_negative)
    for power in range(2, 3 + int(which >= SKEWNESS) + int(which == KURTOSIS)):
        at, slot = calls[call, CALL_POWERS + power - 2], COUNT + SLOT * power
        if is_double:
            _take_doubles(cells, group, ranges, at, power, ranges[part, RANGE_BASE], limbs, slot)
        else:
            _take_power(cells, group, at, power, part, limbs, slot)
    _multiply(limbs, COUNT, SQUARES, SPREAD)
    _multiply(limbs, SUM, SUM, PRODUCT)
    length = limbs[SPREAD + LENGTH]
    accumulate(limbs, SPREAD, length, PRODUCT, limbs[PRODUCT + LENGTH], True)
    if which in (SKEWNESS, KURTOSIS):
        _measure(limbs, SPREAD, length, False)
        if limbs[SPREAD + LENGTH] == 0:
            return 0, True
        return _skewness(limbs) if which == SKEWNESS else _kurtosis(limbs), False
    is_root, scale = which in (STDDEV_POP, STDDEV_SAMP), 2 * calls[call, CALL_SCALE]
    return ratio_to_double(limbs, SPREAD, length, 2 * exponent, count, count - less, scale, is_root), False


@unspecialized
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


@unspecialized
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


@unspecialized
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


@unspecialized
def _multiply(limbs: Int64s, one: int, other: int, to: int) -> None:
    lengths = limbs[one + LENGTH], limbs[other + LENGTH]
    multiply_limbs(limbs, one, lengths[0], other, lengths[1], to)
    _measure(limbs, to, lengths[0] + lengths[1], limbs[one + NEGATIVE] != limbs[other + NEGATIVE])



@unspecialized
def _third(limbs: Int64s) -> None:
    """n * S3 - S1 * S2."""
    _multiply(limbs, COUNT, CUBES, THIRD)
    _multiply(limbs, SUM, SQUARES, PRODUCT)
    _add(limbs, THIRD, PRODUCT, -1)


@unspecialized
def _skewness(limbs: Int64s) -> int:
    """B / sqrt(A^3), as the root of B^2 / A^3."""
    _third(limbs)
    _multiply(limbs, COUNT, THIRD, FOURTH)
    _multiply(limbs, SUM, SPREAD, PRODUCT)
    _add(limbs, FOURTH, PRODUCT, -2)
    is_negative = limbs[FOURTH + NEGATIVE] != 0
    _multiply(limbs, FOURTH, FOURTH, PRODUCT)
    _multiply(limbs, SPREAD, SPREAD, THIRD)
    _multiply(limbs, THIRD, SPREAD, FOURTH)
    return _ratio(limbs, PRODUCT, FOURTH, is_negative, True)


@unspecialized
def _kurtosis(limbs: Int64s) -> int:
    """(C - 3 * A^2) / A^2, where 3 * S1^2 * A - 3 * A^2 is 3 * A * (S1^2 - A)."""
    _third(limbs)
    _multiply(limbs, COUNT, FOURTHS, FOURTH)
    _multiply(limbs, SUM, CUBES, PRODUCT)
    _add(limbs, FOURTH, PRODUCT, -1)
    _multiply(limbs, COUNT, FOURTH, OTHER)
    _multiply(limbs, SUM, THIRD, PRODUCT)
    _add(limbs, OTHER, PRODUCT, -3)
    _multiply(limbs, COUNT, OTHER, FOURTH)
    _multiply(limbs, SUM, SUM, OTHER)
    _add(limbs, OTHER, SPREAD, -1)
    _multiply(limbs, OTHER, SPREAD, PRODUCT)
    _add(limbs, FOURTH, PRODUCT, 3)
    _multiply(limbs, SPREAD, SPREAD, PRODUCT)
    return _ratio(limbs, FOURTH, PRODUCT, limbs[FOURTH + NEGATIVE] != 0, False)


@unspecialized
def _add(limbs: Int64s, to: int, number: int, factor: int) -> None:
    """Add a small multiple of a number to another."""
    is_negative = limbs[to + NEGATIVE] != 0
    times = abs(factor) if is_negative == ((limbs[number + NEGATIVE] != 0) != (factor < 0)) else -abs(factor)
    own, theirs = limbs[to + LENGTH], limbs[number + LENGTH]
    length, carry = max(own, theirs) + 1, 0
    for limb in range(length):
        total = (limbs[to + limb] if limb < own else 0) + (times * limbs[number + limb] if limb < theirs else 0) + carry
        limbs[to + limb] = total & HALF
        carry = total >> 32
    if carry < 0:
        is_negative, carry = not is_negative, 1
        for limb in range(length):
            total = (~limbs[to + limb] & HALF) + carry
            limbs[to + limb] = total & HALF
            carry = total >> 32
    _measure(limbs, to, length, is_negative)


@unspecialized
def _ratio(limbs: Int64s, number: int, divisor: int, is_negative: bool, is_root: bool) -> int:
    """The bits of the double nearest to a quotient of magnitudes, or to its square root."""
    exponent = _divide(limbs, number, divisor)
    bits = ratio_to_double(limbs, OTHER, QUOTIENT + 1, exponent, 1, 1, 0, is_root)
    return bits | SIGN if is_negative and bits else bits


@unspecialized
def _divide(limbs: Int64s, number: int, divisor: int) -> int:
    """Write the leading bits of a quotient to OTHER, and below them whether anything is left; the answer is its exponent.

    By hand, 16 bits at a time: the leading limbs tell how often the divisor goes into the rest, or once or twice too much.
    """
    width = limbs[divisor + LENGTH]
    shift = LIMB_BITS - bit_length(limbs[divisor + width - 1])
    _shift(limbs, number, shift)
    _shift(limbs, divisor, shift)
    lowest = limbs[number + LENGTH] - width + 1  # of the limbs that the rest has so far
    for limb in range(width + 1):
        is_there = limb < width - 1 and lowest + limb >= 0
        limbs[REST + limb] = limbs[number + lowest + limb] if is_there else 0
    for digit in range(2 * QUOTIENT):
        lowest -= 1 - (digit & 1)
        following = limbs[number + lowest] if lowest >= 0 else 0
        carry = following & 0xFFFF if digit & 1 else following >> 16
        for limb in range(width + 1):
            total = limbs[REST + limb] << 16 | carry
            limbs[REST + limb] = total & HALF
            carry = total >> 32
        leading = limbs[REST + width] << 32 | limbs[REST + width - 1]
        times = min(leading // limbs[divisor + width - 1], 0xFFFF)
        carry = _add_to_rest(limbs, divisor, width, -times)
        while carry < 0:
            times -= 1
            carry += _add_to_rest(limbs, divisor, width, 1)
        at = OTHER + QUOTIENT - (digit >> 1)
        limbs[at] = limbs[at] << 16 | times if digit & 1 else times
    limbs[OTHER] = int(top_limb(limbs, REST, width + 1) >= 0 or (lowest > 0 and top_limb(limbs, number, lowest) >= 0))
    return LIMB_BITS * (lowest - 1)


@unspecialized
def _shift(limbs: Int64s, slot: int, bits: int) -> None:
    length, carry = limbs[slot + LENGTH], 0
    for limb in range(length):
        total = limbs[slot + limb] << bits | carry
        limbs[slot + limb] = total & HALF
        carry = total >> 32
    limbs[slot + length] = carry
    limbs[slot + LENGTH] = length + int(carry != 0)


@unspecialized
def _add_to_rest(limbs: Int64s, divisor: int, width: int, times: int) -> int:
    """Add a multiple of the divisor to the rest; the answer is what is carried out of it."""
    carry = 0
    for limb in range(width + 1):
        total = limbs[REST + limb] + (times * limbs[divisor + limb] if limb < width else 0) + carry
        limbs[REST + limb] = total & HALF
        carry = total >> 32
    return carry
