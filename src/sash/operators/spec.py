"""What a spec is: the frozen facts of one operator, with the choices made.

A spec knows its inputs, the schema and the update pattern of what it gives. Equal specs are one object, and one operator: that
is how queries share their work.
"""

from __future__ import annotations

import hashlib
from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

from sash.deltas import Layout
from sash.interned import Interned
from sash.operators.all_rows import AllRows
from sash.operators.cost import Cost, Edge
from sash.operators.estimate import Estimate
from sash.operators.lookback import NO_LOOKBACK, Lookback
from sash.plan.patterns import Pattern
from sash.plan.times import Time
from sash.schema import Schema
from sash.tree import from_below, reached

if TYPE_CHECKING:
    from sash.operators.operator import Operator, OperatorContext

EXCHANGE = 1500.0  # the price of a change through the network
TIME = ""  # in the place of a stream's name: whatever tells a job the time


def beginning(stream: str, stamped_by: tuple[str, ...] | None) -> str:
    """The name of the instant of a stream's first row; a latent row may have several."""
    return f"{stream} in the time of {', '.join(stamped_by)}" if stamped_by else stream


class Messages(Enum):
    """Which messages an edge carries."""

    NONE = "none"
    SINGLE = "single"  # one for every instant
    MERGED = "merged"  # at most one, behind all rows

    @classmethod
    def of(cls, merges: bool) -> Messages:
        return cls.MERGED if merges else cls.SINGLE


def passed_on(inputs: Iterable[Spec]) -> Messages:
    """The messages of the inputs, for one that lets them through; all that have any have the same."""
    found = {below.messages for below in inputs} - {Messages.NONE}
    return found.pop() if found else Messages.NONE


class SpecClass(Interned, ABCMeta):
    """Specs are interned, and one that lacks a facet cannot be made."""


@dataclass(frozen=True)
class Spec(metaclass=SpecClass):
    """The facets of an operator: all that the planner, the runtime and EXPLAIN ask of it.

    Where a facet is the same for all specs of a class it is an attribute of the class: `keeps = ""`.
    """

    @property
    @abstractmethod
    def inputs(self) -> tuple[Spec, ...]:
        """What it reads, on its own level."""

    @property
    @abstractmethod
    def schema(self) -> Schema: ...

    @property
    @abstractmethod
    def pattern(self) -> Pattern:
        """How rows leave its output."""

    @property
    @abstractmethod
    def lifetime(self) -> int | None:
        """How long every row lives, None where that differs or a negative row may come before."""

    @property
    @abstractmethod
    def all_leave(self) -> bool:
        """Of rows that leave in order: whether there are none between them that stay."""

    @property
    @abstractmethod
    def keeps(self) -> str:
        """What it remembers, in the words of EXPLAIN; "" for one that remembers nothing."""

    @property
    @abstractmethod
    def lookback(self) -> Lookback:
        """How far back in its inputs it looks."""

    @property
    @abstractmethod
    def needs_exact_departures(self) -> bool:
        """Whether what it gives depends on when something leaves, or changes by time alone, not only on what is there."""

    @abstractmethod
    def estimate(self, *inputs: Estimate) -> Estimate:
        """What is expected of its output, given its inputs."""

    @abstractmethod
    def cost(self, inputs: Sequence[Edge], output: Edge) -> Cost:
        """What it costs, without what lies below."""

    @abstractmethod
    def build(self, context: OperatorContext) -> Operator:
        """The operator. It is imported here: who only plans needs no compiled kernels."""

    # Powers that few operators have.

    @property
    def messages(self) -> Messages:
        """Which messages its output carries."""
        return Messages.NONE

    def with_messages(self, merges: bool, announced: Callable[[Spec], Spec]) -> Spec | None:
        """The same over announced inputs, whose messages it passes on; None: its own rows are to be announced."""
        return None

    @property
    def subtracts_rows(self) -> bool:
        """Whether negative rows from its windows cost it less than to keep rows until a message comes."""
        return False

    @property
    def makes_pairs(self) -> bool:
        """Whether it joins rows of two inputs."""
        return False

    @property
    def expiring(self) -> Spec | None:
        """Of one that makes signed changes of rows that carry their expiry, and does nothing else: those rows."""
        return None

    def with_pairs_found_again(self, columns: tuple[int, ...], names: tuple[str, ...]) -> Spec | None:
        """Some of its columns, signed, of a join that keeps no pairs but finds those of a row that leaves; or None."""
        return None

    def suited(self) -> Spec:
        """The same by an operator that knows in which order the rows of its input leave, where there is one."""
        return self

    @property
    def without_window(self) -> Spec | None:
        """Of rows that a time window holds: the same rows as they come, without it; None for anything else."""
        return None

    @property
    def of_all_rows(self) -> AllRows:
        """Of some rows and columns that a time window holds: those of a window of all of them."""
        return AllRows(self, (), tuple(range(len(self.schema))))

    @property
    def common(self) -> Spec | None:
        """Of a join of two time windows: the same of all rows and columns, which others may have too; None for anything else."""
        return None

    @property
    def above_common(self) -> Spec:
        """The same as a choice from that, which stays when the join goes."""
        raise NotImplementedError("only of what has such a join")

    @property
    def without_slides(self) -> tuple[Spec, int, int] | None:
        """Of rows that a window holds which jumps by time: the same rows as they come, without it, its size and its slide."""
        return None

    @property
    def jump(self) -> int:
        """Of a window that moves by rows of a stream: how many of them it moves at a time."""
        return 1

    @property
    def shared(self) -> Spec | None:
        """Of a tap: the operator with several outputs that it is one of. It does the work of all of them."""
        return None

    @property
    def key_columns(self) -> int | None:
        """No two rows of its output agree in so many of the first columns; None where that is not known."""
        return None

    @property
    def is_transparent(self) -> bool:
        """Whether rows pass it one by one: what it gave can be told again from what it got."""
        return False

    @property
    def shows_time(self) -> bool:
        """Whether its rows change with time alone, in a way that cannot be made again from them."""
        return False

    @property
    def present_of(self) -> Time | None:
        """While a new view is filled: the streams before whose present it shows nothing."""
        return None

    @property
    def is_negation(self) -> bool:
        """Whether a row on one side takes rows of the other back."""
        return False

    def begins_with(self, is_first_shard: bool) -> tuple[str, ...] | None:
        """Of one that shows something before it has a row: the streams with whose first row that begins."""
        return None

    @property
    def before_emission(self) -> Spec:
        """Itself, without what holds its changes back."""
        return self

    @property
    def is_held_back(self) -> bool:
        return self.before_emission is not self

    @property
    def made_of(self) -> tuple[Spec, ...]:
        """What it reads, also on the other side of an exchange."""
        return self.inputs

    @property
    def title(self) -> str:
        """What EXPLAIN calls it."""
        return type(self).__name__.removesuffix("Spec")

    @cached_property
    def layout(self) -> Layout:
        return Layout(self.schema)

    @cached_property
    def fingerprint(self) -> str:
        """A name for the state of this operator: the same after a restart, whatever else runs."""
        for part in parts_from_below(self, lambda one: "fingerprint" in one.__dict__):
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
    return set(reached(spec, lambda one: one.inputs))


def parts(spec: Spec) -> dict[Spec, None]:
    """A spec and everything below it, also on lower levels, each once, in the order in which it is read."""
    return reached(spec, lambda one: one.made_of)


def parts_from_below(spec: Spec, is_known: Callable[[Spec], bool] = lambda spec: False) -> list[Spec]:
    """The same, each after all that it is made of, but for what is known already, and what lies below that.

    What is asked of every part is asked in this order where plans are run: a plan may be deeper than a stack.
    """
    return from_below(spec, lambda one: one.made_of, is_known)


@dataclass(frozen=True)
class UnarySpec(Spec):
    """One input, whose rows it may filter, delay or sign, but whose columns it keeps unless it says otherwise."""

    input: Spec

    @property
    def inputs(self) -> tuple[Spec, ...]:
        return (self.input,)

    @property
    def schema(self) -> Schema:
        return self.input.schema


@dataclass(frozen=True)
class BinarySpec(Spec):
    """Two inputs; the columns are those of the left one unless it says otherwise."""

    left: Spec
    right: Spec

    @property
    def inputs(self) -> tuple[Spec, ...]:
        return (self.left, self.right)

    @property
    def schema(self) -> Schema:
        return self.left.schema


class Signed(Spec):
    """Gives signed changes: nobody knows before when a row leaves."""

    pattern = Pattern.STRICT
    lifetime = None
    all_leave = False


class FollowsInput(Spec):
    """Rows leave as those of the first input do."""

    @cached_property
    def pattern(self) -> Pattern:
        return self.inputs[0].pattern

    @cached_property
    def lifetime(self) -> int | None:
        return self.inputs[0].lifetime

    @cached_property
    def all_leave(self) -> bool:
        return self.inputs[0].all_leave


class RowByRow(FollowsInput, UnarySpec):
    """Looks at one row after the other, as it comes and as it leaves, and keeps none."""

    keeps = ""
    lookback = NO_LOOKBACK
    needs_exact_departures = False
    is_transparent = True

    @cached_property
    def messages(self) -> Messages:
        return passed_on(self.inputs)

    def with_messages(self, merges: bool, announced: Callable[[Spec], Spec]) -> Spec | None:
        """Over a window it stays below the announcement, where it is done once."""
        below = self.input.with_messages(merges, announced)
        return None if below is None else replace(self, input=below)

    @cached_property
    def without_window(self) -> Spec | None:
        return None if self.input.without_window is None else replace(self, input=self.input.without_window)

    @cached_property
    def without_slides(self) -> tuple[Spec, int, int] | None:
        if self.input.without_slides is None:
            return None
        rows, size, slide = self.input.without_slides
        return replace(self, input=rows), size, slide


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

    lifetime = None
    keeps = ""
    lookback = NO_LOOKBACK
    needs_exact_departures = False
    inputs = ()

    @property
    def schema(self) -> Schema:
        return self.columns

    @property
    def pattern(self) -> Pattern:
        return self.carries

    @property
    def all_leave(self) -> bool:
        return self.source is not None and self.source.all_leave

    @property
    def made_of(self) -> tuple[Spec, ...]:
        return () if self.source is None else (self.source,)

    @property
    def base(self) -> PortSpec:
        """Where the rows come in that are read here."""
        return replace(self, since=0) if self.since and self.stream is not None else self

    @property
    def title(self) -> str:
        if self.is_time:
            return "Port  time"
        names = ", ".join(self.schema.names[column] for column in self.key)
        spread = f"by {names}" if names else "to one shard"
        return f"Port  {self.stream}, {spread}" if self.stream is not None else f"Port  exchange {spread}, level {self.level}"

    def estimate(self, *inputs: Estimate) -> Estimate:
        """Of an exchange. What comes from outside is known from statistics."""
        (sent,) = inputs
        return sent

    def cost(self, inputs: Sequence[Edge], output: Edge) -> Cost:
        return Cost(sum(edge.changes for edge in inputs) * EXCHANGE, 0.0)

    def build(self, context: OperatorContext) -> Operator:
        raise NotImplementedError("rows enter at a port: no operator runs there")
