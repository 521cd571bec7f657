"""Random columns through our functions and through DuckDB, where the two dialects agree."""

from __future__ import annotations

import datetime
import math
import random
from decimal import Context, Decimal

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scalar_expressions import call, run

from sash.scalar import build
from sash.scalar.nodes import Column, Expression
from sash.schema import BIGINT, BOOLEAN, DATE, DOUBLE, STRING, TIMESTAMP, Schema, decimal, schema

SCHEMA: Schema = schema(
    ("a", BIGINT), ("b", BIGINT), ("x", DOUBLE), ("y", DOUBLE), ("s", STRING), ("r", STRING),
    ("p", BOOLEAN), ("q", BOOLEAN), ("m", decimal(12, 2)), ("t", TIMESTAMP), ("d", DATE),
)  # fmt: skip
A, B, X, Y, S, R, P, Q, M, T, D = (Column(i, f.type, f.name) for i, f in enumerate(SCHEMA.fields))


def rows(count: int = 500, seed: int = 7) -> pa.Table:
    chance = random.Random(seed)

    def column(make: object) -> list[object]:
        return [None if chance.random() < 0.1 else make() for _ in range(count)]  # type: ignore[operator]

    texts = ["", "a", "ab", "abc", "Ünï", "a b c", "hello world", "a%b", "12", "x,y,z"]
    start = datetime.datetime(1950, 1, 1)
    makers = [
        lambda: chance.randint(-20, 20), lambda: chance.randint(-3, 3),
        lambda: chance.choice([0.0, -0.0, 1.5, -2.5, math.nan, math.inf, chance.uniform(-100, 100)]),
        lambda: chance.choice([0.0, 1.0, math.nan, chance.uniform(-100, 100)]),
        lambda: chance.choice(texts), lambda: chance.choice(texts),
        lambda: chance.random() < 0.5, lambda: chance.random() < 0.5,
        lambda: Decimal(chance.randint(-(10**6), 10**6)).scaleb(-2),
        lambda: start + datetime.timedelta(microseconds=chance.randint(0, 4 * 10**15)),
        lambda: (start + datetime.timedelta(days=chance.randint(0, 40_000))).date(),
    ]  # fmt: skip
    return pa.table([column(make) for make in makers], schema=SCHEMA.arrow)


PAIRS: list[tuple[Expression, str]] = [
    (call("add", A, B), "a + b"),
    (call("multiply", A, B), "a * b"),
    (call("divide", A, B), "CASE WHEN b <> 0 THEN a / b END"),
    (call("div", A, B), "CASE WHEN b <> 0 THEN a // b END"),
    (call("mod", A, B), "CASE WHEN b <> 0 THEN a % b END"),
    (call("add", M, M), "m + m"),
    (call("subtract", M, A), "CAST(m - a AS DECIMAL(23, 2))"),
    (call("multiply", M, M), "CAST(m * m AS DECIMAL(25, 4))"),
    (call("multiply", X, Y), "x * y"),
    (call("abs", A), "abs(a)"),
    (call("floor", M), "CAST(floor(m) AS DECIMAL(11, 0))"),
    (call("round", M, 1), "CAST(round(m, 1) AS DECIMAL(12, 1))"),
    (call("equal", X, Y), "x = y"),
    (call("not_equal", X, Y), "x <> y"),
    (call("less", X, Y), "x < y"),
    (call("less_equal", X, Y), "x <= y"),
    (call("greater", X, Y), "x > y"),
    (call("greater_equal", X, Y), "x >= y"),
    (call("null_safe_equal", X, Y), "x IS NOT DISTINCT FROM y"),
    (call("less", S, R), "s < r"),
    (call("greater", M, A), "m > a"),
    (call("less", D, T), "d < t"),
    (call("greatest", X, Y), "greatest(x, y)"),
    (call("least", X, Y), "least(x, y)"),
    (call("greatest", S, R, "ab"), "greatest(s, r, 'ab')"),
    (call("between", A, B, 5), "a BETWEEN b AND 5"),
    (call("in", A, 1, 2, None), "a IN (1, 2, NULL)"),
    (call("in", A, B, 3), "a IN (b, 3)"),
    (call("in", S, "a", "ab"), "s IN ('a', 'ab')"),
    (call("in", X, Y, 1.5), "x IN (y, 1.5::DOUBLE)"),
    (call("and", P, Q), "p AND q"),
    (call("or", P, Q), "p OR q"),
    (call("not", P), "NOT p"),
    (call("is_true", P), "p IS TRUE"),
    (call("is_false", P), "p IS FALSE"),
    (call("case", P, A, Q, B, 0), "CASE WHEN p THEN a WHEN q THEN b ELSE 0 END"),
    (call("if", P, S, R), "CASE WHEN p THEN s ELSE r END"),
    (call("coalesce", A, B, -1), "coalesce(a, b, -1)"),
    (call("nullif", A, B), "nullif(a, b)"),
    (call("concat", S, "-", R), "s || '-' || r"),
    (call("upper", S), "upper(s)"),
    (call("length", S), "CAST(length(s) AS INTEGER)"),
    (call("reverse", S), "reverse(s)"),
    (call("instr", S, R), "CAST(instr(s, r) AS INTEGER)"),
    (call("startswith", S, R), "starts_with(s, r)"),
    (call("contains", S, R), "contains(s, r)"),
    (call("endswith", S, R), "suffix(s, r)"),
    (call("replace", S, "a", R), "replace(s, 'a', r)"),
    (call("like", S, "a%b"), "s LIKE 'a%b'"),
    (call("like", S, R), "s LIKE r"),
    (call("rlike", S, "[a-c]+ ?[b-d]"), "regexp_matches(s, '[a-c]+ ?[b-d]')"),
    (call("split_part", S, ",", 2), "split_part(s, ',', 2)"),
    (call("trim", S), "trim(s)"),
    (call("year", T), "CAST(year(t) AS INTEGER)"),
    (call("quarter", D), "CAST(quarter(d) AS INTEGER)"),
    (call("month", D), "CAST(month(d) AS INTEGER)"),
    (call("dayofyear", D), "CAST(dayofyear(d) AS INTEGER)"),
    (call("weekofyear", D), "CAST(weekofyear(d) AS INTEGER)"),
    (call("hour", T), "CAST(hour(t) AS INTEGER)"),
    (call("second", T), "CAST(second(t) AS INTEGER)"),
    (call("date_trunc", "week", T), "CAST(date_trunc('week', t) AS TIMESTAMP)"),
    (call("date_trunc", "quarter", T), "CAST(date_trunc('quarter', t) AS TIMESTAMP)"),
    (call("date_trunc", "minute", T), "date_trunc('minute', t)"),
    (call("datediff", D, build.cast(T, DATE)), "CAST(date_diff('day', CAST(t AS DATE), d) AS INTEGER)"),
    (call("last_day", D), "last_day(d)"),
    (call("add_months", D, 7), "CAST(d + INTERVAL 7 MONTH AS DATE)"),
    (call("unix_micros", T), "epoch_us(t)"),
    (build.cast(A, STRING), "CAST(a AS VARCHAR)"),
    (build.cast(M, STRING), "CAST(m AS VARCHAR)"),
    (build.cast(T, DATE), "CAST(t AS DATE)"),
    (build.cast(D, TIMESTAMP), "CAST(d AS TIMESTAMP)"),
    (build.cast(M, DOUBLE), "CAST(CAST(m AS VARCHAR) AS DOUBLE)"),
    (build.cast(S, BIGINT, try_=True), "CASE WHEN s = '12' THEN 12 END"),
]


@pytest.fixture(scope="module")
def answers() -> pa.Table:
    given_rows = rows()  # noqa: F841 (DuckDB finds it by its name)
    chosen = ", ".join(f"{sql} AS c{place}" for place, (_, sql) in enumerate(PAIRS))
    return duckdb.sql(f"SELECT {chosen} FROM given_rows").to_arrow_table()


@pytest.mark.parametrize("place", range(len(PAIRS)), ids=[sql for _, sql in PAIRS])
def test_as_duckdb(answers: pa.Table, place: int) -> None:
    expression, _ = PAIRS[place]
    table = rows()
    columns = {index: column.combine_chunks() for index, column in enumerate(table.columns)}
    values, _ = run(expression, len(table), columns)
    expected = answers.column(place).cast(expression.type.arrow).to_pylist()
    assert _plain(values) == _plain(expected)


def _plain(values: list[object]) -> list[str]:
    """NaN equals NaN, and the sign of a zero or of NaN is nobody's business."""
    return ["0.0" if repr(value) == "-0.0" else repr(value) for value in values]


DIGITS = st.integers(-(10**25) + 1, 10**25 - 1)
DECIMALS = st.builds(lambda digits, scale: Decimal(digits).scaleb(-scale), DIGITS, st.integers(0, 20))


@settings(max_examples=80, deadline=None)
@given(DECIMALS, DECIMALS, st.sampled_from(["add", "subtract", "multiply", "divide"]))
def test_decimals_are_exact_and_rounded_once(left: Decimal, right: Decimal, operation: str) -> None:
    if operation == "divide" and right == 0:
        right = Decimal(1)
    expression = call(operation, left, right)
    values, failures = run(expression, 1)
    context = Context(prec=120)
    unit = Decimal(1).scaleb(-expression.type.scale)
    expected = getattr(context, operation)(left, right).quantize(unit, "ROUND_HALF_UP", context)
    if abs(expected) >= Decimal(10) ** (expression.type.precision - expression.type.scale):
        assert (values, failures.total) == ([None], 1)
    else:
        assert (values, failures.total) == ([expected], 0)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=10), st.integers(-5, 8))
def test_doubles_round_as_they_print(values: list[float], digits: int) -> None:
    result, _ = run(call("round", Column(0, DOUBLE, "x"), digits), len(values), {0: pa.array(values, pa.float64())})
    unit, context = Decimal(1).scaleb(-digits), Context(prec=700)
    assert result == [float(Decimal(repr(v)).quantize(unit, "ROUND_HALF_UP", context)) for v in values]
