"""Every aggregate beyond the plain five, against the slow twin, under changes of either sign."""

from __future__ import annotations

import math
import random
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from grouping import (
    AVG,
    COUNT,
    MANY,
    MAX,
    MIN,
    SUM,
    Bench,
    Change,
    by_instant,
    history,
    nearest,
    nearest_root,
    printed,
    slow_changes,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from sash.plan.aggregates import Function
from sash.schema import BIGINT, BOOLEAN, DOUBLE, INT, STRING, decimal

VARIANCES = (Function.VAR_POP, Function.VAR_SAMP, Function.STDDEV_POP, Function.STDDEV_SAMP)
CONT, DISC, MEDIAN = Function.PERCENTILE_CONT, Function.PERCENTILE_DISC, Function.MEDIAN
TEXT = Function.STRING_AGG
NUMBERS = (1, 2, 3, 4, 5, 6)
DISTINCT = {"is_distinct": True}

DISTINCT_CALLS = [(f, c, DISTINCT) for f in (COUNT, SUM, AVG) for c in NUMBERS]
DISTINCT_CALLS += [(COUNT, c, DISTINCT) for c in (0, 7, 8, 9)] + [(MIN, 3, DISTINCT), (MAX, 7, DISTINCT)]
DISTINCT_CALLS += [(SUM, 3), (COUNT, 3), (Function.VAR_POP, 3, DISTINCT), (Function.BIT_XOR, 1, DISTINCT)]
DISTINCT_CALLS += [(MEDIAN, 2, DISTINCT), (Function.STDDEV_SAMP, 5, DISTINCT), (MEDIAN, 2)]
VARIANCE_CALLS = [(f, c) for f in VARIANCES for c in NUMBERS] + [(SUM, 3), (AVG, 6)]
SHAPE_CALLS = [(f, c) for f in (Function.SKEWNESS, Function.KURTOSIS) for c in NUMBERS]
SHAPE_CALLS += [(Function.SKEWNESS, 3, DISTINCT), (Function.KURTOSIS, 5, DISTINCT), (Function.STDDEV_POP, 6), (AVG, 3)]
RANKED_CALLS = [(MEDIAN, c) for c in NUMBERS]
RANKED_CALLS += [(CONT, c, {"parameter": f}) for c in (2, 3, 5) for f in (0.0, 0.1, 0.3, 0.9, 0.123456789, 1.0)]
RANKED_CALLS += [(DISC, c, {"parameter": f}) for c in range(10) for f in (0.0, 0.25, 1.0)]
PAIR_CALLS = [
    (f, c, {"second": s}) for f in (Function.MIN_BY, Function.MAX_BY)
    for c, s in [(0, 1), (7, 3), (3, 7), (5, 5), (6, 0), (7, 6), (9, 8), (2, 2), (1, 0), (7, 0)]
]
TEXT_CALLS = [
    (TEXT, 7, {"parameter": ", "}), (TEXT, 7, {"parameter": "", "is_distinct": True}), (TEXT, 7), (MAX, 7),
    (TEXT, 7, {"parameter": "\N{SNOWMAN}"}), (COUNT, None), (MIN, 3),
]
BIT_CALLS = [(f, c) for f in (Function.BIT_AND, Function.BIT_OR, Function.BIT_XOR) for c in (1, 2)]
BIT_CALLS += [(Function.BOOL_AND, 0), (Function.BOOL_OR, 0), (COUNT, 0), *((Function.ANY_VALUE, c) for c in range(10))]
KINDS = {
    "distinct": DISTINCT_CALLS, "variance": VARIANCE_CALLS, "ranked": RANKED_CALLS, "pair": PAIR_CALLS,
    "text": TEXT_CALLS, "bit": BIT_CALLS, "shape": SHAPE_CALLS,
}


def check_empty(bench: Bench) -> None:
    groups = bench.operator.groups
    assert groups.live_groups == groups.live_values == 0
    assert not groups.table.any() and not groups.node_table.any() and not groups.beside.any()


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**9), lifetimes=st.integers(0, 40), instants=st.integers(1, 12),
    keys=st.sampled_from([(), (0,), (7, 5)]), cuts=st.sets(st.integers(-5, 20), max_size=6), is_early=st.booleans(),
)
def test_equals_the_slow_one(
    kind: str, seed: int, lifetimes: int, instants: int, keys: tuple[int, ...], cuts: set[int], is_early: bool
) -> None:
    bench = Bench(MANY, keys, KINDS[kind])
    changes = history(seed, lifetimes, instants, range(len(MANY)))
    begin = -3 if is_early else (changes[0][0] if changes else None)
    fast = bench.run_cut(changes, cuts, begin)
    assert by_instant(fast) == by_instant(slow_changes(bench.spec, changes, begin))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_cuts_and_restarts_change_nothing_and_nothing_is_left(kind: str, seed: int) -> None:
    changes = history(seed, 60, 30, range(len(MANY)))
    last: dict[tuple[object, ...], int] = {}
    for _, row, weight in changes:
        last[row] = last.get(row, 0) + weight
    changes += [(31, row, -weight) for row, weight in last.items() if weight]
    whole = Bench(MANY, (0, 4), KINDS[kind])
    expected = whole.run_cut(changes, [], None)
    cut = Bench(MANY, (0, 4), KINDS[kind])
    result = []
    for now in range(33):
        cut.attach()
        result += cut.run([change for change in changes if change[0] == now], now + 1)
    assert result == expected
    check_empty(whole)
    check_empty(cut)


def sliding(rows: list[tuple[object, ...]], size: int) -> list[Change]:
    """Each row comes at its place and leaves `size` instants later."""
    changes = [(place, row, 1) for place, row in enumerate(rows)]
    changes += [(place + size, row, -1) for place, row in enumerate(rows)]
    return sorted(changes, key=lambda change: change[0])


MANY_VALUES = [(MEDIAN, 1), (CONT, 1, {"parameter": 0.9}), (DISC, 2, {"parameter": 0.5}), (DISC, 3, {"parameter": 0.99})]


def test_percentiles_of_many_values() -> None:
    chance = random.Random(11)
    rows = [
        (chance.randrange(3), chance.gauss(0, 1e3), chance.randrange(200), f"{chance.randrange(500):x}")
        for _ in range(1500)
    ]
    bench = Bench([INT, DOUBLE, BIGINT, STRING], (0,), MANY_VALUES)
    changes = sliding(rows, 400)
    out = bench.run(changes, 10**6)
    check_empty(bench)
    answers = {(ts, row[0]): row for ts, row, weight in out if weight > 0}
    for now in range(0, 1500, 97):
        bag = [change for change in sliding(rows, 400) if change[0] <= now]
        final = [row for ts, row, weight in slow_changes(bench.spec, [(now, r, w) for _, r, w in bag], None) if weight > 0]
        for row in final:
            shown = max(ts for ts, key in answers if key == row[0] and ts <= now)
            assert answers[shown, row[0]] == row


def test_equal_values_have_ranks_of_their_own() -> None:
    bench = Bench([INT], (), [(MEDIAN, 0), (DISC, 0, {"parameter": 0.75}), (MEDIAN, 0, DISTINCT)])
    out = bench.run([(1, (5,), 3), (2, (9,), 1), (3, (9,), 2), (3, (1,), 1), (4, (5,), -2)], 9, 1)
    assert [row for _, row, weight in out if weight > 0] == [
        ("double 5.0", 5, "double 5.0"), ("double 5.0", 5, "double 7.0"), ("double 5.0", 9, "double 5.0"),
        ("double 9.0", 9, "double 5.0"),
    ]


def test_a_fraction_means_what_is_written() -> None:
    """The double next to 0.3 is a little less; nothing of the value below must get in."""
    bench = Bench([DOUBLE], (), [(CONT, 0, {"parameter": 0.3})])
    rows = [(1, (-1e300,), 3), (1, (0.0,), 8)]
    assert bench.run(rows, 2, 1) == [(1, ("double 0.0",), 1)]


def test_the_middle_of_the_greatest_doubles_is_finite() -> None:
    bench = Bench([DOUBLE], (), [(MEDIAN, 0)])
    greatest = 1.7976931348623157e308
    assert bench.run([(1, (greatest,), 1), (1, (greatest / 2,), 1)], 2, 1) == [
        (1, (f"double {greatest / 2 + greatest / 4!r}",), 1)
    ]


def test_a_variance_does_not_drift() -> None:
    bench = Bench([DOUBLE], (), [(Function.VAR_POP, 0), (Function.STDDEV_SAMP, 0)])
    changes = [(1, (1e160,), 1), (1, (0.1,), 1), (1, (0.3,), 1), (2, (1e160,), -1), (3, (0.3,), -1)]
    out = bench.run(changes, 9, 1)
    assert by_instant(out) == by_instant(slow_changes(bench.spec, changes, 1))
    assert [row[0] for _, row, weight in out if weight > 0] == ["double inf", "double 0.009999999999999998", "double 0.0"]


def test_a_variance_of_the_smallest_and_the_greatest() -> None:
    bench = Bench([DOUBLE], (), [(f, 0) for f in VARIANCES])
    least, greatest = 5e-324, 1.7976931348623157e308
    changes = [(1, (least,), 1), (1, (0.0,), 1), (2, (greatest,), 1), (2, (-greatest,), 1), (3, (least,), -1)]
    assert by_instant(bench.run(changes, 9, 1)) == by_instant(slow_changes(bench.spec, changes, 1))


def test_a_variance_of_large_weights() -> None:
    bench = Bench([BIGINT, DOUBLE, decimal(38, 10)], (), [(f, c) for f in VARIANCES[::2] for c in range(3)])
    first, second = (2**63 - 1, 1e10, Decimal("9" * 28 + ".5")), (-(2**63), -3.5, -Decimal("9" * 28 + ".25"))
    ((_, shown, _),) = bench.run([(1, first, 2**40), (1, second, 2**41)], 2, 1)
    # A third of the rows at one value, the others at another.
    exact = [(Fraction(a) - Fraction(b)) ** 2 * Fraction(2, 9) for a, b in zip(first, second, strict=True)]
    assert shown == (*(printed(nearest(v)) for v in exact), *(printed(nearest_root(v)) for v in exact))


def test_texts_need_much_room() -> None:
    bench = Bench([INT, STRING], (0,), [(TEXT, 1, {"parameter": "-"}), (COUNT, None)])
    words = [chr(97 + place % 26) * 50 for place in range(1000)]
    changes = [(place, (place % 2, word), 1) for place, word in enumerate(words)]
    out = bench.run(changes, 2000)
    assert out[-1][1] == (1, "-".join(sorted(words[1::2])), 500)
    assert bench.run([(2000, (1, "b"), 1), (2000, (1, "b"), -1)], 2001) == []


def test_a_text_that_looks_the_same_is_no_change() -> None:
    bench = Bench([STRING], (), [(TEXT, 0, {"parameter": ","})])
    out = bench.run([(1, ("a,b",), 1), (2, ("a,b",), -1), (2, ("a",), 1), (2, ("b",), 1), (3, ("a",), -1)], 9, 1)
    assert out == [(1, ("a,b",), 1), (3, ("a,b",), -1), (3, ("b",), 1)]


def test_a_group_that_comes_back_in_the_same_step_has_a_text_of_its_own() -> None:
    bench = Bench([INT, STRING], (0,), [(TEXT, 1, {"parameter": ","})])
    out = bench.run([(1, (1, "x"), 1), (2, (1, "x"), -1), (3, (2, None), 1), (4, (2, "y"), 1)], 9)
    assert out == [
        (1, (1, "x"), 1), (2, (1, "x"), -1), (3, (2, None), 1), (4, (2, None), -1), (4, (2, "y"), 1),
    ]


def test_ties_beside_an_extreme_go_by_the_value() -> None:
    calls = [(f, 0, {"second": 1}) for f in (Function.MIN_BY, Function.MAX_BY)]
    bench = Bench([STRING, INT], (), calls)
    out = bench.run([(1, ("b", 1), 1), (1, ("a", 1), 1), (2, (None, 1), 1), (3, ("c", None), 1), (4, ("b", 1), -1)], 9, 1)
    assert [row for _, row, weight in out if weight > 0] == [("a", "b"), (None, "b"), (None, "a")]


def test_strings_in_sets_are_held() -> None:
    calls = [(Function.MAX_BY, 0, {"second": 1}), (TEXT, 0, {"parameter": "+"}), (COUNT, 1, DISTINCT)]
    bench = Bench([STRING, STRING], (), calls)
    bench.run([(1, ("a", "x"), 1), (1, ("b", "y"), 1), (2, ("c", "z"), 1), (3, ("c", "z"), -1)], 4, 1)
    held = set()
    for holder in bench.interner.holders:
        rows, lanes = holder()
        held |= {code for lane in lanes for code in rows[:, lane].tolist() if code}
    words = bench.interner.decode(np.array(sorted(held), np.int64)).to_pylist()
    assert sorted(words) == ["a", "a+b", "b", "x", "y"]


def test_truth_of_nothing_is_unknown() -> None:
    calls = [(Function.BOOL_AND, 0), (Function.BOOL_OR, 0)]
    bench = Bench([BOOLEAN], (), calls)
    out = bench.run([(1, (None,), 1), (2, (True,), 1), (3, (False,), 1), (4, (True,), -1)], 9, 1)
    assert [row for _, row, weight in out if weight > 0] == [(None, None), (True, True), (False, True), (False, False)]


def test_infinite_values_make_a_variance_nan_while_they_are_there() -> None:
    bench = Bench([DOUBLE], (), [(Function.VAR_POP, 0), (Function.VAR_SAMP, 0)])
    out = bench.run([(1, (math.inf,), 1), (2, (1.0,), 1), (3, (3.0,), 1), (4, (math.inf,), -1)], 9, 1)
    assert [row for _, row, weight in out if weight > 0] == [
        ("double nan", None), ("double nan", "double nan"), ("double 1.0", "double 2.0"),
    ]


numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False), st.floats(-1e6, 1e6), st.sampled_from([0.1, 0.2, 0.3, 1e-310])
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(numbers, st.integers(1, 3)), min_size=1, max_size=8), st.data())
def test_statistics_of_finite_doubles(values: list[tuple[float, int]], data: st.DataObject) -> None:
    calls = [*((f, 0) for f in VARIANCES), (MEDIAN, 0), (CONT, 0, {"parameter": 0.35}), (SUM, 0), (SUM, 0, DISTINCT)]
    bench = Bench([DOUBLE], (), calls)
    changes = [(1, (value,), weight) for value, weight in values]
    gone = data.draw(st.lists(st.sampled_from(changes), unique=True))
    changes += [(place + 2, row, -weight) for place, (_, row, weight) in enumerate(gone)]
    assert by_instant(bench.run(changes, 99, 1)) == by_instant(slow_changes(bench.spec, changes, 1))
