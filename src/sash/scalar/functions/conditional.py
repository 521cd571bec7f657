"""CASE and its relatives, and CAST. Only the branch that a row takes can fail in it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.scalar.arrays import Mask, blank, nulls, numbers, truth
from sash.scalar.cast import try_cast
from sash.scalar.coercion import Arguments, Mismatch, comparable, implicit, null, unify, untyped
from sash.scalar.frame import Frame
from sash.scalar.functions.comparison import equal
from sash.scalar.functions.function import Function
from sash.scalar.nodes import Call
from sash.schema import BIGINT, BOOLEAN, STRING, Type


def _case_rule(arguments: Arguments) -> tuple[Arguments, Type]:
    """condition, value, condition, value, ..., and the value for the rest (NULL when left out)."""
    if len(arguments) < 2:
        raise Mismatch
    if len(arguments) % 2 == 0:
        arguments = (*arguments, null(STRING))
    conditions = [implicit(argument, BOOLEAN) for argument in arguments[:-1:2]]
    *values, otherwise = unify((*arguments[1::2], arguments[-1]))
    pairs = [part for pair in zip(conditions, values, strict=True) for part in pair]
    return (*pairs, otherwise), otherwise.type


def _if_rule(arguments: Arguments) -> tuple[Arguments, Type]:
    if len(arguments) != 3:
        raise Mismatch
    return _case_rule(arguments)


def _case(frame: Frame, call: Call) -> pa.Array:
    waiting: Mask = np.ones(frame.length, np.bool_)
    result = pa.nulls(frame.length, call.type.arrow)
    for condition, value in zip(call.arguments[:-1:2], call.arguments[1::2], strict=True):
        taken = waiting & truth(frame.only(waiting).value(condition))
        result = pc.if_else(pa.array(taken), frame.only(taken).value(value), result)
        waiting = waiting & ~taken
    return pc.if_else(pa.array(waiting), frame.only(waiting).value(call.arguments[-1]), result)


def _side_by_side(arguments: Arguments) -> tuple[Arguments, Type]:
    if not arguments:
        raise Mismatch
    coerced = unify(arguments)
    return coerced, coerced[0].type


def _two_side_by_side(arguments: Arguments) -> tuple[Arguments, Type]:
    if len(arguments) != 2:
        raise Mismatch
    return _side_by_side(arguments)


def _coalesce(frame: Frame, call: Call) -> pa.Array:
    result = frame.value(call.arguments[0])
    for argument in call.arguments[1:]:
        missing = nulls(result)
        if not missing.any():
            break
        result = pc.coalesce(result, frame.only(missing).value(argument))
    return result


def _nvl2_rule(arguments: Arguments) -> tuple[Arguments, Type]:
    if len(arguments) != 3:
        raise Mismatch
    values = unify(arguments[1:])
    return (arguments[0], *values), values[0].type


def _nvl2(frame: Frame, call: Call) -> pa.Array:
    given, present, absent = call.arguments
    missing = nulls(frame.value(given))
    return pc.if_else(pa.array(missing), frame.only(missing).value(absent), frame.only(~missing).value(present))


def _nullif_rule(arguments: Arguments) -> tuple[Arguments, Type]:
    """The result has the type of the first argument; only the second is cast to the type in which they are compared."""
    if len(arguments) != 2:
        raise Mismatch
    compared = comparable(arguments)
    value = compared[0] if untyped(arguments[0]) else arguments[0]
    return (value, compared[1]), value.type


def _nullif(frame: Frame, call: Call) -> pa.Array:
    value, other = frame.arguments(call)
    compared, failed = try_cast(value, other.type)
    frame.failing(compared, numbers(failed), f"cannot cast {call.type} to {call.arguments[1].type}", [value])
    return blank(value, truth(equal(compared, other)))


def _only_row_rule(arguments: Arguments) -> tuple[Arguments, Type]:
    if len(arguments) != 2:
        raise Mismatch
    return (arguments[0], implicit(arguments[1], BIGINT)), arguments[0].type


def _only_row(frame: Frame, call: Call) -> pa.Array:
    value, rows = frame.arguments(call)
    failed = truth(pc.greater(rows, 1))
    return frame.failing(blank(value, failed), failed, "a subquery that stands for a value has several rows", [rows])


def _no_rule(arguments: Arguments) -> tuple[Arguments, Type]:
    raise Mismatch  # a cast is built by sash.scalar.build.cast, for its type is not that of its arguments


def _cast(frame: Frame, call: Call) -> pa.Array:
    (value,) = frame.arguments(call)
    result, failed = try_cast(value, call.type.arrow)
    return frame.failing(result, numbers(failed), f"cannot cast {call.arguments[0].type} to {call.type}", [value])


def _try_cast(frame: Frame, call: Call) -> pa.Array:
    (value,) = frame.arguments(call)
    return try_cast(value, call.type.arrow)[0]


FUNCTIONS = (
    Function(("case",), "conditions and values in turn, and a last value", _case_rule, _case),
    Function(("if", "iff"), "a condition and two values", _if_rule, _case),
    Function(("coalesce",), "one or more values of one type", _side_by_side, _coalesce),
    Function(("nvl", "ifnull"), "two values of one type", _two_side_by_side, _coalesce),
    Function(("nvl2",), "a value and two values of one type", _nvl2_rule, _nvl2),
    Function(("nullif",), "two values of comparable types", _nullif_rule, _nullif),
    Function(("only_row",), "a value and a number of rows", _only_row_rule, _only_row),
    Function(("cast",), "a value AS a type", _no_rule, _cast),
    Function(("try_cast",), "a value AS a type", _no_rule, _try_cast),
)
