"""Groups of rows and what is aggregated for each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from sash.operators.spec import UnarySpec
from sash.plan.aggregates import AggregateCall
from sash.plan.patterns import Pattern
from sash.schema import Field, Schema


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
