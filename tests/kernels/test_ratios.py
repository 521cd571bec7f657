"""Quotients and roots of long numbers, against fractions."""

from __future__ import annotations

import struct
from fractions import Fraction
from math import isqrt

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sash.deltas import Int64s
from sash.operators.group_by.kernels.moments import multiply
from sash.operators.group_by.kernels.ratios import accumulate, multiply_limbs, ratio_to_double
from sash.operators.group_by.kernels.rounding import SCRATCH

long_numbers = st.one_of(
    st.integers(0, 2**640 - 1), st.integers(0, 1000), st.builds(lambda a, b: a << b, st.integers(0, 2**60), st.integers(0, 500)),
    st.builds(lambda a, b: a * a + b, st.integers(1, 2**300), st.integers(-1, 1)),
)
divisors = st.one_of(st.integers(1, 100), st.integers(1, 2**63 - 1), st.sampled_from([2**31 - 1, 2**31, 2**62]))


def limbs_of(number: int, start: int = 0) -> Int64s:
    limbs = np.full(SCRATCH, 12345, np.int64)
    for place in range(20):
        limbs[start + place] = number >> 32 * place & 0xFFFFFFFF
    return limbs


def number_of(limbs: Int64s, start: int, length: int) -> int:
    return sum(int(limb) << 32 * place for place, limb in enumerate(limbs[start : start + length]))


def double_of(bits: int) -> float:
    return float(struct.unpack("<d", struct.pack("<q", bits))[0])


def nearest(exact: Fraction) -> float:
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return float("inf")


def nearest_root(square: Fraction) -> float:
    shift = 2400
    scaled, rest = divmod(square.numerator << 2 * shift, square.denominator)
    root = isqrt(scaled)
    return nearest(Fraction(2 * root + (rest != 0 or root * root != scaled), 2 << shift))


@settings(max_examples=400, deadline=None)
@given(long_numbers, st.integers(-2300, 1500), divisors, divisors, st.integers(0, 76), st.booleans())
@example(1, -2148, 2, 2, 0, True)
@example(9, 0, 1, 3, 0, True)
@example(2**639, 1500, 1, 2, 0, True)
def test_quotients_and_roots_are_rounded_once(
    number: int, exponent: int, first: int, second: int, scale: int, is_root: bool
) -> None:
    second += int(first * second == 1)  # a variance is never over one
    exact = Fraction(number) * Fraction(2) ** exponent / first / second / 10**scale
    bits = ratio_to_double(limbs_of(number, 320), 320, 20, exponent, first, second, scale, is_root)
    assert double_of(bits) == (nearest_root(exact) if is_root else nearest(exact))


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**320 - 1), st.integers(0, 2**320 - 1))
def test_products_and_sums(a: int, b: int) -> None:
    limbs = limbs_of(a)
    limbs[40:60] = limbs_of(b)[:20]
    multiply_limbs(limbs, 0, 10, 40, 10, 80)
    assert number_of(limbs, 80, 20) == a * b
    accumulate(limbs, 80, 20, 0, 10, True)
    accumulate(limbs, 80, 20, 40, 10, False)
    assert number_of(limbs, 80, 20) == (a * b - a + b) % 2**640


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1))
@example(-(2**63), -(2**63))
@example(2**63 - 1, -(2**63))
def test_products_of_two_lanes(a: int, b: int) -> None:
    low, high = multiply(a, b)
    assert (int(high) << 64) + (int(low) % 2**64) == a * b
