"""What a function is: its names, what it takes, a rule for its types, and its work on whole columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from sash.scalar.arrays import per_group
from sash.scalar.coercion import Arguments, Mismatch, implicit, null, untyped
from sash.scalar.frame import Frame, Implementation
from sash.scalar.nodes import Call, Expression, Literal
from sash.schema import DOUBLE, Type

# From the arguments as written to the arguments as they must be and the type of the result.
Rule = Callable[[Arguments], tuple[Arguments, Type]]


@dataclass(frozen=True)
class Function:
    """An entry of the registry. `takes` ends the sentence "f takes ..."; plans hold the first of the names."""

    names: tuple[str, ...]
    takes: str
    rule: Rule
    evaluate: Implementation

    @property
    def name(self) -> str:
        return self.names[0]


def plain(kernel: Callable[..., pa.Array], **options: object) -> Implementation:
    """A kernel of the arguments that never fails."""

    def evaluate(frame: Frame, call: Call) -> pa.Array:
        return kernel(*frame.arguments(call), **options)

    return evaluate


def parameterized(kernel: Callable[..., pa.Array], columns: int = 1) -> Implementation:
    """A kernel of columns and then of constants; called once per combination of them when they are columns, too."""

    def evaluate(frame: Frame, call: Call) -> pa.Array:
        arrays = [frame.value(argument) for argument in call.arguments[:columns]]
        parameters = call.arguments[columns:]
        values = [parameter.value for parameter in parameters if isinstance(parameter, Literal)]
        if len(values) < len(parameters):
            return per_group(arrays, [frame.value(parameter) for parameter in parameters], kernel, call.type.arrow)
        return pa.nulls(frame.length, call.type.arrow) if None in values else kernel(*arrays, *values)

    return evaluate


def fixed(result: Type, *parameters: Type, optional: int = 0) -> Rule:
    """Parameters of fixed types, the last ones perhaps left out."""

    def rule(arguments: Arguments) -> tuple[Arguments, Type]:
        if not len(parameters) - optional <= len(arguments) <= len(parameters):
            raise Mismatch
        return tuple(implicit(a, p) for a, p in zip(arguments, parameters, strict=False)), result

    return rule


def many(result: Type, parameter: Type, least: int = 1) -> Rule:
    """Any number of arguments of one fixed type."""

    def rule(arguments: Arguments) -> tuple[Arguments, Type]:
        if len(arguments) < least:
            raise Mismatch
        return tuple(implicit(argument, parameter) for argument in arguments), result

    return rule


def one_number(argument: Expression) -> Expression:
    """An argument that may be any number; text is read as a DOUBLE."""
    if argument.type.is_number:
        return argument
    return null(DOUBLE) if untyped(argument) else implicit(argument, DOUBLE)


def constant(expression: Expression) -> Any:
    """The value of an argument that must be written as a constant, or None."""
    return expression.value if isinstance(expression, Literal) else None
