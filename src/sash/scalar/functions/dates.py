"""The calendar: parts of a DATE or TIMESTAMP, starts of periods, steps of days and months. Weeks begin on Monday."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.errors import SashError, choices
from sash.scalar import calendar
from sash.scalar.arrays import Mask, Numbers, array_of, nulls, numbers, per_group
from sash.scalar.coercion import Arguments, Mismatch, implicit
from sash.scalar.decimals import from_unscaled
from sash.scalar.frame import Frame, Implementation
from sash.scalar.functions.function import Function, constant, fixed, plain
from sash.scalar.nodes import Call
from sash.schema import DATE, DOUBLE, INT, STRING, TIMESTAMP, Type, decimal

Part = Callable[[pa.Array], pa.Array]


def _seconds(time: pa.Array) -> pa.Array:
    """With the fraction."""
    return from_unscaled(numbers(time) % 60_000_000, 6, nulls(time)).cast(pa.decimal128(8, 6), safe=False)


def _since_epoch(time: pa.Array) -> pa.Array:
    """Seconds, with the fraction."""
    return from_unscaled(numbers(time), 6, nulls(time)).cast(pa.decimal128(18, 6), safe=False)


def _weekday(first: int, from_zero: bool = False) -> Part:
    """The number of the day in a week that begins on a day of ISO number `first`."""
    return lambda day: pc.day_of_week(day, count_from_zero=from_zero, week_start=first)


_DAY_PARTS: dict[tuple[str, ...], Part] = {
    ("year", "y", "years", "yr", "yrs"): pc.year,
    ("yearofweek",): pc.iso_year,
    ("quarter", "qtr"): pc.quarter,
    ("month", "mon", "mons", "months"): pc.month,
    ("week", "w", "weeks"): pc.iso_week,
    ("day", "d", "days"): pc.day,
    ("dayofweek", "dow"): _weekday(7),
    ("dayofweek_iso", "dow_iso", "isodow"): _weekday(1),
    ("doy", "dayofyear"): pc.day_of_year,
}
_TIME_PARTS: dict[tuple[str, ...], Part] = {
    ("hour", "h", "hours", "hr", "hrs"): pc.hour,
    ("minute", "m", "min", "mins", "minutes"): pc.minute,
    ("second", "s", "sec", "seconds", "secs"): _seconds,
    ("epoch",): _since_epoch,
}
_DECIMALS: dict[Part, Type] = {_seconds: decimal(8, 6), _since_epoch: decimal(18, 6)}
_PARTS = {name: part for parts in (_DAY_PARTS, _TIME_PARTS) for names, part in parts.items() for name in names}
_OF_DAYS = frozenset(name for names in _DAY_PARTS for name in names)


def _part_rule(arguments: Arguments) -> tuple[Arguments, Type]:
    if len(arguments) != 2:
        raise Mismatch
    field = str(constant(arguments[0])).lower()
    if field not in _PARTS:
        names = choices(names[0] for parts in (_DAY_PARTS, _TIME_PARTS) for names in parts)
        raise SashError(f'"{field}" is not a part of a date or time', f"parts are: {names}")
    source = implicit(arguments[1], DATE if field in _OF_DAYS else TIMESTAMP)
    return (arguments[0], source), _DECIMALS.get(_PARTS[field], INT)


def _date_part(frame: Frame, call: Call) -> pa.Array:
    return _PARTS[str(constant(call.arguments[0])).lower()](frame.value(call.arguments[1]))


_UNITS = {
    **dict.fromkeys(("year", "yyyy", "yy"), "year"),
    "quarter": "quarter",
    **dict.fromkeys(("month", "mm", "mon"), "month"),
    "week": "week",
}
_TIME_UNITS = _UNITS | dict.fromkeys(("day", "dd"), "day") | {
    unit: unit for unit in ("hour", "minute", "second", "millisecond", "microsecond")
}


def _truncated(units: dict[str, str], time: pa.Array, unit: str) -> pa.Array:
    """NULL when the unit is none."""
    if unit.lower() not in units:
        return pa.nulls(len(time), time.type)
    return pc.floor_temporal(time, unit=units[unit.lower()])


def _unit_rule(units: dict[str, str], place: int, type_: Type) -> Callable[[Arguments], tuple[Arguments, Type]]:
    """The unit is the argument at `place`, the time the other one."""

    def rule(arguments: Arguments) -> tuple[Arguments, Type]:
        if len(arguments) != 2:
            raise Mismatch
        unit, time = implicit(arguments[place], STRING), implicit(arguments[1 - place], type_)
        written = constant(unit)
        if written is not None and str(written).lower() not in units:
            raise SashError(f'"{written}" is not a unit to truncate to', f"units are: {choices(units)}")
        return ((unit, time) if place == 0 else (time, unit)), type_

    return rule


def _date_trunc(unit: pa.Array, time: pa.Array) -> pa.Array:
    return per_group([time], [unit], lambda rows, name: _truncated(_TIME_UNITS, rows, name), time.type)


def _trunc(day: pa.Array, unit: pa.Array) -> pa.Array:
    return per_group([day], [unit], lambda rows, name: _truncated(_UNITS, rows, name), day.type)


def _days(frame: Frame, days: Numbers, wrong: Mask, *arguments: pa.Array) -> pa.Array:
    """A DATE; what lies outside of the calendar fails."""
    null = np.logical_or.reduce([nulls(argument) for argument in arguments])
    wrong = (wrong | calendar.outside_days(days)) & ~null
    result = array_of(np.where(wrong, 0, days).astype(np.int32), pa.date32(), null)
    return frame.failing(result, wrong, "no such DATE in the calendar", arguments)


def _stepped(step: Callable[[Numbers, Numbers], Numbers]) -> Implementation:
    def evaluate(frame: Frame, call: Call) -> pa.Array:
        day, count = frame.arguments(call)
        far = np.abs(numbers(count).astype(np.int64)) > 10_000_000
        counts = np.where(far, 0, numbers(count)).astype(np.int64)
        return _days(frame, step(numbers(day).astype(np.int64), counts), far, day, count)

    return evaluate


def _make_date(frame: Frame, call: Call) -> pa.Array:
    parts = frame.arguments(call)
    days, wrong = calendar.days_of(*(numbers(part).astype(np.int64) for part in parts))
    return _days(frame, days, wrong, *parts)


def _from_unix_date(frame: Frame, call: Call) -> pa.Array:
    (count,) = frame.arguments(call)
    days = numbers(count).astype(np.int64)
    return _days(frame, days, np.zeros(len(days), np.bool_), count)


def _last_day(day: pa.Array) -> pa.Array:
    months = calendar.month_of(numbers(day).astype(np.int64))
    return array_of((calendar.first_of_month(months + 1) - 1).astype(np.int32), day.type, nulls(day))


def _datediff(end: pa.Array, start: pa.Array) -> pa.Array:
    return array_of(numbers(end) - numbers(start), pa.int32(), nulls(end) | nulls(start))


def _months_between(end: pa.Array, start: pa.Array) -> pa.Array:
    """Whole when both are the same day of the month or the last; else a month has 31 days. Rounded to eight digits."""
    ends, starts = numbers(end), numbers(start)
    (end_month, end_day, end_last), (start_month, start_day, start_last) = _in_month(ends), _in_month(starts)
    months = (end_month - start_month).astype(np.float64)
    rest = (end_day - start_day) * calendar.DAY + ends % calendar.DAY - starts % calendar.DAY
    whole = (end_day == start_day) | (end_last & start_last)
    exact = months + np.where(whole, 0, rest) / (31.0 * calendar.DAY)
    return array_of(np.round(exact, 8), pa.float64(), nulls(end) | nulls(start))


def _in_month(micros: Numbers) -> tuple[Numbers, Numbers, Mask]:
    """The month, the day in it, and whether that is its last."""
    days = micros // calendar.DAY
    months = calendar.month_of(days)
    last: Mask = days + 1 == calendar.first_of_month(months + 1)
    return months, days - calendar.first_of_month(months), last


def _of_day(part: Part, *names: str) -> Function:
    return Function(names, "a DATE or TIMESTAMP", fixed(INT, DATE), plain(part))


def _of_time(part: Part, *names: str) -> Function:
    return Function(names, "a TIMESTAMP", fixed(INT, TIMESTAMP), plain(part))


_STEP = fixed(DATE, DATE, INT)
_STEP_TAKES = "a DATE and a number"

FUNCTIONS = (
    _of_day(pc.year, "year"),
    _of_day(pc.quarter, "quarter"),
    _of_day(pc.month, "month"),
    _of_day(pc.day, "day", "dayofmonth"),
    _of_day(_weekday(7), "dayofweek"),
    _of_day(_weekday(1, from_zero=True), "weekday"),
    _of_day(pc.day_of_year, "dayofyear"),
    _of_day(pc.iso_week, "weekofyear"),
    _of_time(pc.hour, "hour"),
    _of_time(pc.minute, "minute"),
    _of_time(pc.second, "second"),
    Function(("date_part", "datepart", "extract"), "a part's name and a DATE or TIMESTAMP", _part_rule, _date_part),
    Function(("date_trunc",), "a unit and a TIMESTAMP", _unit_rule(_TIME_UNITS, 0, TIMESTAMP), plain(_date_trunc)),
    Function(("trunc",), "a DATE and a unit", _unit_rule(_UNITS, 1, DATE), plain(_trunc)),
    Function(("date_add", "dateadd"), _STEP_TAKES, _STEP, _stepped(np.add)),
    Function(("date_sub",), _STEP_TAKES, _STEP, _stepped(np.subtract)),
    Function(("add_months",), _STEP_TAKES, _STEP, _stepped(calendar.add_months)),
    Function(("datediff", "date_diff"), "an end and a start, both DATEs", fixed(INT, DATE, DATE), plain(_datediff)),
    Function(
        ("months_between",), "an end and a start, both TIMESTAMPs", fixed(DOUBLE, TIMESTAMP, TIMESTAMP),
        plain(_months_between),
    ),
    Function(("last_day",), "a DATE", fixed(DATE, DATE), plain(_last_day)),
    Function(("unix_date",), "a DATE", fixed(INT, DATE), plain(lambda day: day.view(pa.int32()))),
    Function(("date_from_unix_date",), "a number", fixed(DATE, INT), _from_unix_date),
    Function(("make_date",), "a year, a month and a day", fixed(DATE, INT, INT, INT), _make_date),
)
