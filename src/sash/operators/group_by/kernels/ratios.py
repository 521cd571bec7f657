"""Long numbers times, minus and over one another, and the doubles nearest to their quotients and square roots.

A quotient keeps its leading bits, and whether anything is behind them, so it is rounded once and correctly; so is a
root, whose bits come two by two from a quotient of at least 112 bits.
"""

from __future__ import annotations

from sash.deltas import Int64s
from sash.kernels.compiling import unspecialized
from sash.kernels.hashing import HALF
from sash.operators.group_by.kernels.rounding import WINDOW, any_below, bit_length, divide, open_window, round_to_double, top_limb

ROOT_BITS = 56  # more than a double has, and a remainder still fits 64 bits
BILLION = 10**9


@unspecialized
def multiply_limbs(limbs: Int64s, a: int, a_length: int, b: int, b_length: int, to: int) -> None:
    """The product of two numbers, of `a_length + b_length` limbs; the three lie apart."""
    for place in range(a_length + b_length):
        limbs[to + place] = 0
    for i in range(a_length):
        factor, carry = limbs[a + i], 0
        for j in range(b_length):
            # A product of limbs has up to 64 bits: taken as unsigned, it never overflows with two more limbs added.
            total = factor * limbs[b + j]
            low = (total & HALF) + limbs[to + i + j] + carry
            limbs[to + i + j] = low & HALF
            carry = (total >> 32 & HALF) + (low >> 32)
        limbs[to + i + b_length] = carry


@unspecialized
def accumulate(limbs: Int64s, to: int, to_length: int, start: int, length: int, is_negative: bool) -> None:
    """Add a number to another in place, or take it away; what is below zero meanwhile wraps around."""
    carry = 0
    for place in range(to_length):
        value = limbs[start + place] if place < length else 0
        total = limbs[to + place] + carry + (-value if is_negative else value)
        limbs[to + place] = total & HALF
        carry = total >> 32


@unspecialized
def ratio_to_double(
    limbs: Int64s, start: int, length: int, exponent: int, first: int, second: int, scale: int, is_root: bool
) -> int:
    """The bits of the double nearest to limbs * 2^exponent / (first * second * 10^scale), or to its square root."""
    top = top_limb(limbs, start, length)
    if top < 0:
        return 0
    # As many limbs as the divisors can take away, and 128 bits more.
    window = 4 + 4 + (scale * 107 >> 10) + 2
    lowest = top - window + 1
    is_inexact = open_window(limbs, start, lowest, window)
    is_inexact |= divide(limbs, WINDOW, window, first) != 0
    is_inexact |= divide(limbs, WINDOW, window, second) != 0
    while scale > 0:
        is_inexact |= divide(limbs, WINDOW, window, BILLION if scale >= 9 else 10**scale) != 0
        scale -= 9
    exponent += 32 * lowest
    return _root(limbs, window, exponent, is_inexact) if is_root else round_to_double(
        limbs, WINDOW, window, exponent, is_inexact
    )


@unspecialized
def _root(limbs: Int64s, window: int, exponent: int, is_inexact: bool) -> int:
    """Bit by bit, from the leading 111 or 112 bits of the window: such that an even power of two is left aside."""
    top = top_limb(limbs, WINDOW, window)
    drop = 32 * top + bit_length(limbs[WINDOW + top]) - 2 * ROOT_BITS
    drop += (exponent + drop) & 1
    root, rest = 0, 0
    for place in range(drop + 2 * ROOT_BITS - 2, drop - 2, -2):
        rest = rest << 2 | _bit(limbs, place + 1) << 1 | _bit(limbs, place)
        trial = root << 2 | 1
        root <<= 1
        if rest >= trial:
            rest -= trial
            root |= 1
    is_inexact |= rest != 0 or any_below(limbs, WINDOW, drop)
    limbs[WINDOW], limbs[WINDOW + 1] = root & HALF, root >> 32
    return round_to_double(limbs, WINDOW, 2, exponent + drop >> 1, is_inexact)


@unspecialized
def _bit(limbs: Int64s, place: int) -> int:
    return limbs[WINDOW + (place >> 5)] >> (place & 31) & 1
