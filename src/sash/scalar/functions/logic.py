"""Three-valued logic. A row whose left side settles AND or OR does not fail on the right side."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from sash.scalar.arrays import numbers, truth
from sash.scalar.coercion import Arguments, Mismatch
from sash.scalar.frame import Frame
from sash.scalar.functions.function import Function, fixed, many, plain
from sash.scalar.nodes import Call
from sash.schema import BOOLEAN, DOUBLE, Type


def _and(frame: Frame, call: Call) -> pa.Array:
    result = frame.value(call.arguments[0])
    for argument in call.arguments[1:]:
        right = frame.only(truth(pc.fill_null(result, True))).value(argument)
        result = pc.and_kleene(result, right)
    return result


def _or(frame: Frame, call: Call) -> pa.Array:
    result = frame.value(call.arguments[0])
    for argument in call.arguments[1:]:
        right = frame.only(~truth(result)).value(argument)
        result = pc.or_kleene(result, right)
    return result


def _anything(arguments: Arguments) -> tuple[Arguments, Type]:
    if len(arguments) != 1:
        raise Mismatch
    return arguments, BOOLEAN


def _is_nan(value: pa.Array) -> pa.Array:
    return pc.is_in(value, value_set=pa.array([float("nan")]))


def _is_true(value: pa.Array) -> pa.Array:
    return pa.array(truth(value))


def _is_false(value: pa.Array) -> pa.Array:
    return pa.array(~numbers(pc.fill_null(value, True)))


FUNCTIONS = (
    Function(("and",), "two or more BOOLEANs", many(BOOLEAN, BOOLEAN, 2), _and),
    Function(("or",), "two or more BOOLEANs", many(BOOLEAN, BOOLEAN, 2), _or),
    Function(("not",), "a BOOLEAN", fixed(BOOLEAN, BOOLEAN), plain(pc.invert)),
    Function(("is_null", "isnull"), "one value", _anything, plain(pc.is_null)),
    Function(("is_not_null", "isnotnull"), "one value", _anything, plain(pc.is_valid)),
    Function(("is_true",), "a BOOLEAN", fixed(BOOLEAN, BOOLEAN), plain(_is_true)),
    Function(("is_false",), "a BOOLEAN", fixed(BOOLEAN, BOOLEAN), plain(_is_false)),
    Function(("isnan",), "one number", fixed(BOOLEAN, DOUBLE), plain(_is_nan)),
)
