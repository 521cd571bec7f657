"""From exact sums to the values that are shown: rounded once, correctly.

A number is a line of limbs of 32 bits, lowest first, without sign, in a scratch array of `SCRATCH` places. Doubles are
rounded to the nearest, ties to even; decimals to the nearest, ties away from zero (HALF_UP, as in Spark). `ratios.py`
has what only variances and percentiles need.
"""

from __future__ import annotations

from sash.deltas import Int64s
from sash.kernels.compiling import kernel
from sash.kernels.exact_sum import INFINITY, LOWEST, SIGN
from sash.kernels.hashing import HALF

SCRATCH = 512
WINDOW, WINDOW_LIMBS = 480, 5  # where quotients are made; more limbs than a double and a count have bits
EXACT_LIMBS = 6


@kernel
def take_limbs(cells: Int64s, group: int, first: int, length: int, limbs: Int64s) -> bool:
    """Copy a sum whose carries have run, as a magnitude of `length + 1` limbs; the answer is whether it is negative."""
    top = cells[group, first + length - 1]
    is_negative = top < 0
    for limb in range(length - 1):
        limbs[limb] = cells[group, first + limb]
    if is_negative:
        carry = 1
        for limb in range(length - 1):
            total = (~limbs[limb] & HALF) + carry
            limbs[limb] = total & HALF
            carry = total >> 32
        top = ~top + carry
    limbs[length - 1], limbs[length] = top & HALF, top >> 32 & HALF
    return is_negative


@kernel
def take_exact(cells: Int64s, group: int, cell: int, limbs: Int64s) -> bool:
    """Copy a sum of 192 bits, as a magnitude of EXACT_LIMBS limbs; the answer is whether it is negative."""
    is_negative = cells[group, cell + 2] < 0
    carry = int(is_negative)
    for place in range(EXACT_LIMBS):
        limb = cells[group, cell + place // 2] >> 32 * (place % 2) & HALF
        total = (~limb & HALF if is_negative else limb) + carry
        limbs[place] = total & HALF
        carry = total >> 32
    return is_negative


@kernel
def bit_length(limb: int) -> int:
    length = 0
    for step in (16, 8, 4, 2, 1):
        if limb >> step:
            length += step
            limb >>= step
    return length + limb


@kernel
def top_limb(limbs: Int64s, start: int, length: int) -> int:
    """The place of the highest limb that is not zero, counted from `start`; -1 for zero."""
    top = length - 1
    while top >= 0 and limbs[start + top] == 0:
        top -= 1
    return top


@kernel
def round_to_double(limbs: Int64s, start: int, length: int, exponent: int, is_inexact: bool) -> int:
    """The bits of the double nearest to limbs * 2^exponent, or to a little more if it is inexact."""
    top = top_limb(limbs, start, length)
    if top < 0:
        return 0
    leading = 32 * top + bit_length(limbs[start + top]) - 1 + exponent
    last = max(leading - 52, LOWEST)  # the exponent of the last bit that fits
    drop = last - exponent
    if drop <= 0:
        number = limbs[start] | limbs[start + 1] << 32 if top else limbs[start]
        return _pack(number << -drop, last)
    bits = _bits_from(limbs, start, top, drop - 1)
    mantissa = bits >> 1
    if bits & 1 and (mantissa & 1 or is_inexact or any_below(limbs, start, drop - 1)):
        mantissa += 1
    return _pack(mantissa, last)


@kernel
def _bits_from(limbs: Int64s, start: int, top: int, place: int) -> int:
    """The number without its lowest `place` bits; the caller knows that 54 bits hold it."""
    limb, shift = place >> 5, place & 31
    bits = 0
    if limb <= top:
        bits = limbs[start + limb] >> shift
    if limb + 1 <= top:
        bits |= limbs[start + limb + 1] << 32 - shift
    if limb + 2 <= top and shift:
        bits |= limbs[start + limb + 2] << 64 - shift
    return bits


@kernel
def any_below(limbs: Int64s, start: int, place: int) -> bool:
    """Whether one of the lowest `place` bits is set."""
    limb = place >> 5
    bits = limbs[start + limb] & ((1 << (place & 31)) - 1)
    while bits == 0 and limb > 0:
        limb -= 1
        bits = limbs[start + limb]
    return bits != 0


@kernel
def _pack(mantissa: int, last: int) -> int:
    """The bits of mantissa * 2^last, where the mantissa is at most 2^53."""
    if mantissa >> 53:
        mantissa >>= 1
        last += 1
    if last > 971:
        return INFINITY
    # A mantissa below 2^52 is subnormal and `last` is LOWEST: its bits are the mantissa.
    return mantissa + (last - LOWEST << 52)


@kernel
def divide(limbs: Int64s, start: int, length: int, divisor: int) -> int:
    """Divide in place; the answer is the remainder."""
    rest = 0
    if divisor < 1 << 31:
        for limb in range(start + length - 1, start - 1, -1):
            part = rest << 32 | limbs[limb]
            limbs[limb] = part // divisor
            rest = part - limbs[limb] * divisor
        return rest
    for limb in range(start + length - 1, start - 1, -1):
        quotient = 0
        for place in range(31, -1, -1):
            bit = limbs[limb] >> place & 1
            room = divisor - rest - bit
            if rest >= room:
                rest -= room
                quotient |= 1 << place
            else:
                rest += rest + bit
        limbs[limb] = quotient
    return rest


@kernel
def quotient_to_double(limbs: Int64s, length: int, exponent: int, divisor: int) -> int:
    """The bits of the double nearest to limbs * 2^exponent / divisor."""
    top = top_limb(limbs, 0, length)
    if top < 0:
        return 0
    lowest = top - WINDOW_LIMBS + 1
    is_inexact = open_window(limbs, 0, lowest, WINDOW_LIMBS)
    is_inexact |= divide(limbs, WINDOW, WINDOW_LIMBS, divisor) != 0
    return round_to_double(limbs, WINDOW, WINDOW_LIMBS, exponent + 32 * lowest, is_inexact)


@kernel
def open_window(limbs: Int64s, start: int, lowest: int, length: int) -> bool:
    """Copy limbs from `lowest` on (below 0: zeros) to the window; the answer is whether there is anything below them.

    The leading limbs of a number decide how its quotient is rounded, and whether there is anything behind them.
    """
    for place in range(length):
        limbs[WINDOW + place] = limbs[start + lowest + place] if lowest + place >= 0 else 0
    is_inexact = False
    for limb in range(lowest):
        is_inexact |= limbs[start + limb] != 0
    return is_inexact


@kernel
def quotient_to_decimal(limbs: Int64s, length: int, factor: int, divisor: int) -> int:
    """Multiply by a factor and divide, rounding HALF_UP, in place; the answer is how many limbs there are then."""
    carry = 0
    for limb in range(length):
        total = limbs[limb] * factor + carry
        limbs[limb] = total & HALF
        carry = total >> 32
    limbs[length] = carry
    rest = divide(limbs, 0, length + 1, divisor)
    carry = int(rest >= divisor - rest)
    for limb in range(length + 1):
        total = limbs[limb] + carry
        limbs[limb] = total & HALF
        carry = total >> 32
    return length + 1


@kernel
def is_below(limbs: Int64s, length: int, low: int, high: int) -> bool:
    """Whether a magnitude is below a positive bound of 128 bits."""
    for limb in range(4, length):
        if limbs[limb]:
            return False
    own_low, own_high = limbs[0] | limbs[1] << 32, limbs[2] | limbs[3] << 32
    if own_high != high:
        return own_high ^ SIGN < high ^ SIGN
    return own_low ^ SIGN < low ^ SIGN
