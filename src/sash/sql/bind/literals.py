"""Constants, typed as Spark SQL types them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal

from sqlglot import exp

from sash.errors import choices
from sash.numerals import exact, whole
from sash.scalar.nodes import Literal
from sash.schema import BEGINNING, BIGINT, BOOLEAN, DATE, DOUBLE, END, INT, STRING, TIMESTAMP, Type, decimal
from sash.sql.syntax.durations import MONTHS, UNITS, unit_name
from sash.sql.syntax.text_positions import fault


def literal(node: exp.Expr) -> Literal | None:
    """The constant that a node is, if it is one."""
    if isinstance(node, exp.Null):
        return Literal(None, STRING)
    if isinstance(node, exp.Boolean):
        return Literal(bool(node.this), BOOLEAN)
    if isinstance(node, exp.RawString):
        return Literal(str(node.this), STRING)
    if isinstance(node, exp.Literal):
        return Literal(str(node.this), STRING) if node.is_string else _number(node, str(node.this))
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal) and not node.this.is_string:
        return _number(node, f"-{node.this.this}")
    return None


def _number(node: exp.Expr, text: str) -> Literal:
    if "e" in text.lower():
        return _double(node, text)
    value = Decimal(text)
    if "." not in text and -(2**63) <= value < 2**63:
        return Literal(int(value), INT if -(2**31) <= value < 2**31 else BIGINT)
    _, digits, exponent = value.as_tuple()
    scale = -int(exponent)
    if max(len(digits), scale) > 38:
        raise fault(node, "this number has more than 38 digits", "write it with an exponent, such as 1e40")
    return Literal(value, decimal(max(len(digits), scale), scale))


def _double(node: exp.Expr, text: str) -> Literal:
    try:
        value = float(text)
    except ValueError:
        raise fault(node, f"{text} is no number", "the exponent of a number is whole, as in 1.5e40") from None
    if math.isinf(value):
        raise fault(node, "this number is beyond every DOUBLE", "write CAST('Infinity' AS DOUBLE) for what is above all of them")
    return Literal(value, DOUBLE)


def converted(value: Literal, type_: Type) -> Literal | None:
    """A constant cast to a type, where that is plain; None leaves it to a cast at run time."""
    if type_ == DOUBLE and isinstance(value.value, int | Decimal) and value.type.is_number:
        return Literal(float(value.value), DOUBLE)
    if type_ == BIGINT and value.type.is_integer:
        return Literal(value.value, BIGINT)
    if isinstance(value.value, str) and type_ in (TIMESTAMP, DATE):
        return _moment(value.value.strip(), type_)
    return None


def _moment(text: str, type_: Type) -> Literal | None:
    try:
        if type_ == DATE:
            return Literal(date.fromisoformat(text), DATE)
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return Literal(moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment, TIMESTAMP)


_MOST_MONTHS = 10_000 * 12
_MOST_MICROS = END - BEGINNING


@dataclass(frozen=True)
class Interval:
    """A length of time: months, which have no fixed length, and microseconds."""

    months: int = 0
    micros: int = 0

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.months + other.months, self.micros + other.micros)

    def __neg__(self) -> Interval:
        return Interval(-self.months, -self.micros)


def interval(node: exp.Expr) -> Interval | None:
    """The interval that a node is: one INTERVAL, or several added."""
    found = _written(node)
    if found is not None and (abs(found.months) >= _MOST_MONTHS or abs(found.micros) >= _MOST_MICROS):
        raise fault(node, "this interval is as long as all of time", "use one of less than 10,000 years")
    return found


def _written(node: exp.Expr) -> Interval | None:
    if isinstance(node, exp.Interval):
        return _interval(node)
    if isinstance(node, exp.Paren):
        return interval(node.this)
    if isinstance(node, exp.Neg):
        inner = interval(node.this)
        return None if inner is None else -inner
    if isinstance(node, exp.Mul):
        return _repeated(node.this, node.expression) or _repeated(node.expression, node.this)
    if isinstance(node, exp.Add | exp.Sub):
        left, right = interval(node.this), interval(node.expression)
        if left is None or right is None:
            return None
        return left + (right if isinstance(node, exp.Add) else -right)
    return None


def _repeated(node: exp.Expr, times: exp.Expr) -> Interval | None:
    """An interval so many times."""
    length, number = interval(node), times.unnest()
    count = whole(number.name) if isinstance(number, exp.Literal) and not number.is_string else None
    if length is None or count is None:
        return None
    return Interval(length.months * count, length.micros * count)


def _interval(node: exp.Interval) -> Interval:
    unit = unit_name(node.args["unit"].name) if isinstance(node.args.get("unit"), exp.Var) else ""
    if unit not in UNITS | MONTHS:
        raise fault(node, "this interval has no unit that is known", f"units are: {choices([*UNITS, *MONTHS])}")
    count = exact(node.name)
    if count is None:
        raise fault(node, "an interval must be a number and a unit", "write INTERVAL 5 MINUTES")
    amount = count * (UNITS | MONTHS)[unit]
    if amount != int(amount):
        raise fault(node, f"this interval is not a whole number of {'MONTHS' if unit in MONTHS else 'MICROSECONDS'}")
    return Interval(months=int(amount)) if unit in MONTHS else Interval(micros=int(amount))
