"""Logical plans: frozen trees of relational operators over windows.

Plans are values: equal plans are the same query, which is how equal parts of different views are found and run once.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from sash.scalar.nodes import Expression
from sash.schema import BIGINT, DOUBLE, Field, Kind, Schema, Type, decimal


@dataclass(frozen=True)
class Scan:
    """The rows of a stream as they arrive, or of a table. Before a window, a stream is only appended to."""

    name: str
    schema: Schema
    is_table: bool = False


@dataclass(frozen=True)
class Insertions:
    """ISTREAM: the rows that enter a view, as a stream; what a window on a view reads."""

    input: Plan

    @property
    def schema(self) -> Schema:
        return self.input.schema


class WindowKind(Enum):
    RANGE = "RANGE"  # by time; size in microseconds
    ROWS = "ROWS"  # by count; size in rows
    NOW = "NOW"
    UNBOUNDED = "UNBOUNDED"


@dataclass(frozen=True)
class WindowSpec:
    """What a window holds. `slide` is 0 for a window that slides with every row."""

    kind: WindowKind
    size: int = 0
    slide: int = 0
    partition: tuple[int, ...] = ()  # columns of PARTITION BY; ROWS only


@dataclass(frozen=True)
class Window:
    """A stream cut to a window: from here on a relation that changes with time."""

    input: Scan | Insertions
    spec: WindowSpec

    @property
    def schema(self) -> Schema:
        return self.input.schema


@dataclass(frozen=True)
class Filter:
    """The rows for which a BOOLEAN expression is true (not false, not NULL)."""

    input: Plan
    predicate: Expression

    @property
    def schema(self) -> Schema:
        return self.input.schema


@dataclass(frozen=True)
class Project:
    """One output column for every expression."""

    input: Plan
    expressions: tuple[Expression, ...]
    names: tuple[str, ...]

    @cached_property
    def schema(self) -> Schema:
        return Schema(tuple(Field(n, e.type) for n, e in zip(self.names, self.expressions, strict=True)))


@dataclass(frozen=True)
class Join:
    """Inner join: equal (and not NULL) on the key columns, and true on the residual, if any.

    `left_keys[i]` of the left schema is compared to `right_keys[i]` of the right one; their types are equal. No keys: a cross
    join. The output is the left columns, then the right ones; the residual is over that output.
    """

    left: Plan
    right: Plan
    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    residual: Expression | None = None

    @cached_property
    def schema(self) -> Schema:
        return Schema(self.left.schema.fields + self.right.schema.fields)


class Function(Enum):
    COUNT = "COUNT"
    SUM = "SUM"
    AVG = "AVG"
    MIN = "MIN"
    MAX = "MAX"


@dataclass(frozen=True)
class AggregateCall:
    """An aggregate of one input column; COUNT(*) has none."""

    function: Function
    argument: int | None
    argument_type: Type | None

    @property
    def type(self) -> Type:
        """As in Spark SQL."""
        if self.function is Function.COUNT:
            return BIGINT
        assert self.argument_type is not None
        if self.function in (Function.MIN, Function.MAX):
            return self.argument_type
        if self.argument_type.kind is Kind.DECIMAL:
            p, s = self.argument_type.precision, self.argument_type.scale
            if self.function is Function.SUM:
                return decimal(min(38, p + 10), s)
            return decimal(min(38, p + 4), min(s + 4, min(38, p + 4)))
        if self.function is Function.SUM and self.argument_type.is_integer:
            return BIGINT
        return DOUBLE


@dataclass(frozen=True)
class Aggregate:
    """One row per group of equal key columns (NULLs are equal); without keys, one row always.

    The output is the keys, then the calls. The binder puts a Project below, so keys and arguments are plain columns.
    """

    input: Plan
    keys: tuple[int, ...]
    calls: tuple[AggregateCall, ...]
    names: tuple[str, ...]

    @cached_property
    def schema(self) -> Schema:
        fields = self.input.schema.fields
        types = [fields[key].type for key in self.keys] + [call.type for call in self.calls]
        return Schema(tuple(Field(n, t) for n, t in zip(self.names, types, strict=True)))


Plan = Scan | Insertions | Window | Filter | Project | Join | Aggregate


def inputs(plan: Plan) -> tuple[Plan, ...]:
    if isinstance(plan, Scan):
        return ()
    if isinstance(plan, Join):
        return (plan.left, plan.right)
    return (plan.input,)


def scans(plan: Plan) -> set[Scan]:
    """Every stream and table that a plan reads."""
    if isinstance(plan, Scan):
        return {plan}
    return set().union(*(scans(child) for child in inputs(plan)))
