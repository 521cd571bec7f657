"""What makes streams of relations, relations of streams, and says when their changes are shown."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from sash.operators.spec import PortSpec, Spec, UnarySpec
from sash.plan.patterns import Pattern
from sash.schema import Field, Schema


@dataclass(frozen=True)
class BeginSpec(UnarySpec):
    """Nothing is shown before the first row of any of these streams: what was there already comes then."""

    streams: tuple[str, ...]


@dataclass(frozen=True)
class InsertionsSpec(UnarySpec):
    """The rows that enter, as a stream; within an instant in the order of the full row."""

    @property
    def pattern(self) -> Pattern:
        return Pattern.MONOTONIC


@dataclass(frozen=True)
class DeletionsSpec(UnarySpec):
    """The rows that leave, as a stream; within an instant in the order of the full row."""

    @property
    def pattern(self) -> Pattern:
        return Pattern.MONOTONIC


@dataclass(frozen=True)
class SnapshotsSpec(UnarySpec):
    """All rows after every instant with a change, as a stream; within an instant in the order of the full row."""

    @property
    def pattern(self) -> Pattern:
        return Pattern.MONOTONIC


@dataclass(frozen=True)
class EmitSpec(UnarySpec):
    """Signed changes, held until their period ends, in the time of the view; what it reads may be ahead of that, for others."""

    time: PortSpec
    period: int

    @property
    def inputs(self) -> tuple[Spec, ...]:
        return (self.input, self.time)


@dataclass(frozen=True)
class TableChangesSpec(UnarySpec):
    """Rows of a stream as changes of a table, by the sign in one of their columns."""

    columns: tuple[int, ...]
    sign: int
    names: tuple[str, ...]

    @cached_property
    def schema(self) -> Schema:
        types = self.input.schema.types
        return Schema(tuple(Field(n, types[place]) for n, place in zip(self.names, self.columns, strict=True)))

    @property
    def pattern(self) -> Pattern:
        return Pattern.STRICT
