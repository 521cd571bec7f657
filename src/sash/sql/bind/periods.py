"""Functions of NOW() that tell less than the instant: their values change only when a second, a minute, an hour or a day ends.

    MINUTE(NOW())                                           a minute
    CAST(NOW() + INTERVAL 2 HOURS AS DATE)                  a day, two hours before midnight
    DATE_TRUNC('month', NOW()), DATE_FORMAT(NOW(), 'E')     a day: months begin with one

Such a function is the same function of the instant at which the current period began.
"""

from __future__ import annotations

from typing import Any

from sash.plan.current_period import Period
from sash.scalar.functions.function import constant
from sash.scalar.functions.instants import LENGTHS
from sash.scalar.nodes import Call, Expression, Literal
from sash.scalar.time_format import letters
from sash.schema import BIGINT, DATE, TIMESTAMP
from sash.sql.bind.now import NOW, at_time, whole

TICK = "tick"
_SECOND, _MINUTE, _HOUR, _DAY = (LENGTHS[unit] for unit in ("second", "minute", "hour", "day"))
_PARTS = {"hour": _HOUR, "minute": _MINUTE, "second": _SECOND, "unix_seconds": _SECOND, "unix_timestamp": _SECOND}
_FIELDS = {"h": _HOUR, "m": _MINUTE}  # by the first letter of a part of the time; seconds have a fraction
_DAYS = ("day", "dd", "week", "month", "mm", "mon", "quarter", "year", "yyyy", "yy")
_UNITS = {"second": _SECOND, "minute": _MINUTE, "hour": _HOUR, **dict.fromkeys(_DAYS, _DAY)}
_LETTERS = {"s": _SECOND, "m": _MINUTE, **dict.fromkeys("HhKka", _HOUR)}


def ticking(expression: Call) -> Expression | None:
    """A function of NOW() alone that is one of the current period, as that; None if it is none."""
    for place, argument in enumerate(expression.arguments):
        phase = _phase(argument)
        length = None if phase is None else _length(expression, place)
        if phase is not None and length is not None:
            period = Period(length, phase % length)
            tick = Call(TICK, (Literal(period.length, BIGINT), Literal(period.phase, BIGINT)), TIMESTAMP)
            return at_time(expression, tick)
    return None


def period_of(tick: Call) -> Period:
    length, phase = (whole(argument) or 0 for argument in tick.arguments)
    return Period(length, phase)


def _phase(expression: Expression) -> int | None:
    """By how much NOW() is moved, None if the expression is something else. Months move it by whole days."""
    if expression == NOW:
        return 0
    if not isinstance(expression, Call) or expression.type != TIMESTAMP or len(expression.arguments) != 2:
        return None
    if expression.function == "add_months_interval" and isinstance(expression.arguments[1], Literal):
        return _shift(expression.arguments[0])
    return _shift(expression)


def _shift(expression: Expression) -> int | None:
    if expression == NOW:
        return 0
    if not isinstance(expression, Call) or expression.function not in ("add_interval", "subtract_interval"):
        return None
    inner, length = _shift(expression.arguments[0]), whole(expression.arguments[1])
    if inner is None or length is None:
        return None
    return inner + length if expression.function == "add_interval" else inner - length


def _length(call: Call, place: int) -> int | None:
    """How long the period is in which a function of a moving time stays the same."""
    if call.function in ("cast", "try_cast"):
        return {DATE: _DAY, BIGINT: _SECOND}.get(call.type)
    if call.function == "date_trunc" and place == 1:
        return _UNITS.get(str(constant(call.arguments[0])).lower())
    if call.function == "date_part":
        return _FIELDS.get(str(constant(call.arguments[0])).lower()[:1])
    if call.function == "date_format":
        return _printed(constant(call.arguments[1]))
    return _PARTS.get(call.function) if len(call.arguments) == 1 else None


def _printed(text: Any) -> int | None:
    """By the finest letter of a format."""
    if not isinstance(text, str) or "S" in letters(text):
        return None
    return min((_LETTERS.get(letter, _DAY) for letter in letters(text)), default=_DAY)
