"""ROUND, BROUND, CEIL and FLOOR. A DOUBLE is rounded as the decimal that it prints as: ROUND(1.005, 2) is 1.01."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from sash.errors import SashError
from sash.scalar.arrays import array_of, nulls, numbers
from sash.scalar.cast import try_cast
from sash.scalar.coercion import MOST_DIGITS, Arguments, Mismatch, cast, implicit
from sash.scalar.decimals import HALF_EVEN, HALF_UP, WIDEST
from sash.scalar.doubles import round_doubles
from sash.scalar.frame import Frame, Implementation
from sash.scalar.functions.function import Function, constant, one_number
from sash.scalar.nodes import Call, Literal
from sash.schema import BIGINT, DOUBLE, INT, Kind, Type, decimal


def _rounded(arguments: Arguments) -> tuple[Arguments, Type]:
    """A number, and how many digits after the point to keep (0 when left out, negative to go before the point)."""
    if len(arguments) not in (1, 2):
        raise Mismatch
    value = one_number(arguments[0])
    digits = implicit(arguments[1], INT) if len(arguments) == 2 else Literal(0, INT)
    if constant(digits) is None:
        raise SashError("the number of digits must be a constant", "write it as a number")
    return (value, digits), _rounded_type(value.type, int(constant(digits)))


def _rounded_type(type_: Type, digits: int) -> Type:
    if type_.kind is not Kind.DECIMAL:
        return type_
    whole = type_.precision - type_.scale + 1
    if digits < 0:
        return decimal(min(max(whole, 1 - digits), MOST_DIGITS), 0)
    scale = min(type_.scale, digits)
    return decimal(min(whole + scale, MOST_DIGITS), scale)


def _round(mode: str) -> Implementation:
    def evaluate(frame: Frame, call: Call) -> pa.Array:
        value = frame.value(call.arguments[0])
        digits = int(constant(call.arguments[1]))
        if call.type == DOUBLE:
            return array_of(round_doubles(numbers(value), digits, mode), pa.float64(), nulls(value))
        result, failed = try_cast(_round_exact(value, digits, mode), call.type.arrow)
        return frame.failing(result, numbers(failed), f"{call.function} overflows {call.type}", [value])

    return evaluate


def _round_exact(value: pa.Array, digits: int, mode: str) -> pa.Array:
    if pa.types.is_integer(value.type):
        value = value.cast(pa.decimal128(19, 0))
    if digits >= value.type.scale:
        return value
    wide = value.cast(pa.decimal256(WIDEST, value.type.scale))
    return pc.round(wide, ndigits=max(digits, -MOST_DIGITS), round_mode=mode)


def _whole(arguments: Arguments) -> tuple[Arguments, Type]:
    if len(arguments) != 1:
        raise Mismatch
    value = one_number(arguments[0])
    if value.type.kind is Kind.DECIMAL:
        digits = value.type.precision - value.type.scale + (1 if value.type.scale else 0)
        return (value,), decimal(min(digits, MOST_DIGITS), 0)
    return (cast(value, BIGINT) if value.type.is_integer else value,), BIGINT


def _to_whole(mode: str) -> Implementation:
    def evaluate(frame: Frame, call: Call) -> pa.Array:
        (value,) = frame.arguments(call)
        is_double = pa.types.is_floating(value.type)
        whole = pc.round(value, round_mode=mode) if is_double else _round_exact(value, 0, mode)
        result, failed = try_cast(whole, call.type.arrow)
        return frame.failing(result, numbers(failed), f"{call.function} overflows {call.type}", [value])

    return evaluate


_DIGITS = "a number, and a constant number of digits"

FUNCTIONS = (
    Function(("round",), _DIGITS, _rounded, _round(HALF_UP)),
    Function(("bround",), _DIGITS, _rounded, _round(HALF_EVEN)),
    Function(("ceil", "ceiling"), "one number", _whole, _to_whole("up")),
    Function(("floor",), "one number", _whole, _to_whole("down")),
)
