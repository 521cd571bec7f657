"""Comparisons. NaN equals NaN and is greater than every other number; text compares by its bytes; NULL gives NULL.

Arrays compare element by element; a NULL in them equals NULL and is less than every value.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.scalar.array_bytes import to_bytes
from sash.scalar.arrays import array_of, nulls, numbers
from sash.scalar.coercion import Arguments, Mismatch, comparable, unify
from sash.scalar.frame import Frame
from sash.scalar.functions.function import Function, Rule, plain
from sash.scalar.nodes import Call, Literal
from sash.schema import BOOLEAN, Type

Comparison = Callable[[pa.Array, pa.Array], pa.Array]


def _compared(count: int | None = None) -> Rule:
    """Arguments of one type in which they are compared; `count` of them, or two and more."""

    def rule(arguments: Arguments) -> tuple[Arguments, Type]:
        if len(arguments) < 2 or len(arguments) != (count or len(arguments)):
            raise Mismatch
        return comparable(arguments), BOOLEAN

    return rule


def _best_of(arguments: Arguments) -> tuple[Arguments, Type]:
    if len(arguments) < 2:
        raise Mismatch
    coerced = unify(arguments)
    return coerced, coerced[0].type


def equal(left: pa.Array, right: pa.Array) -> pa.Array:
    left, right = _flat(left), _flat(right)
    result = pc.equal(left, right)
    if pa.types.is_floating(left.type):
        return pc.or_(result, pc.and_(pc.is_nan(left), pc.is_nan(right)))
    return result


def less(left: pa.Array, right: pa.Array) -> pa.Array:
    left, right = _flat(left), _flat(right)
    result = pc.less(left, right)
    if pa.types.is_floating(left.type):
        return pc.or_(result, pc.and_(pc.invert(pc.is_nan(left)), pc.is_nan(right)))
    return result


def _flat(array: pa.Array) -> pa.Array:
    return to_bytes(array) if pa.types.is_list(array.type) else array


def not_equal(left: pa.Array, right: pa.Array) -> pa.Array:
    return pc.invert(equal(left, right))


def greater(left: pa.Array, right: pa.Array) -> pa.Array:
    return less(right, left)


def less_equal(left: pa.Array, right: pa.Array) -> pa.Array:
    return pc.invert(less(right, left))


def greater_equal(left: pa.Array, right: pa.Array) -> pa.Array:
    return pc.invert(less(left, right))


def null_safe_equal(left: pa.Array, right: pa.Array) -> pa.Array:
    """`<=>`: NULL equals NULL and nothing else; never NULL."""
    both = array_of(nulls(left) & nulls(right), pa.bool_(), np.zeros(len(left), np.bool_))
    return pc.or_(pc.fill_null(equal(left, right), False), both)


def _between(value: pa.Array, low: pa.Array, high: pa.Array) -> pa.Array:
    return pc.and_kleene(greater_equal(value, low), less_equal(value, high))


def _in(frame: Frame, call: Call) -> pa.Array:
    """True when found; else NULL when the value or an item is NULL."""
    items = call.arguments[1:]
    type_ = call.arguments[0].type.arrow
    if pa.types.is_floating(type_) or pa.types.is_list(type_) or not all(isinstance(item, Literal) for item in items):
        return _in_any(frame, call)
    value = frame.value(call.arguments[0])
    known = [item.value for item in items if isinstance(item, Literal) and item.value is not None]
    found = pc.is_in(value, value_set=pa.array(known, value.type))
    unknown = nulls(value) | (~numbers(found) & (len(known) < len(items)))
    return array_of(numbers(found), pa.bool_(), unknown)


def _in_any(frame: Frame, call: Call) -> pa.Array:
    value, *items = frame.arguments(call)
    result = equal(value, items[0])
    for item in items[1:]:
        result = pc.or_kleene(result, equal(value, item))
    return result


def _best(better: Comparison) -> Comparison:
    """GREATEST and LEAST: NULLs are skipped."""

    def best(*arrays: pa.Array) -> pa.Array:
        result = arrays[0]
        for array in arrays[1:]:
            taken = pc.or_(pc.is_null(result), pc.fill_null(better(array, result), False))
            result = pc.if_else(taken, array, result)
        return result

    return best


_TWO = "two values of comparable types"

FUNCTIONS = (
    Function(("equal",), _TWO, _compared(2), plain(equal)),
    Function(("not_equal",), _TWO, _compared(2), plain(not_equal)),
    Function(("less",), _TWO, _compared(2), plain(less)),
    Function(("less_equal",), _TWO, _compared(2), plain(less_equal)),
    Function(("greater",), _TWO, _compared(2), plain(greater)),
    Function(("greater_equal",), _TWO, _compared(2), plain(greater_equal)),
    Function(("null_safe_equal", "equal_null"), _TWO, _compared(2), plain(null_safe_equal)),
    Function(("between",), "a value, a lower and an upper bound", _compared(3), plain(_between)),
    Function(("in",), "a value and one or more values of a comparable type", _compared(), _in),
    Function(("greatest",), "two or more values of comparable types", _best_of, plain(_best(greater))),
    Function(("least",), "two or more values of comparable types", _best_of, plain(_best(less))),
)
