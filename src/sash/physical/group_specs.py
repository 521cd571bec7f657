"""Specs of operators that keep something for every group of rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from sash.logical.aggregates import AggregateCall
from sash.logical.nodes import Order
from sash.logical.patterns import Pattern
from sash.physical.specs import UnarySpec
from sash.schema import BIGINT, Field, Schema


@dataclass(frozen=True)
class GroupBySpec(UnarySpec):
    """Groups of signed changes."""

    keys: tuple[int, ...]
    calls: tuple[AggregateCall, ...]
    names: tuple[str, ...]
    streams: tuple[str, ...] = ()  # without keys: the one row is there from the first row of any of these on

    @cached_property
    def schema(self) -> Schema:
        fields = self.input.schema.fields
        types = [fields[key].type for key in self.keys] + [call.type for call in self.calls]
        return Schema(tuple(Field(n, t) for n, t in zip(self.names, types, strict=True)))


@dataclass(frozen=True)
class OrderedGroupBySpec(GroupBySpec):
    """Groups of signed changes whose rows leave in the order they came: a least value needs no values that leave before it."""


@dataclass(frozen=True)
class SlidingGroupBySpec(GroupBySpec):
    """Groups of rows that carry their expiry and leave in the order they came: counts and sums by key."""

    @property
    def pattern(self) -> Pattern:
        return Pattern.STRICT


@dataclass(frozen=True)
class TopSpec(UnarySpec):
    """The first `count` rows of every partition after `offset` of them, of signed changes."""

    partition: tuple[int, ...]
    order: tuple[Order, ...]
    count: int
    offset: int = 0
    numbered: str | None = None

    @cached_property
    def schema(self) -> Schema:
        extra = () if self.numbered is None else (Field(self.numbered, BIGINT),)
        return Schema(self.input.schema.fields + extra)

    @property
    def pattern(self) -> Pattern:
        return Pattern.STRICT
