"""The first instant of a count or a period: right there, and wrong a microsecond before."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from sash.scalar import build
from sash.scalar.evaluate import evaluate
from sash.scalar.failures import Failures
from sash.scalar.functions.instants import FARTHEST
from sash.scalar.nodes import Column, Literal
from sash.schema import BEGINNING, BIGINT, DOUBLE, END, STRING, Type, decimal

EPOCH = datetime(1970, 1, 1)
WHOLE = [0, 1, -1, 3, 10**6, -(10**12), 2**53, 2**53 + 1, -(2**53) - 2, 10**17, 2**62, -(2**62), 2**63 - 1, -(2**63)]
BROKEN = [Decimal(number) for number in ("0.5", "-0.5", "2.0000000001", "-7.0000000001", "18446744073709551614", "-1E27", "1E27")]
ROUGH = [0.0, -0.0, 0.5, -0.5, 1e300, -1e300, float("inf"), -float("inf"), 9007199254740993.0, 1.7e15, 123456789012345680.0, -1e17, 2.0**57]


def found(function: str, values: list[Any], type_: Type, parameter: Literal) -> list[int | None]:
    call = build.call(function, [Column(0, type_, "x"), parameter])
    failures = Failures()
    result: list[int | None] = evaluate(call, {0: pa.array(values, type_.arrow)}, len(values), failures).to_pylist()
    assert not failures.items()
    return result


def check(values: list[Any], type_: Type, as_number: Callable[[int], Any]) -> None:
    """Of all instants in the calendar, those from the one that was found on have that many units, and none before."""
    for unit in (1, 1000, 1_000_000, 86_400_000_000):
        for function, holds in (("count_from", lambda n, x: n >= x), ("count_after", lambda n, x: n > x)):
            for value, instant in zip(values, found(function, values, type_, Literal(unit, BIGINT)), strict=True):
                assert instant is not None and abs(instant) < 2**62 + 2**60  # so that a shift does not overflow
                first, before = (min(max(at, BEGINNING), END) // unit for at in (instant, instant - 1))
                assert holds(as_number(first), value) or instant >= END, (function, unit, value)
                assert not holds(as_number(before), value) or instant <= BEGINNING, (function, unit, value)


def test_counts() -> None:
    check(WHOLE, BIGINT, int)
    check([value for value in WHOLE if abs(value) < 10**28], decimal(38, 10), Decimal)
    check(BROKEN, decimal(38, 10), Decimal)
    check(ROUGH, DOUBLE, float)
    chance = random.Random(1)
    check([chance.uniform(-1, 1) * 10.0 ** chance.randint(0, 18) for _ in range(300)], DOUBLE, float)


def test_nothing_and_not_a_number() -> None:
    one = Literal(1, BIGINT)
    assert found("count_from", [None], BIGINT, one) == found("count_after", [None], decimal(38, 10), one) == [None]
    nothing, large = found("count_from", [None, float("nan")], DOUBLE, one)
    assert nothing is None and large is not None and large > END  # more than any number


@pytest.mark.parametrize("unit", ["second", "minute", "hour", "day", "week", "month", "quarter", "year"])
def test_periods(unit: str) -> None:
    chance = random.Random(2)
    moments = [EPOCH + timedelta(microseconds=chance.randrange(-(10**16), 10**17)) for _ in range(100)]
    moments += [datetime(2024, 1, 1), datetime(2024, 4, 1), datetime(1969, 12, 29), datetime(9999, 12, 31, 23, 59, 59, 999999)]
    instants = [(moment - EPOCH) // timedelta(microseconds=1) for moment in moments]
    starts = pc.floor_temporal(pa.array(instants, pa.timestamp("us")), unit=unit).cast(pa.int64()).to_pylist()
    after = found("period_after", instants, BIGINT, Literal(unit, STRING))
    for instant, start, following in zip(instants, starts, after, strict=True):
        assert following is not None and start <= instant < following
        if following < END:
            ends = pa.array([following - 1, following], pa.timestamp("us"))
            assert pc.floor_temporal(ends, unit=unit).cast(pa.int64()).to_pylist() == [start, following]
    same = found("period_from", instants, BIGINT, Literal(unit, STRING))
    expected = [i if i == s else a for i, s, a in zip(instants, starts, after, strict=True)]
    assert same == expected
    late, early = found("period_from", [FARTHEST, -FARTHEST], BIGINT, Literal(unit, STRING))
    assert late is not None and late > END and early is not None and early < BEGINNING
