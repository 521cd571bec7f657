"""Lengths of time: INTERVALs, and differences of times.

A length is counted in microseconds, but it is no number: `d - DATE '2024-01-01' > 1` would hold for every later date. It is
compared with lengths, added to lengths and times, and multiplied by whole numbers. No column has this type: a length ends in a
comparison or in a time, and below those it is a BIGINT.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sash.scalar.coercion import misplaced_length, untyped
from sash.scalar.nodes import Call, Column, Expression
from sash.schema import BIGINT, LENGTH, Kind

_TIMES = (Kind.TIMESTAMP, Kind.DATE)
_COMPARED = frozenset((
    "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "null_safe_equal", "in", "is_null", "is_not_null",
))  # fmt: skip
_KEPT = frozenset(("add", "subtract", "negate", "abs", "coalesce", "nvl", "ifnull", "nullif", "least", "greatest", "if", "case"))
_CHOICES = ("if", "case")
_STEPPED = ("sequence", "generate_series")  # from a time to a time, by a length
_MOVED = {"add": "add_interval", "subtract": "subtract_interval"}


def is_length(expression: Expression) -> bool:
    return expression.type == LENGTH


def meant(name: str, arguments: Sequence[Expression]) -> tuple[str, tuple[Expression, ...], bool]:
    """The function that is called when lengths are among the arguments, with these as numbers; and whether it gives a length."""
    counts = tuple(map(counted, arguments))
    if name in _MOVED and len(arguments) == 2 and (moved := _moved(name, arguments)) is not None:
        return _MOVED[name], tuple(map(counted, moved)), False
    if name in _STEPPED and [part.type.kind in _TIMES or untyped(part) for part in arguments] == [True, True, False]:
        return name, counts, False
    others = [part for part in arguments if not is_length(part) and not untyped(part)]
    if name == "multiply" and len(others) == 1 and others[0].type.is_integer:
        return name, counts, True
    if name in _COMPARED and not others:
        return name, counts, False
    if name in _KEPT and all(name in _CHOICES and part.type.kind is Kind.BOOLEAN for part in others):
        return name, counts, True
    raise misplaced_length()


def _moved(name: str, arguments: Sequence[Expression]) -> Sequence[Expression] | None:
    """A time and the length it is moved by."""
    one, other = arguments
    if one.type.kind in _TIMES:
        return one, other
    return (other, one) if other.type.kind in _TIMES and name == "add" else None


def counted(expression: Expression) -> Expression:
    """A length as its number of microseconds; all else as it is."""
    if not is_length(expression) or isinstance(expression, Column):
        return expression
    if isinstance(expression, Call):
        return replace(expression, type=BIGINT, arguments=tuple(map(counted, expression.arguments)))
    return replace(expression, type=BIGINT)
