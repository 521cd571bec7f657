"""Physical plans: one frozen spec for every operator that will run, with the choices made.

A spec knows its inputs, the schema and the update pattern of what it gives. Equal specs are one operator: that is how queries
share their work.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

from sash.deltas import Layout
from sash.logical.patterns import Pattern
from sash.scalar.nodes import Expression
from sash.schema import FOREVER, Field, Schema

TIME = ""  # in the place of a stream's name: whatever tells a job the time


def beginning(stream: str, stamped_by: tuple[str, ...] | None) -> str:
    """The name of the instant of a stream's first row; a latent row may have several."""
    return f"{stream} in the time of {', '.join(stamped_by)}" if stamped_by else stream


@dataclass(frozen=True)
class Spec:
    """What all specs have."""

    def __init_subclass__(cls) -> None:
        setattr(cls, "__hash__", Spec._known_hash)  # noqa: B010  # a dataclass keeps it: specs are looked up at every step

    def _known_hash(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((type(self).__name__, *(getattr(self, member.name) for member in fields(self))))

    def __getstate__(self) -> dict[str, Any]:
        """Texts have other hashes in another process."""
        return {name: value for name, value in self.__dict__.items() if name != "_hash"}

    @property
    def inputs(self) -> tuple[Spec, ...]:
        return ()

    @property
    def schema(self) -> Schema:
        return self.inputs[0].schema

    @property
    def pattern(self) -> Pattern:
        return self.inputs[0].pattern

    @property
    def lifetime(self) -> int | None:
        """How long every row lives, None where that differs or a negative row may come before."""
        return None

    @cached_property
    def layout(self) -> Layout:
        return Layout(self.schema)

    @cached_property
    def fingerprint(self) -> str:
        """A name for the state of this operator: the same after a restart, whatever else runs."""
        own = [getattr(self, member.name) for member in fields(self)]
        text = ", ".join(value.fingerprint if isinstance(value, Spec) else repr(value) for value in own)
        return f"{type(self).__name__}-{hashlib.sha1(text.encode()).hexdigest()[:12]}"


def below(spec: Spec) -> set[Spec]:
    """A spec and all that it is made of on its level."""
    return {spec}.union(*map(below, spec.inputs))


@dataclass(frozen=True)
class UnarySpec(Spec):
    input: Spec

    @property
    def inputs(self) -> tuple[Spec, ...]:
        return (self.input,)


@dataclass(frozen=True)
class BinarySpec(Spec):
    left: Spec
    right: Spec

    @property
    def inputs(self) -> tuple[Spec, ...]:
        return (self.left, self.right)


@dataclass(frozen=True)
class PortSpec(Spec):
    """Where rows enter a level: those of a stream, or what a lower level sends through an exchange.

    Rows go to the shard that the hash of the key columns names; without a key all go to shard 0.
    """

    level: int
    columns: Schema
    carries: Pattern
    key: tuple[int, ...]
    stream: str | None = None
    is_table: bool = False
    since: int = 0  # of a view that shares nothing with older ones: the same rows under another name
    source: Spec | None = None  # what the lower level sends; it is computed there, so it is no input here
    source_level: int = 0
    stamped_by: tuple[str, ...] | None = None  # of a latent stream: those whose least clock its rows take; none: their arrival
    is_time: bool = False  # brings no rows, only the clock of all streams: for what changes with time, whatever it reads

    @property
    def schema(self) -> Schema:
        return self.columns

    @property
    def pattern(self) -> Pattern:
        return self.carries

    @property
    def base(self) -> PortSpec:
        """Where the rows come in that are read here."""
        return replace(self, since=0) if self.since and self.stream is not None else self


@dataclass(frozen=True)
class TimeWindowSpec(UnarySpec):
    """A row of ts is alive in [ts, ts + size)."""

    size: int

    @property
    def lifetime(self) -> int | None:
        return self.size

    @property
    def pattern(self) -> Pattern:
        return Pattern.MONOTONIC if self.size == FOREVER else Pattern.WEAKEST


@dataclass(frozen=True)
class JumpingWindowSpec(UnarySpec):
    """A row becomes visible at the end E of its basic window and is alive in [E, E + size)."""

    size: int
    slide: int

    @property
    def lifetime(self) -> int | None:
        return self.size

    @property
    def pattern(self) -> Pattern:
        return Pattern.WEAKEST


@dataclass(frozen=True)
class CountWindowSpec(UnarySpec):
    """The last `size` rows, in steps of `slide`; rows leave when others push them out."""

    size: int
    slide: int

    @property
    def pattern(self) -> Pattern:
        return Pattern.STRICT


@dataclass(frozen=True)
class PartitionWindowSpec(UnarySpec):
    """The last `size` rows of every partition."""

    size: int
    columns: tuple[int, ...]

    @property
    def pattern(self) -> Pattern:
        return Pattern.STRICT


@dataclass(frozen=True)
class FilterSpec(UnarySpec):
    predicate: Expression

    @property
    def lifetime(self) -> int | None:
        return self.input.lifetime


@dataclass(frozen=True)
class ProjectSpec(UnarySpec):
    expressions: tuple[Expression, ...]
    names: tuple[str, ...]

    @property
    def lifetime(self) -> int | None:
        return self.input.lifetime

    @cached_property
    def schema(self) -> Schema:
        return Schema(tuple(Field(n, e.type) for n, e in zip(self.names, self.expressions, strict=True)))


@dataclass(frozen=True)
class ExpireSpec(UnarySpec):
    """Rows that carry their expiry become signed changes. The pattern of the input picks the store: a ring or a heap."""

    @property
    def pattern(self) -> Pattern:
        return Pattern.STRICT


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
    """Signed changes, held until their period ends."""

    period: int


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
