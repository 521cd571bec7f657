"""Points in time and lengths of time: a BIGINT of microseconds; months, which have no length, go by the calendar."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from sash.scalar import calendar
from sash.scalar.arrays import Mask, Numbers, array_of, nulls, numbers
from sash.scalar.coercion import Arguments, Mismatch, implicit, untyped
from sash.scalar.frame import Frame, Implementation
from sash.scalar.functions.function import Function, Rule, constant, fixed, plain
from sash.scalar.nodes import Call
from sash.schema import BIGINT, DATE, INT, LENGTH, SECOND, TIMESTAMP, Kind, Type

FARTHEST = 2**60  # microseconds: farther than the calendar is long, and no sum with a TIMESTAMP overflows


def _moved(length: Type) -> Rule:
    """A DATE stays one when it is moved by whole days or months."""

    def rule(arguments: Arguments) -> tuple[Arguments, Type]:
        if len(arguments) != 2:
            raise Mismatch
        by = implicit(arguments[1], length)
        days = length == INT or (constant(by) is not None and int(constant(by)) % calendar.DAY == 0)
        stays = arguments[0].type == DATE and days
        if arguments[0].type.kind not in (Kind.TIMESTAMP, Kind.DATE) and not untyped(arguments[0]):
            raise Mismatch
        return (implicit(arguments[0], TIMESTAMP), by), DATE if stays else TIMESTAMP

    return rule


def _timestamps(frame: Frame, micros: Numbers, wrong: Mask, *arguments: pa.Array) -> pa.Array:
    """A TIMESTAMP; what lies outside of the calendar fails."""
    null = np.logical_or.reduce([nulls(argument) for argument in arguments])
    wrong = (wrong | calendar.outside(micros)) & ~null
    result = array_of(np.where(wrong, 0, micros), pa.timestamp("us"), null)
    return frame.failing(result, wrong, "no such TIMESTAMP in the calendar", arguments)


def _by_length(sign: int) -> Implementation:
    def evaluate(frame: Frame, call: Call) -> pa.Array:
        time, length = frame.arguments(call)
        far = (numbers(length) > FARTHEST) | (numbers(length) < -FARTHEST)
        micros = numbers(time) + sign * np.where(far, 0, numbers(length))
        return _timestamps(frame, micros, far, time, length).cast(call.type.arrow, safe=False)

    return evaluate


def _by_months(frame: Frame, call: Call) -> pa.Array:
    time, months = frame.arguments(call)
    far = np.abs(numbers(months).astype(np.int64)) > 200_000
    counts = np.where(far, 0, numbers(months)).astype(np.int64)
    days = calendar.add_months(numbers(time) // calendar.DAY, counts)
    micros = days * calendar.DAY + numbers(time) % calendar.DAY
    return _timestamps(frame, micros, far, time, months).cast(call.type.arrow, safe=False)


def _difference(left: pa.Array, right: pa.Array) -> pa.Array:
    return array_of(numbers(left) - numbers(right), pa.int64(), nulls(left) | nulls(right))


def _since_epoch(unit: int) -> Callable[[pa.Array], pa.Array]:
    return lambda time: array_of(numbers(time) // unit, pa.int64(), nulls(time))


def _from_epoch(unit: int) -> Implementation:
    def evaluate(frame: Frame, call: Call) -> pa.Array:
        (count,) = frame.arguments(call)
        far = np.abs(numbers(count) // 2) > FARTHEST // unit // 2
        return _timestamps(frame, np.where(far, 0, numbers(count)) * unit, far, count)

    return evaluate


_MOVED = "a TIMESTAMP or DATE and a number of microseconds"
_EPOCH = fixed(BIGINT, TIMESTAMP)
_FROM = fixed(TIMESTAMP, BIGINT)

FUNCTIONS = (
    Function(("add_interval",), _MOVED, _moved(BIGINT), _by_length(1)),
    Function(("subtract_interval",), _MOVED, _moved(BIGINT), _by_length(-1)),
    Function(("add_months_interval",), "a TIMESTAMP or DATE and a number of months", _moved(INT), _by_months),
    Function(("subtract_timestamps",), "two TIMESTAMPs", fixed(LENGTH, TIMESTAMP, TIMESTAMP), plain(_difference)),
    Function(("unix_seconds",), "a TIMESTAMP", _EPOCH, plain(_since_epoch(SECOND))),
    Function(("unix_millis",), "a TIMESTAMP", _EPOCH, plain(_since_epoch(1000))),
    Function(("unix_micros",), "a TIMESTAMP", _EPOCH, plain(_since_epoch(1))),
    Function(("timestamp_millis",), "a number", _FROM, _from_epoch(1000)),
    Function(("timestamp_micros",), "a number", _FROM, _from_epoch(1)),
)
