"""Scalar expressions: immutable, typed, with columns by place, so that nothing below the binder knows a name."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from sash.interned import Interned, remembered
from sash.scalar.user_functions import UserFunction
from sash.schema import Type
from sash.tree import reached, transform


@dataclass(frozen=True)
class Column(metaclass=Interned):
    """The value of the input's column at `index`."""

    index: int
    type: Type
    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Reference(metaclass=Interned):
    """What stands for a value while a query is bound, until there is a column of it (`sql/bind/references.py`).

    A finished plan has none; what reads expressions of plans raises `unfinished` where it finds one.
    """

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


Leaf = Column | Reference
Expression = Leaf | Literal | Call


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


def leaves(expression: Expression) -> Iterator[Leaf]:
    """Every column and every reference that an expression reads, in order, with repetitions."""
    if isinstance(expression, Call):
        for argument in expression.arguments:
            yield from leaves(argument)
    elif not isinstance(expression, Literal):
        yield expression


def calls(expression: Expression) -> Iterator[Call]:
    """Every call in an expression, in order, each once."""
    return (part for part in reached(expression, _arguments) if isinstance(part, Call))


def columns(expression: Expression) -> Iterator[Column]:
    """Every column that an expression of a finished plan reads, in order, with repetitions."""
    for leaf in leaves(expression):
        if isinstance(leaf, Reference):
            raise unfinished(leaf)
        yield leaf


def unfinished(reference: Reference) -> TypeError:
    """What is raised for a reference where there can be columns only: a fault of the binder."""
    return TypeError(f'{type(reference).__name__} "{reference}" has no column: the plan that it is in is not finished')


def replaced(expression: Expression, change: Callable[[Expression], Expression | None]) -> Expression:
    """An expression with something else for some of its parts: `change` says what, or None to look at what a part is made of."""
    return transform(expression, change, _arguments, _with_arguments)


def remap(expression: Expression, places: Mapping[int, int]) -> Expression:
    """The same expression over an input whose columns lie elsewhere."""

    def moved(part: Expression) -> Expression | None:
        if isinstance(part, Reference):
            raise unfinished(part)
        return Column(places[part.index], part.type, part.name) if isinstance(part, Column) else None

    return replaced(expression, moved)


def _arguments(expression: Expression) -> tuple[Expression, ...]:
    return expression.arguments if isinstance(expression, Call) else ()


def _with_arguments(expression: Expression, arguments: tuple[Expression, ...]) -> Expression:
    return replace(expression, arguments=arguments) if isinstance(expression, Call) else expression
