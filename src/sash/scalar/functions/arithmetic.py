"""Arithmetic operators. What does not fit in the type of the result, and what is divided by zero, fails.

    left, right          + - *     /          %         div
    INT, INT             INT       DOUBLE     INT       BIGINT
    BIGINT, integer      BIGINT    DOUBLE     BIGINT    BIGINT
    DECIMAL, exact       DECIMAL   DECIMAL    DECIMAL   BIGINT
    DOUBLE, any          DOUBLE    DOUBLE     DOUBLE    -
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.scalar import decimals
from sash.scalar.arrays import Mask, blank, nulls, numbers, truth, zero
from sash.scalar.cast import try_cast
from sash.scalar.coercion import Arguments, Mismatch, bounded_decimal, cast, numbers_of
from sash.scalar.frame import Frame, Implementation
from sash.scalar.functions.function import Function, Rule, one_number, plain
from sash.scalar.nodes import Call
from sash.schema import BIGINT, DOUBLE, Kind, Type

DecimalRule = Callable[[Type, Type], Type]


def _sum_type(left: Type, right: Type) -> Type:
    scale = max(left.scale, right.scale)
    return bounded_decimal(max(left.precision - left.scale, right.precision - right.scale) + scale + 1, scale)


def _product_type(left: Type, right: Type) -> Type:
    return bounded_decimal(left.precision + right.precision + 1, left.scale + right.scale)


def _quotient_type(left: Type, right: Type) -> Type:
    scale = max(6, left.scale + right.precision + 1)
    return bounded_decimal(left.precision - left.scale + right.scale + scale, scale)


def _remainder_type(left: Type, right: Type) -> Type:
    scale = max(left.scale, right.scale)
    return bounded_decimal(min(left.precision - left.scale, right.precision - right.scale) + scale, scale)


def _two_numbers(of_decimals: DecimalRule) -> Rule:
    def rule(arguments: Arguments) -> tuple[Arguments, Type]:
        if len(arguments) != 2:
            raise Mismatch
        coerced = numbers_of(arguments)
        left, right = (argument.type for argument in coerced)
        return coerced, of_decimals(left, right) if left.kind is Kind.DECIMAL else left

    return rule


def _quotient(arguments: Arguments) -> tuple[Arguments, Type]:
    coerced, type_ = _two_numbers(_quotient_type)(arguments)
    return (tuple(cast(a, DOUBLE) for a in coerced), DOUBLE) if type_.is_integer else (coerced, type_)


def _whole_quotient(arguments: Arguments) -> tuple[Arguments, Type]:
    coerced, type_ = _two_numbers(_quotient_type)(arguments)
    if type_ == DOUBLE:
        raise Mismatch
    return (tuple(cast(a, BIGINT) for a in coerced) if type_.is_integer else coerced), BIGINT


def _one_number(arguments: Arguments) -> tuple[Arguments, Type]:
    if len(arguments) != 1:
        raise Mismatch
    argument = one_number(arguments[0])
    return (argument,), argument.type


def _exact(array: pa.Array) -> pa.Array:
    """Integers as decimals, in which nothing overflows."""
    return array.cast(pa.decimal128(19, 0)) if pa.types.is_integer(array.type) else array


def _calculated(operation: str) -> Implementation:
    """+, - and *: the checked kernel, and only when that refuses, the exact way that finds the rows that overflow."""
    checked = f"{operation}_checked"

    def evaluate(frame: Frame, call: Call) -> pa.Array:
        left, right = frame.arguments(call)
        if call.type.kind is Kind.DECIMAL:
            return _fitting(frame, call, *decimals.compute(operation, left, right, call.type.arrow), left, right)
        if call.type == DOUBLE:
            return pc.call_function(operation, [left, right])
        try:
            return pc.call_function(checked, [left, right])
        except pa.ArrowInvalid:
            wide, failed = decimals.compute(operation, _exact(left), _exact(right), pa.decimal128(38, 0))
            result, refused = try_cast(wide, call.type.arrow)
            return _fitting(frame, call, result, failed | numbers(refused), left, right)

    return evaluate


def _fitting(frame: Frame, call: Call, result: pa.Array, failed: Mask, *arguments: pa.Array) -> pa.Array:
    return frame.failing(result, failed, f"{call.function} overflows {call.type}", arguments)


def _divisor(frame: Frame, left: pa.Array, right: pa.Array) -> pa.Array:
    """The right side without its zeros, which are counted where there is something to divide."""
    empty = truth(pc.equal(right, zero(right.type)))
    frame.failing(right, empty & ~nulls(left), "division by zero", [left, right])
    return blank(right, empty)


def _divide(frame: Frame, call: Call) -> pa.Array:
    left, right = frame.arguments(call)
    right = _divisor(frame, left, right)
    if call.type == DOUBLE:
        return pc.divide(left, right)
    return _fitting(frame, call, *decimals.compute("divide", left, right, call.type.arrow), left, right)


def _div(frame: Frame, call: Call) -> pa.Array:
    left, right = frame.arguments(call)
    right = _divisor(frame, left, right)
    if pa.types.is_decimal(left.type):
        quotient, failed = decimals.compute("divide", left, right, pa.decimal128(38, 0), decimals.DOWN)
        result, refused = try_cast(quotient, pa.int64())
        return _fitting(frame, call, result, failed | numbers(refused), left, right)
    overflow = truth(pc.and_(pc.equal(left, -(2**63)), pc.equal(right, -1)))
    return _fitting(frame, call, pc.divide(blank(left, overflow), right), overflow, left, right)


def _remainder(left: pa.Array, right: pa.Array, type_: pa.DataType) -> pa.Array:
    """Of the sign of the left side."""
    if pa.types.is_decimal(type_):
        return decimals.compute("remainder", left, right, type_)[0]
    return pc.remainder(left, right)


def _mod(frame: Frame, call: Call) -> pa.Array:
    left, right = frame.arguments(call)
    return _remainder(left, _divisor(frame, left, right), call.type.arrow)


def _pmod(frame: Frame, call: Call) -> pa.Array:
    """A negative remainder is brought up by one divisor."""
    left, right = frame.arguments(call)
    right = _divisor(frame, left, right)
    type_ = call.type.arrow
    remainder = _remainder(left, right, type_)
    raised = _remainder(pc.add(remainder, right), right, type_)
    return pc.if_else(pc.less(remainder, zero(type_)), raised, remainder)


def _one_sided(operation: str) -> Implementation:
    """Negation and absolute value: only the least integer has no opposite."""

    def evaluate(frame: Frame, call: Call) -> pa.Array:
        (value,) = frame.arguments(call)
        if not call.type.is_integer:
            return pc.call_function(operation, [value])
        least = truth(pc.equal(value, int(np.iinfo(call.type.arrow.to_pandas_dtype()).min)))
        return _fitting(frame, call, pc.call_function(operation, [blank(value, least)]), least, value)

    return evaluate


_TWO = "two numbers"

FUNCTIONS = (
    Function(("add",), _TWO, _two_numbers(_sum_type), _calculated("add")),
    Function(("subtract",), _TWO, _two_numbers(_sum_type), _calculated("subtract")),
    Function(("multiply",), _TWO, _two_numbers(_product_type), _calculated("multiply")),
    Function(("divide",), _TWO, _quotient, _divide),
    Function(("div",), "two integers or DECIMALs", _whole_quotient, _div),
    Function(("mod",), _TWO, _two_numbers(_remainder_type), _mod),
    Function(("pmod",), _TWO, _two_numbers(_remainder_type), _pmod),
    Function(("negate", "negative"), "one number", _one_number, _one_sided("negate")),
    Function(("positive",), "one number", _one_number, plain(lambda value: value)),
    Function(("abs",), "one number", _one_number, _one_sided("abs")),
)
