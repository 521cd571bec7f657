"""Constants, typed as Spark SQL types them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation

from sqlglot import exp

from sash.errors import choices
from sash.scalar.nodes import Literal
from sash.schema import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, Type, decimal
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
        try:
            return Literal(float(text), DOUBLE)
        except ValueError:
            raise fault(node, f"{text} is no number", "the exponent of a number is whole, as in 1.5e40") from None
    if "." not in text and -(2**63) <= int(text) < 2**63:
        value = int(text)
        return Literal(value, INT if -(2**31) <= value < 2**31 else BIGINT)
    exact = Decimal(text)
    _, digits, exponent = exact.as_tuple()
    scale = -int(exponent)
    if max(len(digits), scale) > 38:
        raise fault(node, "this number has more than 38 digits", "write it with an exponent, such as 1e40")
    return Literal(exact, decimal(max(len(digits), scale), scale))


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
    length, count = interval(node), times.unnest()
    if length is None or not isinstance(count, exp.Literal) or count.is_string or not count.name.isdigit():
        return None
    return Interval(length.months * int(count.name), length.micros * int(count.name))


def _interval(node: exp.Interval) -> Interval:
    unit = unit_name(node.args["unit"].name) if isinstance(node.args.get("unit"), exp.Var) else ""
    if unit not in UNITS | MONTHS:
        raise fault(node, "this interval has no unit that is known", f"units are: {choices([*UNITS, *MONTHS])}")
    try:
        amount = Decimal(node.name) * (UNITS | MONTHS)[unit]
    except InvalidOperation:
        raise fault(node, "an interval must be a number and a unit", "write INTERVAL 5 MINUTES") from None
    if amount != int(amount):
        raise fault(node, f"this interval is not a whole number of {'MONTHS' if unit in MONTHS else 'MICROSECONDS'}")
    return Interval(months=int(amount)) if unit in MONTHS else Interval(micros=int(amount))
