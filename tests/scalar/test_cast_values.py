"""CAST among all types, checked against Spark SQL 4 (with failures as NULL), the fast way and the slow way."""

from __future__ import annotations

import datetime
import math
from decimal import Context, Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sash.errors import SashError
from sash.scalar.cast import try_cast

INT, BIGINT, DOUBLE, STRING, BOOLEAN = pa.int32(), pa.int64(), pa.float64(), pa.string(), pa.bool_()
TIMESTAMP, DATE = pa.timestamp("us"), pa.date32()


def money(precision: int = 5, scale: int = 2) -> pa.DataType:
    return pa.decimal128(precision, scale)


def at(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text)


def on(text: str) -> datetime.date:
    return datetime.date.fromisoformat(text)


FAILS = "fails"

CASES = [
    # value, from, to, answer
    ("15", STRING, INT, 15),
    (" 15 ", STRING, INT, 15),
    ("+15", STRING, INT, 15),
    ("-0007", STRING, BIGINT, -7),
    ("1.5", STRING, INT, FAILS),
    ("1e3", STRING, INT, FAILS),
    ("0x1F", STRING, INT, FAILS),
    ("", STRING, INT, FAILS),
    ("2147483648", STRING, INT, FAILS),
    ("9223372036854775807", STRING, BIGINT, 2**63 - 1),
    ("-9223372036854775808", STRING, BIGINT, -(2**63)),
    ("9223372036854775808", STRING, BIGINT, FAILS),
    ("9" * 50, STRING, BIGINT, FAILS),
    ("1e3", STRING, DOUBLE, 1000.0),
    (".5", STRING, DOUBLE, 0.5),
    ("5.", STRING, DOUBLE, 5.0),
    (" +1.5d ", STRING, DOUBLE, 1.5),
    ("inf", STRING, DOUBLE, math.inf),
    ("-Infinity", STRING, DOUBLE, -math.inf),
    ("1e999", STRING, DOUBLE, math.inf),
    ("abc", STRING, DOUBLE, FAILS),
    ("0x10", STRING, DOUBLE, FAILS),
    ("1.005", STRING, money(), Decimal("1.01")),
    ("-1.005", STRING, money(), Decimal("-1.01")),
    ("1.004999", STRING, money(), Decimal("1.00")),
    ("1e2", STRING, money(), Decimal("100.00")),
    ("1e3", STRING, money(), FAILS),
    ("999.995", STRING, money(), FAILS),
    ("1e-30", STRING, money(), Decimal("0.00")),
    ("0" * 60 + "1.5", STRING, money(), Decimal("1.50")),
    ("0." + "3" * 60, STRING, pa.decimal128(38, 38), Decimal("0." + "3" * 38)),
    ("9" * 38, STRING, pa.decimal128(38, 0), Decimal("9" * 38)),
    (".", STRING, money(), FAILS),
    ("TRUE ", STRING, BOOLEAN, True),
    ("y", STRING, BOOLEAN, True),
    ("0", STRING, BOOLEAN, False),
    ("on", STRING, BOOLEAN, FAILS),
    ("2013-01-01 05:15:00", STRING, TIMESTAMP, at("2013-01-01 05:15")),
    ("2013-01-01T10:00:00Z", STRING, TIMESTAMP, at("2013-01-01 10:00")),
    ("2013-01-01 05", STRING, TIMESTAMP, at("2013-01-01 05:00")),
    ("2013-1-1 5:15", STRING, TIMESTAMP, at("2013-01-01 05:15")),
    (" 2013-01-01T05:15:00.1234567Z ", STRING, TIMESTAMP, at("2013-01-01 05:15:00.123456")),
    ("2013-01-01 05:15:00.1", STRING, TIMESTAMP, at("2013-01-01 05:15:00.1")),
    ("2013-01-01 05:15:00.", STRING, TIMESTAMP, at("2013-01-01 05:15")),
    ("2013-01-01 05:15:00+01:00", STRING, TIMESTAMP, at("2013-01-01 04:15")),
    ("2013-01-01 05:15:00 -0130", STRING, TIMESTAMP, at("2013-01-01 06:45")),
    ("2013-01-01 05:15:00 UTC", STRING, TIMESTAMP, at("2013-01-01 05:15")),
    ("2013", STRING, TIMESTAMP, at("2013-01-01")),
    ("2013-02", STRING, TIMESTAMP, at("2013-02-01")),
    ("1960-02-29 00:00:00.000001", STRING, TIMESTAMP, at("1960-02-29 00:00:00.000001")),
    ("2013-02-29", STRING, TIMESTAMP, FAILS),
    ("2013-01-01 24:00:00", STRING, TIMESTAMP, FAILS),
    ("2013-01-01 05:15:", STRING, TIMESTAMP, FAILS),
    ("1713484784", STRING, TIMESTAMP, FAILS),
    ("0000-01-01", STRING, TIMESTAMP, FAILS),
    ("", STRING, TIMESTAMP, FAILS),
    ("2013-01-01", STRING, DATE, on("2013-01-01")),
    ("2013-1-1 xyz", STRING, DATE, on("2013-01-01")),
    ("2013", STRING, DATE, on("2013-01-01")),
    ("20130101", STRING, DATE, FAILS),
    ("0000-01-01", STRING, DATE, FAILS),
    (2**31, BIGINT, INT, FAILS),
    (7, BIGINT, INT, 7),
    (2**31 - 1, INT, BIGINT, 2**31 - 1),
    (2**63 - 1, BIGINT, DOUBLE, float(2**63)),
    (1000, BIGINT, money(), FAILS),
    (-999, INT, money(), Decimal("-999.00")),
    (1713484784, BIGINT, TIMESTAMP, at("2024-04-18 23:59:44")),
    (2**62, BIGINT, TIMESTAMP, FAILS),
    (0, INT, BOOLEAN, False),
    (5, INT, STRING, "5"),
    (-1.7, DOUBLE, INT, -1),
    (3e9, DOUBLE, INT, FAILS),
    (3e9, DOUBLE, BIGINT, 3 * 10**9),
    (float(2**63), DOUBLE, BIGINT, FAILS),
    (math.nan, DOUBLE, INT, FAILS),
    (math.nan, DOUBLE, BOOLEAN, True),
    (1.005, DOUBLE, money(), Decimal("1.01")),
    (2.675, DOUBLE, money(), Decimal("2.68")),
    (1e20, DOUBLE, pa.decimal128(38, 10), Decimal("100000000000000000000.0000000000")),
    (999.996, DOUBLE, money(), FAILS),
    (math.inf, DOUBLE, money(), FAILS),
    (1713484784.962686, DOUBLE, TIMESTAMP, at("2024-04-18 23:59:44.962686")),
    (math.nan, DOUBLE, TIMESTAMP, FAILS),
    (1e300, DOUBLE, TIMESTAMP, FAILS),
    (1.0, DOUBLE, STRING, "1.0"),
    (0.001, DOUBLE, STRING, "0.001"),
    (0.00012, DOUBLE, STRING, "1.2E-4"),
    (1e7, DOUBLE, STRING, "1.0E7"),
    (12345678.5, DOUBLE, STRING, "1.23456785E7"),
    (-9.999e22, DOUBLE, STRING, "-9.999E22"),
    (-0.0, DOUBLE, STRING, "-0.0"),
    (1 / 3, DOUBLE, STRING, "0.3333333333333333"),
    (math.nan, DOUBLE, STRING, "NaN"),
    (-math.inf, DOUBLE, STRING, "-Infinity"),
    (Decimal("1.70"), money(), INT, 1),
    (Decimal("-1.75"), money(), INT, -1),
    (Decimal(2**63), pa.decimal128(20, 0), BIGINT, FAILS),
    (Decimal("0.3"), money(), DOUBLE, 0.3),
    (Decimal("123456789.123456789"), pa.decimal128(28, 9), DOUBLE, 123456789.123456789),
    (Decimal("-1.75"), money(), pa.decimal128(2, 1), Decimal("-1.8")),
    (Decimal("9.95"), money(), pa.decimal128(2, 1), FAILS),
    (Decimal("2.50"), money(), STRING, "2.50"),
    (Decimal("0.0000000001"), pa.decimal128(20, 10), STRING, "0.0000000001"),
    (Decimal("0"), pa.decimal128(20, 10), STRING, "0.0000000000"),
    (Decimal("1713484784.962686"), pa.decimal128(20, 6), TIMESTAMP, at("2024-04-18 23:59:44.962686")),
    (Decimal("-0.5000009"), pa.decimal128(20, 7), TIMESTAMP, at("1969-12-31 23:59:59.5")),
    (Decimal("0.5"), money(), BOOLEAN, True),
    (True, BOOLEAN, INT, 1),
    (True, BOOLEAN, money(), Decimal("1.00")),
    (False, BOOLEAN, STRING, "false"),
    (at("1969-12-31 23:59:59.5"), TIMESTAMP, BIGINT, -1),
    (at("0001-01-01"), TIMESTAMP, INT, FAILS),
    (at("1969-12-31 23:59:59.5"), TIMESTAMP, DOUBLE, -0.5),
    (at("1969-12-31 23:59:59.5"), TIMESTAMP, pa.decimal128(20, 6), Decimal("-0.500000")),
    (at("1969-12-31 23:59:59.5"), TIMESTAMP, DATE, on("1969-12-31")),
    (at("2020-01-01 00:00:00.12"), TIMESTAMP, STRING, "2020-01-01 00:00:00.12"),
    (at("2020-01-01 10:00:00"), TIMESTAMP, STRING, "2020-01-01 10:00:00"),
    (at("0001-01-01"), TIMESTAMP, STRING, "0001-01-01 00:00:00"),
    (on("1969-12-31"), DATE, TIMESTAMP, at("1969-12-31")),
    (on("1969-12-31"), DATE, STRING, "1969-12-31"),
]

Case = tuple[object, pa.DataType, pa.DataType, object]


def named(case: Case) -> str:
    return f"{case[0]!r} to {case[2]}"[:60]


def check(array: pa.Array, target: pa.DataType, place: int, answer: object) -> None:
    result, failed = try_cast(array, target)
    assert result.type == target
    assert failed.type == pa.bool_()
    assert len(result) == len(failed) == len(array)
    assert failed[place].as_py() is (answer == FAILS)
    assert repr(result[place].as_py()) == repr(None if answer == FAILS else answer)


@pytest.mark.parametrize("case", CASES, ids=named)
def test_alone(case: Case) -> None:
    given_value, source, target, answer = case
    check(pa.array([given_value], source), target, 0, answer)


@pytest.mark.parametrize("case", CASES, ids=named)
def test_beside_null_in_the_middle_of_an_array(case: Case) -> None:
    given_value, source, target, answer = case
    array = pa.array([None, None, given_value, None], source).slice(1)
    check(array, target, 1, answer)
    result, failed = try_cast(array, target)
    assert result.is_null().to_pylist()[::2] == [True, True]
    assert failed.to_pylist()[::2] == [False, False]


@pytest.mark.parametrize("case", [case for case in CASES if case[1] == STRING], ids=named)
def test_beside_a_value_that_forces_the_slow_way(case: Case) -> None:
    given_value, source, target, answer = case
    array = pa.array([given_value, "?"], source)
    check(array, target, 0, answer)
    check(array, target, 1, FAILS)


@pytest.mark.parametrize("case", CASES, ids=named)
def test_of_nothing(case: Case) -> None:
    _, source, target, _ = case
    result, failed = try_cast(pa.array([], source), target)
    assert (len(result), result.type, len(failed)) == (0, target, 0)


def test_to_its_own_type_is_the_same_array() -> None:
    array = pa.array([1, None])
    assert try_cast(array, BIGINT)[0] is array


def test_other_arrow_types_that_mean_the_same() -> None:
    assert try_cast(pa.array([1], pa.int8()), BIGINT)[0].to_pylist() == [1]
    assert try_cast(pa.array([2**64 - 1], pa.uint64()), BIGINT)[1].to_pylist() == [True]
    assert try_cast(pa.array([1.5], pa.float32()), DOUBLE)[0].to_pylist() == [1.5]
    assert try_cast(pa.array(["1"], pa.large_string()), INT)[0].to_pylist() == [1]
    assert try_cast(pa.array(["1", "1"]).dictionary_encode(), INT)[0].to_pylist() == [1, 1]
    assert try_cast(pa.chunked_array([["1"], ["2"]]), INT)[0].to_pylist() == [1, 2]
    assert try_cast(pa.nulls(2), INT)[0].to_pylist() == [None, None]
    zoned = pa.array([0], pa.timestamp("ms", "Europe/Paris"))
    assert try_cast(zoned, TIMESTAMP)[0].to_pylist() == [at("1970-01-01")]
    fine = pa.array([-1], pa.timestamp("ns"))
    assert try_cast(fine, TIMESTAMP)[0].to_pylist() == [at("1969-12-31 23:59:59.999999")]


def test_types_that_cannot_be_cast() -> None:
    with pytest.raises(SashError, match="INT cannot be cast to DATE"):
        try_cast(pa.array([1], INT), DATE)
    with pytest.raises(SashError, match="ARRAY cannot be cast to INT"):
        try_cast(pa.array([[1]]), INT)
    with pytest.raises(SashError, match="Arrow type struct"):
        try_cast(pa.array([{"a": 1}]), INT)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats() | st.none(), max_size=20))
def test_doubles_print_and_read_back(values: list[float | None]) -> None:
    texts, _ = try_cast(pa.array(values, DOUBLE), STRING)
    back, failed = try_cast(texts, DOUBLE)
    assert repr(back.to_pylist()) == repr(pa.array(values, DOUBLE).to_pylist())
    assert not any(failed.to_pylist())


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-1e12, 1e12) | st.none(), max_size=20), st.integers(0, 12))
def test_doubles_become_the_decimals_that_they_print_as(values: list[float | None], scale: int) -> None:
    result, _ = try_cast(pa.array(values, DOUBLE), pa.decimal128(30, scale))
    unit, context = Decimal(1).scaleb(-scale), Context(prec=60)
    exact = [None if value is None else Decimal(repr(value)) for value in values]
    assert result.to_pylist() == [v if v is None else v.quantize(unit, "ROUND_HALF_UP", context) for v in exact]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.datetimes() | st.none(), max_size=20))
def test_timestamps_print_and_read_back(values: list[datetime.datetime | None]) -> None:
    texts, _ = try_cast(pa.array(values, TIMESTAMP), STRING)
    assert try_cast(texts, TIMESTAMP)[0].to_pylist() == values
    slow = pa.concat_arrays([texts, pa.array(["?"])])
    assert try_cast(slow, TIMESTAMP)[0].to_pylist() == [*values, None]
