"""Set operators against their definitions, over random changes cut at random instants."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench import COLUMNS, Bench, Change, Row, history, net, port, recomputed, shown, text
from sash.deltas import Delta
from sash.operators.sets.combine import Combine
from sash.operators.sets.spec import CombineSpec, UnionAllSpec
from sash.operators.spec import Spec
from sash.operators.windows.spec import TimeWindowSpec
from sash.plan.nodes import Combination
from sash.plan.patterns import Pattern
from sash.schema import BIGINT, STRING, schema

PEOPLE = schema(("name", STRING), ("n", BIGINT))
MULTIPLICITY = {
    Combination.UNION_ALL: lambda n, m: n + m,
    Combination.INTERSECT_ALL: min,
    Combination.INTERSECT: lambda n, m: min(1, n, m),
    Combination.EXCEPT_ALL: lambda n, m: max(0, n - m),
    Combination.EXCEPT: lambda n, m: int(n > 0 and m == 0),
    Combination.SEMI: lambda n, m: n if m else 0,
    Combination.ANTI: lambda n, m: 0 if m else n,
}


def spec(how: Combination, columns: object = PEOPLE) -> Spec:
    left, right = port(columns, "l"), port(columns, "r")
    return UnionAllSpec(left, right) if how is Combination.UNION_ALL else CombineSpec(left, right, how)


def slow(how: Combination, histories: list[list[Change]]) -> dict[tuple[int, Row], int]:
    def answer(_: int, bags: list[Counter[Row]]) -> Counter[Row]:
        left, right = bags
        return +Counter({row: MULTIPLICITY[how](left[row], right[row]) for row in {*left, *right}})

    return recomputed(histories, answer)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(list(Combination)), st.integers(0, 10**6), st.integers(0, 25), st.integers(1, 10),
    st.sampled_from([(1,), (0, 2), (4,)]), st.sets(st.integers(0, 10), max_size=4),
)
def test_equals_the_definition(
    how: Combination, seed: int, lifetimes: int, instants: int, columns: tuple[int, ...], cuts: set[int]
) -> None:
    histories = [history(seed + side, lifetimes, instants, columns) for side in range(2)]
    found = Bench(spec(how, COLUMNS)).run_cut(histories, cuts)
    assert net(found) == slow(how, histories)
    if how is not Combination.UNION_ALL:
        assert len(net(found)) == len(found)


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        (Combination.UNION_ALL, ["+ ann 1 @1", "+ ann 1 @2", "- ann 1 @3", "+ ann 1 @4", "- ann 1 @5"]),
        (Combination.EXCEPT, ["+ ann 1 @1", "- ann 1 @2", "+ ann 1 @5"]),
        (Combination.EXCEPT_ALL, ["+ ann 1 @1", "- ann 1 @2", "+ ann 1 @5"]),
        (Combination.INTERSECT, ["+ ann 1 @2", "- ann 1 @3", "+ ann 1 @4", "- ann 1 @5"]),
        (Combination.SEMI, ["+ ann 1 @2", "- ann 1 @3", "+ ann 1 @4", "- ann 1 @5"]),
        (Combination.ANTI, ["+ ann 1 @1", "- ann 1 @2", "+ ann 1 @5"]),
    ],
)
def test_one_row_in_time(how: Combination, expected: list[str]) -> None:
    left = text("+ ann 1 @1", "- ann 1 @3", "+ ann 1 @4", schema=PEOPLE)
    right = text("+ ann 1 @2", "- ann 1 @5", schema=PEOPLE)
    assert shown(Bench(spec(how)).run([left, right], 10**7)) == expected


def test_nulls_are_equal_and_what_cancels_is_not_shown() -> None:
    left = text("+ NULL NULL @1", "+ bob 2 @2", "- bob 2 @2", schema=PEOPLE)
    right = text("+ NULL NULL @1", "- NULL NULL @4", "+ NULL NULL @4", schema=PEOPLE)
    assert shown(Bench(spec(Combination.EXCEPT)).run([left, right], 10**7)) == []
    assert shown(Bench(spec(Combination.INTERSECT)).run([left, right], 10**7)) == ["+ NULL NULL @1"]


def test_state_returns_to_empty() -> None:
    bench = Bench(spec(Combination.SEMI, COLUMNS))
    histories = [history(side, 300, 50, (0, 1, 2), all_leave=True) for side in range(2)]
    assert sum(weight for _, _, weight in bench.run_cut(histories, range(0, 50, 7))) == 0
    assert isinstance(bench.operator, Combine)
    assert len(bench.operator.bag) == 0 and not bench.operator.bag.table.any() and not bench.held_strings()


def test_a_row_of_the_right_side_only_is_held() -> None:
    bench = Bench(spec(Combination.SEMI))
    bench.run([[], text("+ ann 1 @1", schema=PEOPLE)], 2_000_000)
    assert bench.held_strings() == {"ann"}


def test_a_union_of_rows_that_expire() -> None:
    windows = [TimeWindowSpec(port(PEOPLE, name, Pattern.MONOTONIC), size) for name, size in (("l", 5), ("r", 9))]
    both = UnionAllSpec(*windows)
    assert both.pattern is Pattern.WEAK
    assert UnionAllSpec(windows[0], port(PEOPLE, "t", Pattern.MONOTONIC)).pattern is Pattern.WEAKEST
    bench = Bench(both)
    left, right = bench.delta([(1, ("a", 1), 1), (4, ("b", 2), 1)], both.layout), bench.delta([(2, ("c", 3), 1)], both.layout)
    left = Delta(left.rows, left.ts, left.ts + 5, left.weight)
    out = bench.operator.run([left, right], 9, None)
    assert out.ts.tolist() == [1, 2, 4] and out.expiry.tolist()[::2] == [6, 9]
