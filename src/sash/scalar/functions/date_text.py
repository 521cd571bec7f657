"""DATE and TIMESTAMP to and from text, plain as in a CAST or by a format."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from sash.errors import SashError
from sash.scalar.arrays import Mask, Numbers, array_of, nulls, numbers, per_group
from sash.scalar.calendar import DAY
from sash.scalar.cast import try_cast
from sash.scalar.coercion import Arguments, Mismatch, implicit
from sash.scalar.frame import Frame
from sash.scalar.functions.function import Function, Rule, constant, fixed
from sash.scalar.nodes import Call, Literal
from sash.scalar.time_format import BadFormat, parse_time, print_time
from sash.schema import BIGINT, DATE, SECOND, STRING, TIMESTAMP, Kind, Type

_DEFAULT = Literal("yyyy-MM-dd HH:mm:ss", STRING)


def _checked(format_: object, kernel: Callable[[pa.Array, str], object], example: pa.Array) -> None:
    """A format that is a constant is tried on nothing."""
    if isinstance(format_, str):
        try:
            kernel(example, format_)
        except BadFormat as error:
            raise SashError(f'"{format_}" is not a format of times: {error}') from None


def _printed(parameter: Type) -> Rule:
    def rule(arguments: Arguments) -> tuple[Arguments, Type]:
        if len(arguments) == 1 and parameter == BIGINT:
            arguments = (*arguments, _DEFAULT)
        coerced, type_ = fixed(STRING, parameter, STRING)(arguments)
        _checked(constant(coerced[1]), print_time, pa.array([], pa.timestamp("us")))
        return coerced, type_

    return rule


def _parsed(result: Type) -> Rule:
    """A text with a format; or one value, which is cast."""

    def rule(arguments: Arguments) -> tuple[Arguments, Type]:
        if len(arguments) not in (1, 2):
            raise Mismatch
        if len(arguments) == 1 or arguments[0].type.kind in (Kind.TIMESTAMP, Kind.DATE):
            return (implicit(arguments[0], DATE if result == DATE else TIMESTAMP),), result
        coerced = tuple(implicit(argument, STRING) for argument in arguments)
        _checked(constant(coerced[1]), parse_time, pa.array([], pa.string()))
        return coerced, result

    return rule


def _print(frame: Frame, call: Call) -> pa.Array:
    value, format_ = frame.arguments(call)
    time, outside = try_cast(value, pa.timestamp("us"))
    frame.failing(time, numbers(outside), "no such TIMESTAMP in the calendar", [value])
    result = per_group([time], [format_], _forgiving_print, pa.string())
    return frame.failing(result, nulls(result) & ~nulls(time) & ~nulls(format_), "not a format of times", [format_])


def _forgiving_print(time: pa.Array, format_: str) -> pa.Array:
    try:
        return print_time(time, format_)
    except BadFormat:
        return pa.nulls(len(time), pa.string())


def _forgiving_parse(texts: pa.Array, format_: str) -> pa.Array:
    try:
        micros, wrong = parse_time(texts, format_)
    except BadFormat:
        return pa.nulls(len(texts), pa.int64())
    return array_of(micros, pa.int64(), wrong | nulls(texts))


def _micros(frame: Frame, call: Call) -> tuple[Numbers, Mask]:
    """Microseconds since the epoch, and where they are NULL."""
    if len(call.arguments) == 1:
        value = frame.value(call.arguments[0])
        return numbers(value) * (DAY if pa.types.is_date32(value.type) else 1), nulls(value)
    texts, format_ = frame.arguments(call)
    result = per_group([texts], [format_], _forgiving_parse, pa.int64())
    failed = nulls(result) & ~nulls(texts) & ~nulls(format_)
    frame.failing(result, failed, f"cannot read a {call.type} by this format", [texts, format_])
    return numbers(result), nulls(result)


def _to_timestamp(frame: Frame, call: Call) -> pa.Array:
    micros, null = _micros(frame, call)
    return array_of(micros, pa.timestamp("us"), null)


def _to_date(frame: Frame, call: Call) -> pa.Array:
    if len(call.arguments) == 1:
        return frame.value(call.arguments[0])
    micros, null = _micros(frame, call)
    return array_of((micros // DAY).astype(np.int32), pa.date32(), null)


def _to_seconds(frame: Frame, call: Call) -> pa.Array:
    micros, null = _micros(frame, call)
    return array_of(micros // SECOND, pa.int64(), null)


_READ = "a text, and perhaps a format"

FUNCTIONS = (
    Function(("date_format",), "a TIMESTAMP and a format", _printed(TIMESTAMP), _print),
    Function(("from_unixtime",), "a number of seconds, and perhaps a format", _printed(BIGINT), _print),
    Function(("to_date", "date"), _READ, _parsed(DATE), _to_date),
    Function(("to_timestamp", "timestamp"), _READ, _parsed(TIMESTAMP), _to_timestamp),
    Function(("unix_timestamp", "to_unix_timestamp"), _READ, _parsed(BIGINT), _to_seconds),
)
