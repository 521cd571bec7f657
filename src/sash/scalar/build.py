"""Building expressions: functions found by name, arguments cast to what the function takes, mistakes said at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sash.errors import BadLiteral, SashError, nearest
from sash.scalar import lengths
from sash.scalar.coercion import Mismatch, cast, common_type, comparison_type, null, unify
from sash.scalar.functions import FUNCTIONS
from sash.scalar.nodes import Call, Expression
from sash.schema import LENGTH, Kind

__all__ = ["call", "cast", "common_type", "comparison_type", "function_names", "null", "unify"]

# Arithmetic operators that mean something else when one side is a time.
_ON_TIMES = {
    ("add", Kind.DATE, Kind.INT): "date_add",
    ("subtract", Kind.DATE, Kind.INT): "date_sub",
    ("subtract", Kind.TIMESTAMP, Kind.TIMESTAMP): "subtract_timestamps",
    ("subtract", Kind.TIMESTAMP, Kind.DATE): "subtract_timestamps",
    ("subtract", Kind.DATE, Kind.TIMESTAMP): "subtract_timestamps",
}


# Functions of text that mean something else when an argument is an array.
_ON_ARRAYS = {
    "concat": "array_concat", "length": "cardinality", "len": "cardinality", "reverse": "array_reverse",
    "contains": "array_contains",
}  # fmt: skip


def call(name: str, arguments: Sequence[Expression]) -> Expression:
    """The function of that name over these arguments, with its type."""
    if any(map(lengths.is_length, arguments)):
        name, counts, gives_length = lengths.meant(name.lower(), arguments)
        found = call(name, counts)
        return replace(found, type=LENGTH) if gives_length and isinstance(found, Call) else found
    kinds = tuple(argument.type.kind for argument in arguments)
    name = _ON_TIMES.get((name, *kinds), name) if len(kinds) == 2 else name
    name = _ON_ARRAYS.get(name.lower(), name) if Kind.ARRAY in kinds else name
    function = FUNCTIONS.get(name.lower())
    if function is None:
        raise _unknown(name)
    given = f"{name}({', '.join(str(argument.type) for argument in arguments)})"
    try:
        coerced, type_ = function.rule(tuple(arguments))
    except Mismatch:
        raise SashError(f"{given} does not exist", f"{name} takes {function.takes}") from None
    except BadLiteral:
        raise
    except SashError as error:
        raise SashError(f"{given} is not possible: {error.message}", error.hint) from None
    return Call(function.name, coerced, type_)


def function_names() -> list[str]:
    """Every name that `call` knows, sorted."""
    return sorted(FUNCTIONS)


def _unknown(name: str) -> SashError:
    meant = nearest(name, FUNCTIONS)
    return SashError(f'unknown function "{name}"', f'did you mean "{meant}"?' if meant else None)
