"""Aggregates that users write in Python."""

from __future__ import annotations

import datetime
import random
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from grouping import COUNT, MANY, SLOW, SUM, Bench, by_instant, history, printed, slow_changes
from hypothesis import given, settings
from hypothesis import strategies as st

from sash.errors import SashError
from sash.plan.aggregates import Function
from sash.plan.user_aggregates import UserAggregate
from sash.schema import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, Type, decimal


class Joined:
    """The values as they come, one after the other."""

    def create(self) -> list[str]:
        return []

    def accumulate(self, state: list[str], value: object) -> list[str]:
        return [*state, str(printed(value))]

    def finish(self, state: list[str]) -> object:
        return "|".join(state)


class Squares:
    """A sum of squares that can go back, and counts what it is given."""

    given = 0

    def create(self) -> Fraction:
        return Fraction(0)

    def accumulate(self, state: Fraction, value: float) -> Fraction:
        Squares.given += 1
        return state + Fraction(value) ** 2

    def retract(self, state: Fraction, value: float) -> Fraction:
        Squares.given += 1
        return state - Fraction(value) ** 2

    def finish(self, state: Fraction) -> float | None:
        return float(state) if state < 10**6 else None


class Last:
    def create(self) -> None:
        return None

    def accumulate(self, state: object, value: object) -> object:
        return value

    def finish(self, state: object) -> object:
        return state


def user(implementation: type[Any], type_: Type) -> dict[str, object]:
    return {"parameter": UserAggregate(implementation.__name__.lower(), type_, implementation)}


def slow_user(call: Any, values: list[Any]) -> object:
    instance = call.parameter.implementation()
    state = instance.create()
    for value in values:
        state = instance.accumulate(state, value)
    return instance.finish(state)


SLOW[Function.USER] = slow_user
CALLS = [(Function.USER, c, user(Joined, STRING)) for c in (1, 5, 7)]
CALLS += [(Function.USER, 2, user(Last, BIGINT)), (Function.USER, 6, user(Last, decimal(38, 0))), (SUM, 3), (COUNT, None)]
CALLS += [(Function.USER, 9, user(Last, DATE)), (Function.USER, 0, user(Last, BOOLEAN)), (Function.STRING_AGG, 7)]
CALLS += [(Function.USER, 1, user(Squares, DOUBLE)), (Function.USER, 7, user(Last, STRING) | {"is_distinct": True})]


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**9), lifetimes=st.integers(0, 25), keys=st.sampled_from([(), (0,), (7, 5)]),
    cuts=st.sets(st.integers(-5, 20), max_size=6), restarts=st.booleans(),
)
def test_equals_the_slow_one(seed: int, lifetimes: int, keys: tuple[int, ...], cuts: set[int], restarts: bool) -> None:
    bench = Bench(MANY, keys, CALLS)
    changes = history(seed, lifetimes, 10, range(len(MANY)))
    begin = changes[0][0] if changes else None
    result, before = [], -100
    for now in [*sorted(cuts), 1000]:
        if restarts:
            bench.attach()
        part = [change for change in changes if before <= change[0] < now]
        result += bench.run(part, now, begin if begin is not None and begin < now else None)
        before = now
    assert by_instant(result) == by_instant(slow_changes(bench.spec, changes, begin))


def test_what_can_retract_is_given_only_the_changes() -> None:
    bench = Bench([DOUBLE], (), [(Function.USER, 0, user(Squares, DOUBLE))])
    bench.run([(1, (float(value),), 1) for value in range(100)], 2, 1)
    Squares.given = 0
    bench.run([(2, (5.0,), -1), (3, (200.0,), 1)], 4, 1)
    assert Squares.given == 2
    bench.attach()
    bench.run([(5, (5.0,), 1)], 6, 1)
    assert Squares.given == 2 + 101


def test_no_state_is_kept_of_groups_that_are_gone() -> None:
    bench = Bench([STRING, STRING], (0,), [(Function.USER, 1, user(Letters, INT))])
    chance = random.Random(1)
    for now in range(0, 60, 2):
        words = [f"{chance.randrange(10**9)}" for _ in range(3)]
        out = bench.run([(now, ("g", word), 1) for word in words], now + 1)
        assert out[-1][1] == ("g", sum(map(len, words)))
        bench.run([(now + 1, ("g", word), -1) for word in words], now + 2)
        bench.interner.sweep(at_once=True)


class Letters:
    def create(self) -> int:
        return 0

    def accumulate(self, state: int, value: str) -> int:
        return state + len(value)

    def retract(self, state: int, value: str) -> int:
        return state - len(value)

    def finish(self, state: int) -> int:
        return state


class Inverse(Last):
    def finish(self, state: Any) -> float:
        return 1 / state


def test_a_failure_is_null_and_counted() -> None:
    bench = Bench([INT], (), [(Function.USER, 0, user(Inverse, DOUBLE))])
    out = bench.run([(1, (0,), 1), (2, (0,), -1), (2, (4,), 1)], 9, 1)
    assert out == [(1, (None,), 1), (2, (None,), -1), (2, ("double 0.25",), 1)]
    ((reason, count, example),) = bench.failures.items()
    assert reason == "aggregate inverse: ZeroDivisionError: division by zero"
    assert (count, example) == (1, 0)


def test_a_result_of_another_type_is_a_failure() -> None:
    bench = Bench([INT], (), [(Function.USER, 0, user(Last, DATE)), (Function.USER, 0, user(Last, STRING))])
    (change,) = bench.run([(1, (4,), 1)], 9, 1)
    assert change[1][1] is None and bench.failures.total >= 1


def test_all_types_of_results() -> None:
    bench = Bench(
        [decimal(30, 3), DATE, STRING], (),
        [(Function.USER, c, user(Last, t)) for c, t in enumerate([decimal(38, 3), DATE, STRING])],
    )
    (change,) = bench.run([(1, (Decimal("-1.125"), datetime.date(1960, 2, 3), ""), 1)], 2, 1)
    assert change[1] == (printed(Decimal("-1.125")), datetime.date(1960, 2, 3), "")


def test_a_class_needs_its_methods() -> None:
    class Half:
        def create(self) -> int:
            return 0

    with pytest.raises(SashError, match='aggregate "half" has no accumulate, finish'):
        UserAggregate("half", INT, Half)


class Texts:
    """The values in their order, which parts keep; it counts what it is given."""

    given = 0

    def create(self) -> tuple[str, ...]:
        return ()

    def accumulate(self, state: tuple[str, ...], value: object) -> tuple[str, ...]:
        Texts.given += 1
        return (*state, str(value))

    def merge(self, state: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
        return state + other

    def finish(self, state: tuple[str, ...]) -> str:
        return "|".join(state)


def test_what_can_be_merged_is_accumulated_only_where_it_changed() -> None:
    bench = Bench([BIGINT], (), [(Function.USER, 0, user(Texts, STRING))])
    values = list(range(0, 5000, 5))
    bench.run([(1, (value,), 1) for value in values], 2, 1)
    Texts.given = 0
    for step, value in enumerate((7, 2500, 4999)):
        sign = -1 if value in values else 1
        (_, new) = bench.run([(step + 2, (value,), sign)], step + 3, 1)
        values = sorted({*values} ^ {value})
        assert "|".join(map(str, values)) in str(new)
    assert Texts.given < len(values)  # three times all of them, were nothing known


def test_merging_changes_no_result() -> None:
    whole = Bench([BIGINT, STRING], (0,), [(Function.USER, 1, user(Joined, STRING))])
    parts = Bench([BIGINT, STRING], (0,), [(Function.USER, 1, user(Texts, STRING))])
    chance = random.Random(5)
    live: list[tuple[int, str]] = []
    for now in range(60):
        gone = [live.pop(chance.randrange(len(live))) for _ in range(min(len(live), chance.randrange(4)))]
        come = [(chance.randrange(2), f"{chance.randrange(300)}") for _ in range(8)]
        live += come
        changes = [(now, row, -1) for row in gone] + [(now, row, 1) for row in come]
        assert by_instant(whole.run(changes, now + 1, 0)) == by_instant(parts.run(changes, now + 1, 0))
