"""Types of expressions, the casts that are put in, and mistakes said with a way out."""

from __future__ import annotations

import datetime

import pytest
from scalar_expressions import big, call, day, exact, literal, ts, typed

from sash.errors import BadLiteral, SashError
from sash.scalar import build
from sash.scalar.nodes import Call, Column, Literal
from sash.schema import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, Type, decimal

PRICE = Column(0, decimal(10, 2), "price")
NAME = Column(1, STRING, "name")
AT = Column(2, TIMESTAMP, "at")
COUNT = Column(3, INT, "count")
TOTAL = Column(4, BIGINT, "total")


@pytest.mark.parametrize(
    ("types", "common"),
    [
        ([INT, INT], INT),
        ([INT, BIGINT], BIGINT),
        ([BIGINT, DOUBLE], DOUBLE),
        ([INT, decimal(3, 1)], decimal(11, 1)),
        ([BIGINT, decimal(3, 1)], decimal(21, 1)),
        ([decimal(10, 2), decimal(12, 5)], decimal(13, 5)),
        ([decimal(38, 0), decimal(38, 38)], decimal(38, 0)),
        ([decimal(5, 2), DOUBLE], DOUBLE),
        ([DATE, TIMESTAMP], TIMESTAMP),
        ([STRING, INT], STRING),
        ([STRING, DATE, INT], STRING),
        ([BOOLEAN], BOOLEAN),
    ],
)
def test_common_type(types: list[Type], common: Type) -> None:
    assert build.common_type(types) == common
    assert build.common_type(types[::-1]) == common


@pytest.mark.parametrize(
    ("left", "right", "common"),
    [(STRING, INT, BIGINT), (STRING, decimal(5, 2), DOUBLE), (STRING, DATE, DATE), (STRING, BOOLEAN, BOOLEAN)],
)
def test_comparison_type(left: Type, right: Type, common: Type) -> None:
    assert build.comparison_type(left, right) == build.comparison_type(right, left) == common


def test_no_common_type() -> None:
    with pytest.raises(SashError, match="BOOLEAN and INT have no type in common; use CAST"):
        build.common_type([BOOLEAN, INT])


def test_a_text_constant_is_cast_once_when_built() -> None:
    compared = call("greater", AT, "2020-01-02 03:04:05")
    assert compared == Call("greater", (AT, ts("2020-01-02 03:04:05")), BOOLEAN)
    assert call("equal", TOTAL, "12") == Call("equal", (TOTAL, big(12)), BOOLEAN)


def test_columns_are_cast_where_types_differ() -> None:
    assert call("add", COUNT, TOTAL) == Call("add", (Call("cast", (COUNT,), BIGINT), TOTAL), BIGINT)
    assert str(call("concat", NAME, COUNT)) == "concat(name, cast(count))"


def test_names_of_one_function_give_equal_plans() -> None:
    assert call("ceiling", PRICE) == call("ceil", PRICE)
    assert call("UPPER", NAME) == call("upper", NAME)


def test_decimals_keep_what_spark_keeps() -> None:
    assert call("multiply", PRICE, COUNT).type == decimal(21, 2)
    assert call("multiply", PRICE, 2).type == decimal(12, 2)
    assert call("divide", PRICE, TOTAL).type == decimal(31, 23)
    assert call("add", exact("1", 38, 10), exact("1", 38, 2)).type == decimal(38, 6)
    assert call("mod", PRICE, exact("1", 5, 3)).type == decimal(5, 3)
    assert call("add", PRICE, None).type == decimal(11, 2)


def test_null_takes_the_type_of_the_others() -> None:
    assert call("case", True, None, False, COUNT).type == INT
    assert call("if", True, None, None).type == STRING
    assert [e.type for e in build.unify([literal(None), COUNT, TOTAL])] == [BIGINT] * 3
    assert build.null(DATE) == Literal(None, DATE)


def test_cast() -> None:
    assert build.cast(COUNT, INT) is COUNT
    assert build.cast(COUNT, BIGINT) == Call("cast", (COUNT,), BIGINT)
    assert build.cast(COUNT, BIGINT, try_=True) == Call("try_cast", (COUNT,), BIGINT)
    assert build.cast(literal("2020-01-01"), DATE) == Literal(datetime.date(2020, 1, 1), DATE)
    with pytest.raises(BadLiteral, match="'x' is not a value of the type INT"):
        build.cast(literal("x"), INT)
    assert build.cast(literal("x"), INT, try_=True) == build.null(INT)
    assert build.cast(literal(None), INT) == build.null(INT)
    with pytest.raises(SashError, match="INT cannot be cast to DATE"):
        build.cast(COUNT, DATE)
    with pytest.raises(SashError, match="TIMESTAMP cannot be cast to BOOLEAN"):
        build.cast(AT, BOOLEAN)


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("uper", (NAME,), 'unknown function "uper"; did you mean "upper"?'),
        ("zzzz", (), 'unknown function "zzzz"'),
        ("add", (True, 1), "add(BOOLEAN, INT) does not exist; add takes two numbers"),
        ("add", (1,), "add(INT) does not exist; add takes two numbers"),
        ("add", (AT, 1), "add(TIMESTAMP, INT) does not exist; add takes two numbers"),
        ("div", (1.5, 1), "div(DOUBLE, INT) does not exist; div takes two integers or DECIMALs"),
        ("not", (1,), "not(INT) does not exist; not takes a BOOLEAN"),
        ("and", (True, NAME), "and(BOOLEAN, STRING) does not exist; and takes two or more BOOLEANs"),
        ("equal", (True, 1),
         "equal(BOOLEAN, INT) is not possible: BOOLEAN and INT have no type in common; use CAST on one of them"),
        ("upper", (), "upper() does not exist; upper takes a text"),
        ("left", (NAME,), "left(STRING) does not exist; left takes a text and a length"),
        ("hour", (COUNT,), "hour(INT) does not exist; hour takes a TIMESTAMP"),
        ("round", (PRICE, COUNT),
         "round(DECIMAL(10, 2), INT) is not possible: the number of digits must be a constant; write it as a number"),
        ("rlike", (NAME, "(("),
         'rlike(STRING, STRING) is not possible: "((" is not a pattern: '
         "missing ), unterminated subpattern at position 1"),
        ("like", (NAME, "a\\b"),
         'like(STRING, STRING) is not possible: "a\\b" is not a pattern: '
         'the escape "\\" may only stand before %, _ and itself'),
        ("regexp_extract", (NAME, r"\d+", 1),
         'regexp_extract(STRING, STRING, INT) is not possible: "\\d+" is not a pattern: it has no group 1'),
        ("date_part", ("foo", AT),
         'date_part(STRING, TIMESTAMP) is not possible: "foo" is not a part of a date or time; parts are: year, '
         "yearofweek, quarter, month, week, day, dayofweek, dayofweek_iso, doy, hour, minute, second, epoch"),
        ("trunc", (day("2020-01-01"), "day"),
         'trunc(DATE, STRING) is not possible: "day" is not a unit to truncate to; '
         "units are: year, yyyy, yy, quarter, month, mm, mon, week"),
        ("date_format", (AT, "ww"),
         'date_format(TIMESTAMP, STRING) is not possible: "ww" is not a format of times: '
         'the letter "w" is not known; letters are: y M L d D E Q q a H k h K m s S'),
        ("to_date", (NAME, "yyyy'"), 'to_date(STRING, STRING) is not possible: "yyyy\'" is not a format of times: '
         "a quote is not closed"),
        ("add_interval", (COUNT, big(1)),
         "add_interval(INT, BIGINT) does not exist; "
         "add_interval takes a TIMESTAMP or DATE and a number of microseconds"),
        ("cast", (COUNT,), "cast(INT) does not exist; cast takes a value AS a type"),
    ],
    ids=lambda part: str(part)[:30],
)  # fmt: skip
def test_mistakes(name: str, arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(SashError) as raised:
        call(name, *arguments)
    assert str(raised.value) == message


def test_function_names_are_sorted_and_lower_case() -> None:
    names = build.function_names()
    assert names == sorted(names)
    assert all(name == name.lower() for name in names)
    assert {"add", "null_safe_equal", "case", "subtract_timestamps"} <= set(names)


def test_an_interval_of_whole_days_keeps_a_date() -> None:
    assert call("add_interval", typed(None, DATE), big(86_400_000_000)).type == DATE
    assert call("add_interval", typed(None, DATE), big(1)).type == TIMESTAMP
    assert call("add_interval", typed(None, DATE), TOTAL).type == TIMESTAMP
    assert call("divide", 1, 2).type == DOUBLE
