"""Comparisons with NOW(), solved for the instant at which they change.

    ts > NOW() - INTERVAL 1 HOUR      NOT reached(ts + 1 hour)       since it means NOW() < ts + 1 hour
    ts <= NOW()                       reached(ts)
    NOW() - ts > INTERVAL 1 MINUTE    reached(ts + 1 minute + 1 microsecond)
    day = CURRENT_DATE                reached(day) AND NOT reached(day + 1 day)
    UNIX_MILLIS(NOW()) <= n           NOT reached(count_after(n, 1000))

A comparison is unwrapped from outside, one function of NOW() after the other; times and lengths are numbers of microseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from sash.scalar import build
from sash.scalar.functions.instants import FARTHEST, LENGTHS, MONTHS
from sash.scalar.nodes import Call, Expression, Literal
from sash.schema import BIGINT, BOOLEAN, DATE, DOUBLE, STRING, TIMESTAMP, Kind, Type, decimal
from sash.sql.bind.conditions import constant
from sash.sql.bind.now import NOW, reads_time, whole

REACHED = "reached"
DAY = LENGTHS["day"]
MIRRORED = {
    "less": "greater", "less_equal": "greater_equal", "greater": "less", "greater_equal": "less_equal", "equal": "equal",
    "not_equal": "not_equal",
}  # fmt: skip
_BOTH = {"equal": ("and", "greater_equal", "less_equal"), "not_equal": ("or", "less", "greater")}
_COUNTS = {"unix_micros": 1, "unix_millis": 1000, "unix_seconds": LENGTHS["second"], "unix_timestamp": LENGTHS["second"]}


class Unsolved(Exception):
    """There is no single instant at which the comparison changes."""


def question(call: Call) -> Expression:
    """A comparison that reads the time, as questions whether instants are reached."""
    one, other = call.arguments
    if reads_time(one) and not reads_time(other):
        return _asked(call.function, one, other)
    if reads_time(other) and not reads_time(one):
        return _asked(MIRRORED[call.function], other, one)
    raise Unsolved


def _asked(function: str, moving: Expression, fixed: Expression) -> Expression:
    if function in _BOTH:
        operator, *sides = _BOTH[function]
        return build.call(operator, [_asked(side, moving, fixed) for side in sides])
    if moving.type.is_number:
        return _Count(function, moving, fixed).question()
    return _Comparison(function, moving, _micros(fixed), 0).question()


@dataclass(frozen=True)
class _Comparison:
    """`moving function fixed + shift`, all of it in microseconds; `moving` is a TIMESTAMP or DATE that reads the time."""

    function: str
    moving: Expression
    fixed: Expression
    shift: int

    def question(self) -> Expression:
        if self.moving == NOW:
            later = self.function in ("greater", "less_equal")
            reached = Call(REACHED, (_moved(self.fixed, self.shift + later),), BOOLEAN)
            return reached if self.function.startswith("greater") else build.call("not", [reached])
        if not isinstance(self.moving, Call) or self.moving.function not in _SOLVED:
            raise Unsolved
        solved: _Comparison = _SOLVED[self.moving.function](self, *self.moving.arguments)
        return solved.question()

    def by(self, moving: Expression, length: Expression, sign: int) -> _Comparison:
        """moving + sign * length on the left becomes a shift to the other side."""
        value = whole(length)
        if value is None or abs(value) > FARTHEST // 4:
            raise Unsolved
        return replace(self, moving=moving, shift=self.shift - sign * value)

    def in_days(self, moving: Expression, days: Expression, sign: int) -> _Comparison:
        value = whole(days)
        if value is None or abs(value) > FARTHEST // 4 // DAY:
            raise Unsolved
        return replace(self, moving=moving, shift=self.shift - sign * value * DAY)

    def cast(self, moving: Expression) -> _Comparison:
        """A DATE is the instant at which it begins."""
        if self.moving.type == TIMESTAMP and moving.type == DATE:
            return replace(self, moving=moving)
        if self.moving.type != DATE or moving.type != TIMESTAMP:
            raise Unsolved
        if not _is_date(self.fixed) or self.shift % DAY:
            return self.cut_to("day", moving)
        next_day = self.function in ("greater", "less_equal")
        return self._not_before(moving, self.fixed, self.shift + next_day * DAY)

    def truncated(self, unit: Expression, moving: Expression) -> _Comparison:
        name = str(unit.value).lower() if isinstance(unit, Literal) else ""
        name = {"dd": "day", "mm": "month", "mon": "month", "yyyy": "year", "yy": "year"}.get(name, name)
        if name not in LENGTHS and name not in MONTHS:
            raise Unsolved
        return self.cut_to(name, moving)

    def cut_to(self, unit: str, moving: Expression) -> _Comparison:
        """What a period has begun before or after is decided when one begins."""
        kind = "period_after" if self.function in ("greater", "less_equal") else "period_from"
        start = build.call(kind, [_moved(self.fixed, self.shift), Literal(unit, STRING)])
        return self._not_before(moving, start, 0)

    def _not_before(self, moving: Expression, fixed: Expression, shift: int) -> _Comparison:
        return _Comparison(_at_least(self.function), moving, fixed, shift)


@dataclass(frozen=True)
class _Count:
    """`moving function fixed`, both numbers; `moving` counts units of time, or says how long it is since or until something."""

    function: str
    moving: Expression
    fixed: Expression

    def question(self) -> Expression:
        if not isinstance(self.moving, Call):
            raise Unsolved
        arguments = self.moving.arguments
        if self.moving.function in _COUNTS and len(arguments) == 1:
            return self._units(arguments[0], _COUNTS[self.moving.function])
        if self.moving.function == "cast" and arguments[0].type == TIMESTAMP and self.moving.type == BIGINT:
            return self._units(arguments[0], LENGTHS["second"])
        if self.moving.function == "cast" and arguments[0].type.is_integer and _is_wide(self.moving.type):
            return replace(self, moving=arguments[0]).question()
        if self.moving.function in ("add", "subtract"):
            one, other = arguments
            return self._sum(one, other, -1 if self.moving.function == "add" else 1)
        if self.moving.function in ("subtract_timestamps", "datediff"):
            one, other = arguments
            return self._difference(one, other, DAY if self.moving.function == "datediff" else 1)
        raise Unsolved

    def _units(self, moving: Expression, unit: int) -> Expression:
        """So many units are full when the last of them is."""
        return _Comparison(_at_least(self.function), moving, self._instant(unit), 0).question()

    def _instant(self, unit: int) -> Expression:
        is_after = self.function in ("greater", "less_equal")
        value = whole(self.fixed)
        if value is not None and abs(value) < FARTHEST // unit:
            return Literal((value + is_after) * unit, BIGINT)
        return build.call("count_after" if is_after else "count_from", [self.fixed, Literal(unit, BIGINT)])

    def _sum(self, one: Expression, other: Expression, sign: int) -> Expression:
        """A constant on the left goes to the other side, where nothing overflows."""
        if sign < 0 and reads_time(other):
            one, other = other, one
        value = whole(other)
        if value is None or abs(value) > FARTHEST or not self.fixed.type.is_integer:
            raise Unsolved
        wide = decimal(20, 0)
        fixed = build.call("add", [build.cast(self.fixed, wide), build.cast(Literal(sign * value, BIGINT), wide)])
        return replace(self, moving=one, fixed=fixed).question()

    def _difference(self, one: Expression, other: Expression, unit: int) -> Expression:
        """NOW() - t < length means NOW() < t + length, and t - NOW() < length means NOW() > t - length."""
        if reads_time(one) and reads_time(other):
            raise Unsolved
        if reads_time(one):
            return self._since(one, other, unit)
        return _Count(MIRRORED[self.function], other, _negated(self.fixed))._since(other, one, unit)

    def _since(self, moving: Expression, start: Expression, unit: int) -> Expression:
        if not self.fixed.type.is_integer and self.fixed.type.kind is not Kind.DECIMAL:
            raise Unsolved
        length = self._instant(unit)
        return _Comparison(_at_least(self.function), moving, _sum(_micros(start), length), 0).question()


_SOLVED: dict[str, Callable[..., Any]] = {
    "add_interval": lambda comparison, moving, length: comparison.by(moving, length, 1),
    "subtract_interval": lambda comparison, moving, length: comparison.by(moving, length, -1),
    "date_add": lambda comparison, moving, days: comparison.in_days(moving, days, 1),
    "date_sub": lambda comparison, moving, days: comparison.in_days(moving, days, -1),
    "cast": _Comparison.cast,
    "date_trunc": _Comparison.truncated,
    "trunc": lambda comparison, moving, unit: comparison.truncated(unit, moving),
}


def _at_least(function: str) -> str:
    return "greater_equal" if function.startswith("greater") else "less"


def _is_wide(type_: Type) -> bool:
    """Whether every count of time is a number of this type, or near one."""
    return type_ in (DOUBLE, BIGINT) or type_.precision - type_.scale >= 19


def _negated(number: Expression) -> Expression:
    value = whole(number)
    if value is not None and abs(value) < FARTHEST:
        return Literal(-value, BIGINT)
    return build.call("negate", [build.cast(number, decimal(20, 0)) if number.type.is_integer else number])


def _is_date(micros: Expression) -> bool:
    """Whether an instant is the beginning of a DATE."""
    if (value := whole(micros)) is not None:
        return value % DAY == 0
    inner = micros.arguments[0] if isinstance(micros, Call) and micros.function == "unix_micros" else None
    return isinstance(inner, Call) and inner.function == "cast" and inner.arguments[0].type == DATE


def _micros(expression: Expression) -> Expression:
    """A point in time as a number; sums of it cannot fall out of the calendar."""
    micros = build.call("unix_micros", [build.cast(expression, TIMESTAMP)])
    return constant(micros) or micros


def _sum(instant: Expression, length: Expression) -> Expression:
    by = whole(length)
    return build.call("add", [instant, length]) if by is None else _moved(instant, by)


def _moved(instant: Expression, by: int) -> Expression:
    if (value := whole(instant)) is not None:
        return Literal(value + by, BIGINT)
    return build.call("add", [instant, Literal(by, BIGINT)]) if by else instant
