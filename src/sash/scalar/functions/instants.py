"""When time reaches something: the first instant at which a count of units, or the start of a period, is there.

    count_from(2.5, 1000)       3000    milliseconds since the epoch are at least 2.5 from here on
    count_after(2, 1000)        3000    they are more than 2
    period_from(t, 'hour')              the current hour has not begun before t, from here on
    period_after(t, 'hour')             it has begun after t

All are microseconds. What is farther than any calendar stays so, and nothing overflows: these compare NOW() with numbers.
"""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.scalar import calendar
from sash.scalar.arrays import Numbers, array_of, nulls, numbers
from sash.scalar.coercion import Arguments, Mismatch
from sash.scalar.frame import Frame, Implementation
from sash.scalar.functions.function import Function, constant, fixed
from sash.scalar.nodes import Call
from sash.schema import BIGINT, SECOND, STRING, TIMESTAMP, Type

FARTHEST = 2**62
EXACT = 2.0**53  # up to here every integer is a DOUBLE
LENGTHS = {"second": SECOND, "minute": 60 * SECOND, "hour": 3600 * SECOND, "day": calendar.DAY, "week": 7 * calendar.DAY}
MONTHS = {"month": 1, "quarter": 3, "year": 12}
_INSTANT_AND_UNIT = fixed(BIGINT, BIGINT, STRING)
MONDAY = 4 * calendar.DAY  # the first one after the epoch


def _count_rule(arguments: Arguments) -> tuple[Arguments, Type]:
    if len(arguments) != 2 or not arguments[0].type.is_number or constant(arguments[1]) is None:
        raise Mismatch
    return arguments, BIGINT


def _counted(is_after: bool) -> Implementation:
    def evaluate(frame: Frame, call: Call) -> pa.Array:
        value, unit = frame.value(call.arguments[0]), int(constant(call.arguments[1]))
        most = FARTHEST // unit
        if pa.types.is_decimal(value.type):
            counts = _of_decimals(value, is_after, most)
        elif pa.types.is_floating(value.type):
            counts = _of_doubles(numbers(value), is_after, most)
        else:
            counts = np.clip(numbers(value).astype(np.int64), -most, most) + is_after
        return array_of(counts * unit, pa.int64(), nulls(value))

    return evaluate


def _of_decimals(value: pa.Array, is_after: bool, most: int) -> Numbers:
    type_ = pa.decimal256(76, value.type.scale)
    wide = value.cast(type_)
    whole = pc.floor(wide) if is_after else pc.ceil(wide)
    for bound, keep in ((-most, pc.max_element_wise), (most, pc.min_element_wise)):
        whole = keep(whole, pa.scalar(Decimal(bound), type_), skip_nulls=False)
    return numbers(whole.cast(pa.int64())) + is_after


def _of_doubles(value: Numbers, is_after: bool, most: int) -> Numbers:
    """The first integer that is at least so much, as a DOUBLE: NaN is more than all of them."""
    least = np.nextafter(value, np.inf) if is_after else value
    least = np.clip(np.where(np.isnan(least), np.inf, least), -float(most), float(most))
    below = np.nextafter(least, -np.inf).astype(np.int64)
    middle = below + (least.astype(np.int64) - below) // 2
    rounded = np.where(middle.astype(np.float64) >= least, middle, middle + 1)
    return np.where(np.abs(least) <= EXACT, np.ceil(least).astype(np.int64), rounded)


def _period_rule(arguments: Arguments) -> tuple[Arguments, Type]:
    if len(arguments) != 2 or constant(arguments[1]) is None:
        raise Mismatch
    return _INSTANT_AND_UNIT(arguments)


def _period(is_after: bool) -> Implementation:
    def evaluate(frame: Frame, call: Call) -> pa.Array:
        value, unit = frame.value(call.arguments[0]), str(constant(call.arguments[1]))
        instants = numbers(value) if is_after else numbers(value) - 1
        following = _next_months(instants, MONTHS[unit]) if unit in MONTHS else _next_start(instants, unit)
        return array_of(following, pa.int64(), nulls(value))

    return evaluate


def _next_start(instants: Numbers, unit: str) -> Numbers:
    """The first start after an instant."""
    length, first = LENGTHS[unit], MONDAY if unit == "week" else 0
    return ((instants - first) // length + 1) * length + first


def _next_months(instants: Numbers, months: int) -> Numbers:
    days = np.clip(instants // calendar.DAY, 2 * calendar.FIRST_DAY, 2 * calendar.LAST_DAY)
    return calendar.first_of_month((calendar.month_of(days) // months + 1) * months) * calendar.DAY


_NUMBER, _INSTANT = "a number and a unit in microseconds", "an instant and a unit"

# The bounds of a row's session: no function of the row alone. GROUP BY makes values of them (`sql/bind/session_groups.py`).
SESSION_START, SESSION_END = "start of session", "end of session"


def _of_a_group(frame: Frame, call: Call) -> pa.Array:
    raise NotImplementedError(f"{call.function} is known of groups only")


FUNCTIONS = (
    Function((SESSION_START,), "a TIMESTAMP and a gap", fixed(TIMESTAMP, TIMESTAMP, BIGINT), _of_a_group),
    Function((SESSION_END,), "a TIMESTAMP and a gap", fixed(TIMESTAMP, TIMESTAMP, BIGINT), _of_a_group),
    Function(("count_from",), _NUMBER, _count_rule, _counted(False)),
    Function(("count_after",), _NUMBER, _count_rule, _counted(True)),
    Function(("period_from",), _INSTANT, _period_rule, _period(False)),
    Function(("period_after",), _INSTANT, _period_rule, _period(True)),
)
