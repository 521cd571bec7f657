"""Expressions for tests: written with plain Python values, evaluated as constants and as columns."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pyarrow as pa

from sash.scalar import build
from sash.scalar.evaluate import Failures, evaluate
from sash.scalar.nodes import Call, Column, Expression, Literal
from sash.schema import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, Type, decimal


def literal(value: object) -> Expression:
    """A constant of the type that SQL gives it; expressions stay as they are."""
    if isinstance(value, Literal | Call | Column):
        return value
    if isinstance(value, Decimal):
        _, digits, exponent = value.as_tuple()
        scale = -int(exponent)
        return Literal(value, decimal(max(len(digits), scale), scale))
    if isinstance(value, int) and not isinstance(value, bool):
        return Literal(value, INT if -(2**31) <= value < 2**31 else BIGINT)
    return Literal(value, _TYPES[type(value)])


_TYPES = {
    type(None): STRING, bool: BOOLEAN, float: DOUBLE, str: STRING, datetime.datetime: TIMESTAMP, datetime.date: DATE,
}


def typed(value: object, type_: Type) -> Literal:
    return Literal(value, type_)


def big(value: int) -> Literal:
    return Literal(value, BIGINT)


def exact(text: str, precision: int, scale: int) -> Literal:
    return Literal(Decimal(text), decimal(precision, scale))


def ts(text: str) -> Literal:
    return Literal(datetime.datetime.fromisoformat(text), TIMESTAMP)


def day(text: str) -> Literal:
    return Literal(datetime.date.fromisoformat(text), DATE)


def call(name: str, *arguments: object) -> Expression:
    return build.call(name, [literal(argument) for argument in arguments])


def run(
    expression: Expression, length: int = 2, columns: dict[int, pa.Array] | None = None
) -> tuple[list[object], Failures]:
    """The values, whose type and number are checked, and the failures."""
    failures = Failures()
    result = evaluate(expression, columns or {}, length, failures)
    assert result.type == expression.type.arrow
    assert len(result) == length
    result.validate(full=True)
    return result.to_pylist(), failures


def value(expression: Expression) -> object:
    """The value of an expression without columns, which must not fail."""
    values, failures = run(expression)
    assert failures.total == 0, failures.items()
    assert repr(values[0]) == repr(values[1])
    return values[0]


def failure(expression: Expression) -> tuple[str, object]:
    """Reason and example of an expression that fails in every row."""
    values, failures = run(expression)
    assert values == [None, None]
    ((reason, count, example),) = failures.items()
    assert count == 2
    return reason, example


def as_columns(name: str, *arguments: object) -> tuple[Expression, dict[int, pa.Array]]:
    """The same call over columns that hold NULL and then the value, cut from the middle of longer arrays."""
    columns, places = {}, []
    for place, argument in enumerate(literal(argument) for argument in arguments):
        if isinstance(argument, Literal) and not (argument.value is None and argument.type == STRING):
            columns[place] = pa.array([argument.value, None, argument.value], argument.type.arrow).slice(1)
            places.append(Column(place, argument.type, f"c{place}"))
        else:
            places.append(argument)
    return build.call(name, places), columns
