"""Percentiles: values by their rank, and what lies between two of them.

The fraction is a ratio of integers, so the rank (n - 1) * fraction is exact: a whole number and a rest. Between two
values the result is the double nearest to  ((denominator - rest) * lower + rest * upper) / denominator.
"""

from __future__ import annotations

from sash.deltas import Int64s
from sash.kernels.compiling import inlined, kernel
from sash.kernels.exact_sum import (
    CHUNK_BITS,
    INFINITY,
    LIMB_BITS,
    LOWEST,
    NAN,
    SIGN,
    add_double,
    add_exact,
    carry_limbs,
)
from sash.operators.group_by.kernels.ranks import SUM, find_rank, find_two
from sash.operators.group_by.kernels.ratios import ratio_to_double
from sash.operators.group_by.kernels.rounding import EXACT_LIMBS, quotient_to_double, take_exact, take_limbs
from sash.operators.group_by.kernels.value_nodes import value_of
from sash.operators.group_by.opcodes import (
    BY_DOUBLE,
    CALL_DENOMINATOR,
    CALL_IS_DESCENDING,
    CALL_NUMERATOR,
    CALL_PART,
    CALL_SCALE,
    SET_ORDER,
)

SPARE = 96  # cells for a sum that no group has
_LIMBS = 5  # where the limbs of a sum of doubles lie in them


@kernel
def discrete(nodes: Int64s, root: int, calls: Int64s, call: int, sets: Int64s) -> tuple[int, int]:
    """The lanes of the first value up to which, or down to which, at least the fraction of all rows lies."""
    numerator, denominator = calls[call, CALL_NUMERATOR], calls[call, CALL_DENOMINATOR]
    rank = rank_of_fraction(numerator, denominator, calls[call, CALL_IS_DESCENDING], nodes[root, SUM])
    return value_of(nodes, find_rank(nodes, root, rank), sets)


@inlined
def rank_of_fraction(numerator: int, denominator: int, is_descending: int, count: int) -> int:
    """Of the first of so many rows, in their order or against it, up to which at least the fraction lies."""
    rows = max((numerator * count + denominator - 1) // denominator, 1)
    return count - rows if is_descending else rows - 1


@kernel
def continuous(
    nodes: Int64s, root: int, calls: Int64s, call: int, sets: Int64s, spare: Int64s, limbs: Int64s
) -> int:
    """The bits of the double at the fraction, between two values if need be."""
    denominator = calls[call, CALL_DENOMINATOR]
    spot = calls[call, CALL_NUMERATOR] * (nodes[root, SUM] - 1)
    rank, rest = spot // denominator, spot % denominator
    if rest:
        node, after = find_two(nodes, root, rank)
    else:
        node = find_rank(nodes, root, rank)
        after = node
    scale, set_ = calls[call, CALL_SCALE], calls[call, CALL_PART]
    return between_nodes(nodes, node, after, rest, denominator, scale, sets, set_, spare, limbs)


@kernel
def between_nodes(
    nodes: Int64s, node: int, after: int, rest: int, denominator: int, scale: int, sets: Int64s, set_: int, spare: Int64s,
    limbs: Int64s,
) -> int:
    """The bits of the double that lies so far from one value to another."""
    low, high = value_of(nodes, node, sets)
    next_low, next_high = value_of(nodes, after, sets) if after != node else (low, high)
    if sets[set_, SET_ORDER] == BY_DOUBLE:
        return _between_doubles(low, next_low, rest, denominator, spare, limbs)
    for cell in range(3):
        spare[0, cell] = 0
    add_exact(spare, 0, 0, low, high, denominator - rest)
    add_exact(spare, 0, 0, next_low, next_high, rest)
    is_negative = take_exact(spare, 0, 0, limbs)
    bits = ratio_to_double(limbs, 0, EXACT_LIMBS, 0, denominator, 1, scale, False)
    return bits | SIGN if is_negative else bits


@kernel
def _between_doubles(lower: int, upper: int, rest: int, denominator: int, spare: Int64s, limbs: Int64s) -> int:
    """`upper` does not come before `lower`, and NaN comes last."""
    if lower == upper:
        return lower
    if _are_near(lower, upper, denominator):
        return between_near(lower, upper, rest, denominator)
    if upper == NAN or (lower == INFINITY | SIGN and upper == INFINITY):
        return NAN
    if upper == INFINITY or lower == INFINITY | SIGN:
        return upper if upper == INFINITY else lower
    lowest = min(_place(lower if lower else upper), _place(upper if upper else lower))
    highest = max(_place(lower), _place(upper))
    base = lowest >> 5
    length = (highest + 2 * CHUNK_BITS >> 5) + 4 - base  # weights have less than two chunks more
    for cell in range(_LIMBS + length):
        spare[0, cell] = 0
    add_double(spare, 0, 0, _LIMBS, base, length, lower, denominator - rest)
    add_double(spare, 0, 0, _LIMBS, base, length, upper, rest)
    carry_limbs(spare, 0, _LIMBS, length)
    is_negative = take_limbs(spare, 0, _LIMBS, length, limbs)
    bits = quotient_to_double(limbs, length + 1, LOWEST + LIMB_BITS * base, denominator)
    return bits | SIGN if is_negative and bits else bits


@inlined
def _are_near(lower: int, upper: int, denominator: int) -> bool:
    """Whether both are normal numbers of one sign, and of magnitudes so near that their weighted sum has less than 63 bits."""
    first, second = lower >> 52 & 0x7FF, upper >> 52 & 0x7FF
    is_normal = 0 < first < 0x7FF and 0 < second < 0x7FF and lower ^ upper >= 0
    return is_normal and abs(first - second) < 10 and denominator << abs(first - second) < 1 << 10


@kernel
def between_near(lower: int, upper: int, rest: int, denominator: int) -> int:
    """The same of numbers that are near, as most neighbours are: in one integer, rounded to the nearest, ties to even."""
    first, second = lower >> 52 & 0x7FF, upper >> 52 & 0x7FF
    exponent = min(first, second)
    total = (denominator - rest) * (_mantissa(lower) << first - exponent) + rest * (_mantissa(upper) << second - exponent)
    whole = total // denominator
    left, shift = total - whole * denominator, 0
    while whole >> 53 + shift:
        shift += 1
    mantissa = whole >> shift
    # What is cut off, and half of the last bit, both in parts of the denominator.
    cut, half = (whole - (mantissa << shift)) * denominator + left, denominator << shift
    if 2 * cut > half or (2 * cut == half and mantissa & 1):
        mantissa += 1
    return mantissa + (exponent + shift - 1 << 52) | lower & SIGN


@inlined
def _mantissa(bits: int) -> int:
    return bits & (1 << 52) - 1 | 1 << 52


@kernel
def _place(bits: int) -> int:
    return max(bits >> 52 & 0x7FF, 1) - 1
