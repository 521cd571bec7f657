"""Sums that lose nothing, so that what was added can be taken away again to the last bit.

Integers and decimals add up in three cells, a number of 192 bits. Doubles add up in fixed point, in limbs of 32 bits
kept in 64, so that additions need no carry for a long while:

    2^-1074                                                   2^1024
       |  limb 0  |  limb 1  | ... | base | ... |  top  | ...    only the limbs from base to top are there:
                                    `- of this sum -'            the range of the values seen so far, and one above

A value touches three neighbouring limbs. The top limb takes nothing but carries; it has room for as many rows as can be
counted. NaN and the infinities are counted apart.
"""

from __future__ import annotations

from sash.deltas import Int64s
from sash.kernels.compiling import inlined, kernel
from sash.kernels.hashing import HALF

LIMB_BITS = 32
LOWEST = -1074  # the exponent of bit 0 of limb 0
CHUNK_BITS = 20  # a weight is added in chunks of so many bits
CHUNK = (1 << CHUNK_BITS) - 1
ABOVE_ALL_LIMBS = 1 << 30
MOST_LOAD = 1 << 28  # how much weight the limbs take before carries must run: 2^28 * 2^33 + 2^33 * CHUNK is below 2^63

SIGN = -(2**63)
FRACTION = 0xFFFFFFFFFFFFF
INFINITY = 0x7FF0000000000000
NAN = 0x7FF8000000000000

# Cells of a DOUBLE sum, from its first: non-NULL rows, NaNs, infinities, weight since the last carry.
NANS, PLUS_INFINITIES, MINUS_INFINITIES, LOAD = 1, 2, 3, 4

# Columns of the table of ranges: the first cell of the limbs, which limb that is, how many there are.
RANGE_CELL, RANGE_BASE, RANGE_LENGTH, RANGE_COLUMNS = 0, 1, 2, 3


@inlined
def canonical_double(bits: int) -> int:
    """One zero, and one NaN."""
    if bits == SIGN:
        return 0
    if bits & ~SIGN > INFINITY:
        return NAN
    return bits


@inlined
def add_192(cells: Int64s, group: int, cell: int, low: int, middle: int, high: int) -> None:
    total = cells[group, cell] + low
    carry = int(total ^ SIGN < low ^ SIGN)  # compared without sign
    cells[group, cell] = total
    upper = cells[group, cell + 1] + middle
    overflow = int(upper ^ SIGN < middle ^ SIGN)
    total = upper + carry
    overflow += int(total ^ SIGN < upper ^ SIGN)
    cells[group, cell + 1] = total
    cells[group, cell + 2] += high + overflow


@inlined
def take_192(cells: Int64s, group: int, cell: int, low: int, middle: int, high: int) -> None:
    rest = cells[group, cell] - low
    borrow = int(cells[group, cell] ^ SIGN < low ^ SIGN)
    cells[group, cell] = rest
    upper = cells[group, cell + 1] - middle
    underflow = int(cells[group, cell + 1] ^ SIGN < middle ^ SIGN) + int(upper == 0 and borrow)
    cells[group, cell + 1] = upper - borrow
    cells[group, cell + 2] -= high + underflow


@inlined
def add_exact(cells: Int64s, group: int, cell: int, low: int, middle: int, weight: int) -> None:
    """Add weight times a number of 128 bits."""
    if weight == 1:
        add_192(cells, group, cell, low, middle, middle >> 63)
    elif weight == -1:
        take_192(cells, group, cell, low, middle, middle >> 63)
    else:
        _add_multiple(cells, group, cell, low, middle, weight)


@kernel
def _add_multiple(cells: Int64s, group: int, cell: int, low: int, middle: int, weight: int) -> None:
    high = middle >> 63
    if weight < 0:
        weight = -weight
        low = -low
        middle = ~middle + int(low == 0)
        high = ~high + int(low == 0 and middle == 0)
    while True:
        if weight & 1:
            add_192(cells, group, cell, low, middle, high)
        weight >>= 1
        if weight == 0:
            break
        high = high << 1 | (middle >> 63 & 1)
        middle = middle << 1 | (low >> 63 & 1)
        low <<= 1


@kernel
def add_double(
    cells: Int64s, group: int, cell: int, first: int, base: int, length: int, bits: int, weight: int
) -> None:
    """Add weight times a double; the limbs `base` to `base + length - 1` lie from cell `first` on."""
    exponent = bits >> 52 & 0x7FF
    if exponent == 0x7FF:
        kind = NANS if bits & FRACTION else (MINUS_INFINITIES if bits < 0 else PLUS_INFINITIES)
        cells[group, cell + kind] += weight
        return
    mantissa = bits & FRACTION
    if exponent:
        mantissa |= 1 << 52
    elif mantissa == 0:
        return
    place = max(exponent, 1) - 1
    sign = -1 if (bits < 0) != (weight < 0) else 1
    left = abs(weight)
    while left:
        part = left & CHUNK
        cells[group, cell + LOAD] += part
        part *= sign
        limb, shift = first + (place >> 5) - base, place & 31
        lower, upper = (mantissa & HALF) << shift, (mantissa >> 32) << shift
        cells[group, limb] += part * (lower & HALF)
        cells[group, limb + 1] += part * ((lower >> 32) + (upper & HALF))
        cells[group, limb + 2] += part * (upper >> 32)
        if cells[group, cell + LOAD] > MOST_LOAD:
            carry_limbs(cells, group, first, length)
            cells[group, cell + LOAD] = 0
        left >>= CHUNK_BITS
        place += CHUNK_BITS


@kernel
def carry_limbs(cells: Int64s, group: int, first: int, length: int) -> None:
    """Bring every limb but the top one into 0 .. 2^32 - 1; the top one has the sign of the sum."""
    carry = 0
    for limb in range(first, first + length - 1):
        total = cells[group, limb] + carry
        cells[group, limb] = total & HALF
        carry = total >> 32
    cells[group, first + length - 1] += carry


@kernel
def needed_limbs(
    rows: Int64s, weight: Int64s, lane: int, mask_lane: int, bit: int, power: int, lowest: int, highest: int
) -> tuple[int, int]:
    """The range of limbs, from `lowest` to below `highest`, made wide enough for a power of a column's values."""
    above = 2 * power + 2  # the limbs that a value touches, and one for carries
    for row in range(len(rows)):
        bits = rows[row, lane]
        exponent = bits >> 52 & 0x7FF
        if exponent == 0x7FF or bits & ~SIGN == 0 or rows[row, mask_lane] >> bit & 1:
            continue
        place = power * (max(exponent, 1) - 1)
        lowest = min(lowest, place >> 5)
        left = abs(weight[row]) >> CHUNK_BITS
        while left:
            place += CHUNK_BITS
            left >>= CHUNK_BITS
        highest = max(highest, (place >> 5) + above)
    return lowest, highest


@kernel
def spread_cells(
    flat: Int64s, groups: int, old_stride: int, stride: int, fixed: int, old_ranges: Int64s, ranges: Int64s,
    held: Int64s,
) -> None:
    """Lay the cells of all groups out anew, with more limbs. From the last group on, as they move away from the start.

    `held` is scratch for the cells of a group.
    """
    for group in range(groups - 1, -1, -1):
        start = group * stride
        for cell in range(old_stride):
            held[cell] = flat[group * old_stride + cell]
        for cell in range(stride):
            flat[start + cell] = held[cell] if cell < fixed else 0
        for each in range(len(ranges)):
            to = start + ranges[each, RANGE_CELL] + old_ranges[each, RANGE_BASE] - ranges[each, RANGE_BASE]
            for limb in range(old_ranges[each, RANGE_LENGTH]):
                flat[to + limb] = held[old_ranges[each, RANGE_CELL] + limb]
