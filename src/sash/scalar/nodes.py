"""Scalar expressions: immutable, typed, with columns by place, so that nothing below the binder knows a name."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace

from sash.interned import Interned, remembered
from sash.scalar.user_functions import UserFunction
from sash.schema import Type


@dataclass(frozen=True)
class Column(metaclass=Interned):
    """The value of the input's column at `index`."""

    index: int
    type: Type
    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Literal(metaclass=Interned):
    """A constant; `value` is None for NULL, else bool, int, float, Decimal, str, datetime, date, or a tuple for an array."""

    value: object
    type: Type

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", _hashable(self.value))

    def _identity(self) -> tuple[object, ...]:
        return _told_apart(self.value), self.type

    def __str__(self) -> str:
        return "NULL" if self.value is None else repr(self.value)


@dataclass(frozen=True)
class Call(metaclass=Interned):
    """A function or an operator of the registry in sash.scalar.functions, its arguments already of the right types."""

    function: str
    arguments: tuple[Expression, ...]
    type: Type
    user: UserFunction | None = None  # of the user, instead of one of the registry

    def _identity(self) -> tuple[object, ...]:
        return self.function, self.arguments, self.type, self.user, None if self.user is None else self.user.registration

    def __str__(self) -> str:
        return f"{self.function}({', '.join(str(argument) for argument in self.arguments)})"


Expression = Column | Literal | Call


def _hashable(value: object) -> object:
    return tuple(map(_hashable, value)) if isinstance(value, list) else value


def _told_apart(value: object) -> object:
    """Equal only for values that are the same to the bit: 0.0 equals -0.0, 1 equals True, and all NaN print alike."""
    if isinstance(value, tuple):
        return tuple(map(_told_apart, value))
    return struct.pack("d", value) if isinstance(value, float) else repr(value)


@remembered
def calls_within(expression: Expression) -> int:
    """How many calls lie within each other."""
    return 1 + max(map(calls_within, expression.arguments), default=0) if isinstance(expression, Call) else 0


def columns(expression: Expression) -> Iterator[Column]:
    """Every column that an expression reads, in order, with repetitions."""
    if isinstance(expression, Column):
        yield expression
    elif isinstance(expression, Call):
        for argument in expression.arguments:
            yield from columns(argument)


def remap(expression: Expression, places: dict[int, int]) -> Expression:
    """The same expression over an input whose columns lie elsewhere; columns below zero are of no input yet, and stay."""
    if isinstance(expression, Column):
        if expression.index < 0:
            return expression
        return Column(places[expression.index], expression.type, expression.name)
    if isinstance(expression, Call):
        arguments = tuple(remap(argument, places) for argument in expression.arguments)
        return replace(expression, arguments=arguments)
    return expression
