"""Exact sums and their rounding, against fractions."""

from __future__ import annotations

import struct
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sash.deltas import Int64s
from sash.kernels.exact_sum import (
    ABOVE_ALL_LIMBS,
    LOWEST,
    MOST_LOAD,
    add_double,
    add_exact,
    carry_limbs,
    needed_limbs,
    spread_cells,
)
from sash.operators.group_by.kernels.rounding import (
    EXACT_LIMBS,
    SCRATCH,
    divide,
    is_below,
    quotient_to_decimal,
    quotient_to_double,
    round_to_double,
    take_exact,
    take_limbs,
)

LIMBS = 70  # all that a double can need
FIRST = 5  # after the count, the special values and the load
GREATEST = 1.7976931348623157e308

finite = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([5e-324, -5e-324, 2.2250738585072014e-308, GREATEST, -GREATEST, 0.1, 0.0]),
    st.floats(-1e6, 1e6),
)
weights = st.one_of(st.integers(-3, 3), st.integers(-(2**40), 2**40), st.sampled_from([2**62, -(2**62), 2**20, 2**31]))


def bits_of(value: float) -> int:
    return int(struct.unpack("<q", struct.pack("<d", value))[0])


def double_of(bits: int) -> float:
    return float(struct.unpack("<d", struct.pack("<q", bits))[0])


def nearest(exact: Fraction) -> float:
    """Division of integers is correctly rounded in Python; only its overflow is not a value."""
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return float("inf") if exact > 0 else float("-inf")


def added(values: list[tuple[float, int]]) -> Int64s:
    cells = np.zeros((1, FIRST + LIMBS), np.int64)
    for value, weight in values:
        add_double(cells, 0, 0, FIRST, 0, LIMBS, bits_of(value), weight)
    return cells


def rounded(cells: Int64s, divisor: int = 0) -> float:
    limbs = np.zeros(SCRATCH, np.int64)
    carry_limbs(cells, 0, FIRST, LIMBS)
    is_negative = take_limbs(cells, 0, FIRST, LIMBS, limbs)
    if divisor:
        bits = quotient_to_double(limbs, LIMBS + 1, LOWEST, divisor)
    else:
        bits = round_to_double(limbs, 0, LIMBS + 1, LOWEST, False)
    return -double_of(bits) if is_negative else double_of(bits)


def exact_sum(values: list[tuple[float, int]]) -> Fraction:
    return sum((Fraction(value) * weight for value, weight in values), Fraction(0))


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(finite, weights), max_size=8))
def test_sum_of_doubles_is_the_nearest_double(values: list[tuple[float, int]]) -> None:
    assert rounded(added(values)) == nearest(exact_sum(values))


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(finite, weights), max_size=8), st.one_of(st.integers(1, 100), st.integers(1, 2**62)))
def test_average_of_doubles_is_the_nearest_double(values: list[tuple[float, int]], count: int) -> None:
    assert rounded(added(values), count) == nearest(exact_sum(values) / count)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], 0.0),
        ([(0.1, 10)], 1.0),
        ([(1e308, 1), (1e308, 1)], float("inf")),
        ([(-1e308, 2)], float("-inf")),
        ([(1e308, 2), (1e308, -1)], 1e308),
        ([(1e308, 1), (1.0, 1), (1e308, -1)], 1.0),
        ([(2.0**53, 1), (1.0, 1)], 2.0**53),  # a tie goes to the even one
        ([(2.0**53, 1), (1.0, 1), (5e-324, 1)], 2.0**53 + 2),  # a hair above the tie
        ([(2.0**53, 1), (3.0, 1)], 2.0**53 + 4),
        ([(5e-324, 3)], 1.5e-323),
        ([(GREATEST, 1), (2.0**969, 1)], GREATEST),
        ([(GREATEST, 1), (2.0**970, 1)], float("inf")),
    ],
)
def test_sums_at_the_edges(values: list[tuple[float, int]], expected: float) -> None:
    assert rounded(added(values)) == expected


@pytest.mark.parametrize(
    ("value", "count", "expected"),
    [(5e-324, 2, 0.0), (5e-324 * 3, 2, 1e-323), (5e-324, 1, 5e-324), (GREATEST, 3, GREATEST / 3)],
)
def test_averages_at_the_edges(value: float, count: int, expected: float) -> None:
    assert rounded(added([(value, 1)]), count) == expected


def test_carries_run_before_a_limb_overflows() -> None:
    values = [(GREATEST, 2**19), (-3.3, 2**20 - 1)] * (MOST_LOAD // 2**20 * 3)
    assert rounded(added(values)) == nearest(exact_sum(values))
    assert rounded(added([*values, *[(value, -weight) for value, weight in values], (7.5, 1)])) == 7.5


def test_the_range_follows_the_exponents() -> None:
    def needed(*values: float, weight: int = 1, null: int = 0) -> tuple[int, int]:
        rows = np.array([[bits_of(value), null] for value in values], np.int64).reshape(-1, 2)
        return needed_limbs(rows, np.full(len(rows), weight, np.int64), 0, 1, 0, 1, ABOVE_ALL_LIMBS, 0)

    assert needed() == (ABOVE_ALL_LIMBS, 0)
    assert needed(0.0, -0.0, float("nan"), float("inf"), float("-inf")) == (ABOVE_ALL_LIMBS, 0)
    assert needed(1.0, null=1) == (ABOVE_ALL_LIMBS, 0)
    assert needed(5e-324) == (0, 4)
    low, high = needed(1.0, 1000.0)
    assert high - low <= 5
    assert needed(GREATEST, weight=-(2**62))[1] <= LIMBS


def test_spreading_keeps_what_was_added() -> None:
    def ranges(*lines: tuple[int, int, int]) -> Int64s:
        return np.array(lines, np.int64)

    flat = np.zeros(3 * 9, np.int64)
    flat[: 3 * 5] = np.arange(15) + 100
    spread_cells(flat, 3, 5, 9, 2, ranges((2, 10, 2), (4, 3, 1)), ranges((2, 9, 4), (6, 3, 3)), np.zeros(5, np.int64))
    assert flat.reshape(3, 9).tolist() == [
        [100, 101, 0, 102, 103, 0, 104, 0, 0],
        [105, 106, 0, 107, 108, 0, 109, 0, 0],
        [110, 111, 0, 112, 113, 0, 114, 0, 0],
    ]


def lanes_of(value: int) -> tuple[int, int]:
    low, high = value & (2**64 - 1), value >> 64
    return (low - 2**64 if low >> 63 else low), high


def exact_value(cells: Int64s) -> int:
    low, middle, high = (int(cell) for cell in cells[0])
    return (low & (2**64 - 1)) | (middle & (2**64 - 1)) << 64 | high << 128


wide = st.one_of(
    st.integers(-(2**127), 2**127 - 1), st.integers(-10, 10), st.sampled_from([2**63, -(2**63), 2**64, -(2**64)])
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(wide, weights.filter(bool)), max_size=6))
def test_exact_sums(values: list[tuple[int, int]]) -> None:
    cells = np.zeros((1, 3), np.int64)
    for value, weight in values:
        add_exact(cells, 0, 0, *lanes_of(value), weight)
    assert exact_value(cells) == (sum(value * weight for value, weight in values) + 2**191) % 2**192 - 2**191


@settings(max_examples=300, deadline=None)
@given(
    st.integers(-(2**190), 2**190), st.one_of(st.integers(1, 1000), st.integers(1, 2**62)),
    st.sampled_from([1, 10, 10**4]),
)
def test_quotients_of_exact_sums(value: int, count: int, factor: int) -> None:
    low, rest = lanes_of(value)
    cells = np.array([[low, *lanes_of(rest)]], np.int64)
    limbs = np.zeros(SCRATCH, np.int64)
    assert take_exact(cells, 0, 0, limbs) == (value < 0)
    assert double_of(quotient_to_double(limbs, EXACT_LIMBS, 0, count)) == nearest(Fraction(abs(value), count))
    take_exact(cells, 0, 0, limbs)
    length = quotient_to_decimal(limbs, EXACT_LIMBS, factor, count)
    half_up = (2 * abs(value) * factor + count) // (2 * count)
    assert sum(int(limb) << 32 * place for place, limb in enumerate(limbs[:length])) == half_up
    bound = 10**38
    assert is_below(limbs, length, *lanes_of(bound)) == (half_up < bound)


def test_the_bound_itself_is_too_much() -> None:
    limbs = np.zeros(SCRATCH, np.int64)
    for value, expected in ((10**38 - 1, True), (10**38, False)):
        limbs[:4] = [value >> 32 * place & 0xFFFFFFFF for place in range(4)]
        assert is_below(limbs, 4, *lanes_of(10**38)) is expected


@pytest.mark.parametrize("divisor", [1, 3, 2**31 - 1, 2**31, 2**62 + 7])
def test_divide(divisor: int) -> None:
    number = int(Decimal("9.87654321e40"))
    limbs = np.array([number >> 32 * place & 0xFFFFFFFF for place in range(5)], np.int64)
    rest = divide(limbs, 0, 5, divisor)
    assert (sum(int(limb) << 32 * place for place, limb in enumerate(limbs)), rest) == divmod(number, divisor)
