"""GROUP BY against a slow one that sorts every bag anew, over random changes, cut at random instants."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from grouping import (
    AVG,
    COUNT,
    MANY,
    MAX,
    MIN,
    SIMPLE_CALLS,
    SUM,
    Bench,
    Change,
    Row,
    by_instant,
    history,
    slow_changes,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from sash.errors import SashError
from sash.operators.group_by.tables import MAKERS
from sash.plan.aggregates import Function, Kept
from sash.schema import BIGINT, DOUBLE, INT, STRING


def test_a_function_that_nothing_is_kept_for_is_refused_by_name() -> None:
    with pytest.raises(SashError, match="GROUP BY keeps nothing for MODE"):
        Bench(MANY, (), [(Function.MODE, 0)])


@pytest.mark.parametrize("function", Function)
def test_something_is_kept_for_every_function_but_those_made_of_others(function: Function) -> None:
    assert (function in MAKERS) is (function.facts.kept is not Kept.ROWS)


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 10**9), st.integers(0, 40), st.integers(1, 12),
    st.sampled_from([(), (0,), (3,), (7, 5), (1, 3, 6, 9)]), st.sets(st.integers(-5, 20), max_size=6), st.booleans(),
)
def test_equals_the_slow_one(
    seed: int, lifetimes: int, instants: int, keys: tuple[int, ...], cuts: set[int], is_early: bool
) -> None:
    bench = Bench(MANY, keys, SIMPLE_CALLS)
    changes = history(seed, lifetimes, instants, range(len(MANY)))
    begin = -3 if is_early else (changes[0][0] if changes else None)
    fast = bench.run_cut(changes, cuts, begin)
    assert by_instant(fast) == by_instant(slow_changes(bench.spec, changes, begin))


@settings(max_examples=100, deadline=None)
@given(
    st.integers(0, 10**9), st.sampled_from([(3,), (7, 5)]), st.sampled_from([(SUM, 3), (AVG, 3), (MAX, 7), (MIN, 6)])
)
def test_few_values_many_changes(seed: int, keys: tuple[int, ...], call: tuple[Function, int]) -> None:
    bench = Bench(MANY, keys, [call])
    changes = history(seed, 120, 60, [*keys, call[1]])
    whole = Bench(MANY, keys, [call]).run_cut(changes, [], None)
    assert bench.run_cut(changes, range(60), None) == whole
    assert by_instant(whole) == by_instant(slow_changes(bench.spec, changes, None))


def random_doubles(count: int, chance: random.Random) -> list[Change]:
    values = [chance.choice([chance.gauss(0, 1e3), chance.uniform(-1, 1) * 10.0 ** chance.randrange(-300, 300)])
              for _ in range(count)]
    return [(place, (chance.randrange(5), value), 1) for place, value in enumerate(values)]


def test_state_returns_to_empty() -> None:
    chance = random.Random(7)
    bench = Bench([INT, DOUBLE], [0], [(SUM, 1), (AVG, 1), (MIN, 1), (MAX, 1)])
    entering = random_doubles(500, chance)
    leaving = [(ts + 600, row, -1) for ts, (_, row, _) in enumerate(chance.sample(entering, len(entering)))]
    bench.run(entering, 600)
    assert bench.operator.groups.live_groups == 5
    assert bench.operator.groups.live_values == 1000
    last = bench.run(leaving, 2000)[-1]
    assert last[0] == 1099 and last[2] == -1
    assert bench.operator.groups.live_groups == bench.operator.groups.live_values == 0
    assert not bench.operator.groups.table.any() and not bench.operator.groups.node_table.any()
    size = bench.arena.used
    for round_ in range(1, 4):
        shift = 2000 * round_
        bench.run([(ts + shift, row, w) for ts, row, w in entering + leaving], shift + 2000)
    assert bench.arena.used == size


def test_groups_grow_and_are_used_again() -> None:
    bench = Bench([BIGINT], [0], [(COUNT, None)])
    for start in range(0, 30_000, 3_000):
        entering = [(start, (start + place,), 1) for place in range(3_000)]
        out = bench.run(entering + [(start + 1, row, -1) for _, row, _ in entering], start + 2)
        assert len(out) == 6_000
    assert bench.operator.groups.live_groups == 0
    assert len(bench.operator.groups.lines) == 4096


@pytest.mark.parametrize("at_once", [1, 700])
def test_extremes_of_many_values_in_any_order(at_once: int) -> None:
    chance = random.Random(5)
    words = sorted({f"{chance.randrange(10**6):x}" for _ in range(2000)})
    bench = Bench([BIGINT, STRING], [], [(MIN, 0), (MAX, 0), (MIN, 1), (MAX, 1)])
    rows = [(place, word) for place, word in enumerate(words)]
    entering, leaving = chance.sample(rows, len(rows)), chance.sample(rows, len(rows) - 1)
    stamps = [place // at_once for place in range(len(entering) + len(leaving))]
    changes = list(zip(stamps, entering + leaving, [1] * len(entering) + [-1] * len(leaving), strict=True))
    out = bench.run(changes, 10**6, 0)
    answers = {ts: row for ts, row, weight in out if weight > 0}
    live: set[tuple[int, str]] = set()
    answer: Row = (None,) * 4
    for place, (ts, row, weight) in enumerate(changes):
        (live.add if weight > 0 else live.remove)(row)
        if place + 1 == len(changes) or changes[place + 1][0] != ts:
            answer = answers.get(ts, answer)
            first, last = min(live), max(live)
            assert answer == (first[0], last[0], first[1], last[1])
    assert bench.operator.groups.live_values == 4


def test_attaching_continues() -> None:
    chance = random.Random(3)
    changes = random_doubles(200, chance)
    changes += [(300 + ts, row, -1) for ts, (_, row, _) in enumerate(changes)]
    whole = Bench([INT, DOUBLE], [0], [(SUM, 1), (MIN, 1)])
    expected = whole.run(changes, 1000)
    bench = Bench([INT, DOUBLE], [0], [(SUM, 1), (MIN, 1)])
    result = []
    for now in range(0, 1000, 50):
        bench.attach()
        result += bench.run([change for change in changes if now <= change[0] < now + 50], now + 50)
    assert result == expected


# One thing at a time.


def test_one_group_in_time() -> None:
    bench = Bench([STRING, BIGINT], [0], [(COUNT, None), (SUM, 1)])
    assert bench.run([(10, ("ann", 5), 1)], 11) == [(10, ("ann", 1, 5), 1)]
    assert bench.run([(12, ("ann", 5), -1), (12, ("ann", 5), 1)], 13) == []
    assert bench.run([(14, ("ann", None), 1)], 15) == [(14, ("ann", 1, 5), -1), (14, ("ann", 2, 5), 1)]
    assert bench.run([(16, ("ann", 5), -1), (17, ("ann", None), -1)], 18) == [
        (16, ("ann", 2, 5), -1), (16, ("ann", 1, None), 1), (17, ("ann", 1, None), -1),
    ]
    assert bench.run([], 30) == []


def test_without_keys_there_is_a_row_from_the_beginning_on() -> None:
    bench = Bench([BIGINT], [], [(COUNT, None), (SUM, 0), (MAX, 0)])
    assert bench.run([], 5, None) == []
    assert bench.run([], 5, 5) == []
    assert bench.run([], 9, 5) == [(5, (0, None, None), 1)]
    assert bench.run([], 12, 5) == []
    assert bench.run([(12, (4,), 1)], 13, 5) == [(12, (0, None, None), -1), (12, (1, 4, 4), 1)]
    bench.attach()
    assert bench.run([(13, (4,), -1)], 14, 5) == [(13, (1, 4, 4), -1), (13, (0, None, None), 1)]


def test_without_keys_the_first_row_is_netted_with_the_beginning() -> None:
    bench = Bench([BIGINT], [], [(COUNT, None)])
    assert bench.run([(5, (1,), 2), (6, (1,), -2)], 9, 5) == [(5, (2,), 1), (6, (2,), -1), (6, (0,), 1)]


def test_without_keys_rows_before_the_beginning_wait_for_it() -> None:
    bench = Bench([BIGINT], [], [(SUM, 0)])
    assert bench.run([(1, (3,), 1)], 2, None) == []
    assert bench.run([(3, (4,), 1), (8, (5,), 1)], 9, 6) == [(6, (7,), 1), (8, (7,), -1), (8, (12,), 1)]


def test_without_columns_at_all() -> None:
    bench = Bench([], [], [])
    assert bench.run([], 9, 5) == [(5, (), 1)]
    assert bench.run([(9, (), 1)], 10, 5) == []


def test_keys_only() -> None:
    bench = Bench([DOUBLE], [0], [])
    assert bench.run([(1, (-0.0,), 1), (1, (math.nan,), 1), (2, (0.0,), 1), (3, (None,), 1)], 4) == [
        (1, ("double nan",), 1), (1, ("double 0.0",), 1), (3, (None,), 1),
    ]


def test_more_keys_than_a_mask_lane_has_bits() -> None:
    bench = Bench([INT] * 40, range(40), [(COUNT, None)])
    full, holes = tuple(range(40)), tuple(None if place in (3, 37) else place for place in range(40))
    assert bench.run([(1, full, 1), (2, holes, 1), (3, holes, 1), (4, full, -1)], 9) == [
        (1, (*full, 1), 1), (2, (*holes, 1), 1), (3, (*holes, 1), -1), (3, (*holes, 2), 1), (4, (*full, 1), -1),
    ]


def test_infinities_leave_no_trace() -> None:
    bench = Bench([DOUBLE], [], [(SUM, 0)])
    rows = [(1, (0.1,), 1), (2, (math.inf,), 1), (3, (-math.inf,), 1), (4, (math.inf,), -1), (5, (math.nan,), 1)]
    rows += [(6, (-math.inf,), -1), (7, (math.nan,), -1)]
    shown = [row[0] for _, row, weight in bench.run(rows, 9, 1) if weight > 0]
    assert shown == ["double 0.1", "double inf", "double nan", "double -inf", "double nan", "double 0.1"]


def test_an_all_cancelled_sum_is_zero() -> None:
    bench = Bench([DOUBLE], [], [(SUM, 0), (AVG, 0)])
    assert bench.run([(1, (0.1,), 1), (1, (-0.1,), 1)], 2, 1) == [(1, ("double 0.0", "double 0.0"), 1)]


def test_overflow_is_null_and_counted_and_comes_back() -> None:
    bench = Bench([BIGINT], [], [(SUM, 0), (AVG, 0)])
    shown = bench.run([(1, (2**63 - 1,), 1), (2, (2**63 - 1,), 1), (3, (2**63 - 1,), -1)], 9, 1)
    assert [row[0] for _, row, weight in shown if weight > 0] == [2**63 - 1, None, 2**63 - 1]
    assert bench.operator.groups.overflows == 1


def test_strings_that_are_kept_are_held() -> None:
    bench = Bench([STRING, STRING], [0], [(MAX, 1)])
    bench.run([(1, ("key", "a"), 1), (1, ("key", "b"), 1), (2, ("gone", "c"), 1), (3, ("gone", "c"), -1)], 4)
    held = set()
    for holder in bench.interner.holders:
        rows, lanes = holder()
        held |= {code for lane in lanes for code in rows[:, lane].tolist() if code}
    codes = np.array(sorted(held), np.int64)
    assert sorted(bench.interner.decode(codes).to_pylist()) == ["a", "b", "key"]
