"""What a spec is: the frozen facts of one operator, with the choices made.

A spec knows its inputs, the schema and the update pattern of what it gives. Equal specs are one object, and one operator: that
is how queries share their work.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property

from sash.deltas import Layout
from sash.interned import Interned
from sash.plan.patterns import Pattern
from sash.schema import Schema

TIME = ""  # in the place of a stream's name: whatever tells a job the time


def beginning(stream: str, stamped_by: tuple[str, ...] | None) -> str:
    """The name of the instant of a stream's first row; a latent row may have several."""
    return f"{stream} in the time of {', '.join(stamped_by)}" if stamped_by else stream


@dataclass(frozen=True)
class Spec(metaclass=Interned):
    """What all specs have."""

    @property
    def inputs(self) -> tuple[Spec, ...]:
        return ()

    @property
    def schema(self) -> Schema:
        return self.inputs[0].schema

    @cached_property
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
        for part in from_below(self, lambda one: "fingerprint" in one.__dict__):
            part.__dict__["fingerprint"] = part._named()
        return str(self.__dict__["fingerprint"])

    def _named(self) -> str:
        text = ", ".join(_text(getattr(self, member.name)) for member in fields(self))
        return f"{type(self).__name__}-{hashlib.sha1(text.encode()).hexdigest()[:12]}"


def _text(value: object) -> str:
    if isinstance(value, Spec):
        return value.fingerprint
    if isinstance(value, tuple) and any(isinstance(one, Spec) for one in value):
        return ", ".join(map(_text, value))
    return repr(value)


def below(spec: Spec) -> set[Spec]:
    """A spec and all that it is made of on its level."""
    return set(_reached(spec, inputs_only))


def parts(spec: Spec) -> dict[Spec, None]:
    """A spec and everything below it, also on lower levels, each once, in the order in which it is read."""
    return _reached(spec, inputs_and_source)


def from_below(
    spec: Spec, is_known: Callable[[Spec], bool], steps: Callable[[Spec], tuple[Spec, ...]] | None = None
) -> list[Spec]:
    """The parts of a spec, each after all that it is made of, but for what is known already, and what lies below that.

    What is asked of every part is asked in this order where plans are run: a plan may be deeper than a stack.
    """
    found: dict[Spec, None] = {}
    steps = steps or inputs_and_source
    waiting: list[tuple[Spec, bool]] = [(spec, False)]
    while waiting:
        one, is_ready = waiting.pop()
        if is_ready:
            found.setdefault(one)
        elif one not in found and not is_known(one):
            waiting += [(one, True), *((lower, False) for lower in reversed(steps(one)))]
    return list(found)


def inputs_and_source(spec: Spec) -> tuple[Spec, ...]:
    """What a spec is made of, also on the other side of an exchange."""
    return (spec.source,) if isinstance(spec, PortSpec) and spec.source is not None else spec.inputs


def inputs_only(spec: Spec) -> tuple[Spec, ...]:
    return spec.inputs


def _reached(spec: Spec, steps: Callable[[Spec], tuple[Spec, ...]]) -> dict[Spec, None]:
    found: dict[Spec, None] = {}
    waiting = [spec]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found[one] = None
            waiting += reversed(steps(one))
    return found


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
    is_time: bool = False  # brings no rows, only the clock: for what changes with time, whatever it reads
    timed_by: tuple[str, ...] = ()  # of a table, and of time: the streams in whose time it goes on; none: as it is told

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
