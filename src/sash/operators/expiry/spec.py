"""How rows that carry their expiry become signed changes: by themselves, by messages, or when a row comes.

A message is a change of no weight: it tells what time it is, and that some row leaves then. Only edges for which
`messages_of` says so have any, and only the operators here, filters, projections and unions meet them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from sash.interned import remembered
from sash.operators.filter.spec import FilterSpec
from sash.operators.join.spec import JoinSpec
from sash.operators.lookup.spec import LookupSpec
from sash.operators.project.spec import ProjectSpec
from sash.operators.sets.spec import UnionAllSpec
from sash.operators.spec import PortSpec, Spec, UnarySpec
from sash.plan.patterns import Pattern


@dataclass(frozen=True)
class ExpireSpec(UnarySpec):
    """Rows that carry their expiry become signed changes. The pattern of the input picks the store: a ring or a heap."""

    @property
    def pattern(self) -> Pattern:
        return Pattern.STRICT


@dataclass(frozen=True)
class AnnounceSpec(UnarySpec):
    """Rows that carry their expiry, and a message whenever one of them leaves; `merges`: at most one of them waits in an arc."""

    merges: bool

    @property
    def lifetime(self) -> int | None:
        return self.input.lifetime


@dataclass(frozen=True)
class MessageJoinSpec(JoinSpec):
    """Join of two announced inputs: passes on the messages of rows that were joined."""

    merges: bool


@dataclass(frozen=True)
class MessageLookupSpec(LookupSpec):
    """Join of an announced input with a table: passes on the messages of rows that were joined."""

    merges: bool


@dataclass(frozen=True)
class MessageExpireSpec(UnarySpec):
    """Announced rows become signed changes when a message, or a row that stands for one, says so."""

    @property
    def pattern(self) -> Pattern:
        return Pattern.STRICT


@dataclass(frozen=True)
class InputExpireSpec(UnarySpec):
    """Rows that carry their expiry become signed changes; they leave when a row comes, here or to any of `triggers`."""

    time: PortSpec  # that of the view, whose end lets all leave
    triggers: tuple[Spec, ...] = ()

    @property
    def inputs(self) -> tuple[Spec, ...]:
        return (self.input, *self.triggers, self.time)

    @property
    def pattern(self) -> Pattern:
        return Pattern.STRICT


class Messages(Enum):
    """Which messages an edge carries."""

    NONE = "none"
    SINGLE = "single"  # one for every instant
    MERGED = "merged"  # at most one, behind all rows


@remembered
def messages_of(spec: Spec) -> Messages:
    if isinstance(spec, AnnounceSpec | MessageJoinSpec | MessageLookupSpec):
        return Messages.MERGED if spec.merges else Messages.SINGLE
    if isinstance(spec, FilterSpec | ProjectSpec | UnionAllSpec):
        found = {messages_of(below) for below in spec.inputs} - {Messages.NONE}
        return found.pop() if found else Messages.NONE
    return Messages.NONE
