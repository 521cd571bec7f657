"""The spec of window functions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_

from sash.operators.spec import UnarySpec
from sash.plan.nodes import Order
from sash.plan.over import OverCall, Reach
from sash.plan.patterns import Pattern
from sash.schema import Field, Schema


@dataclass(frozen=True)
class OverSpec(UnarySpec):
    """Window functions over partitions of signed changes."""

    partition: tuple[int, ...]
    order: tuple[Order, ...]
    calls: tuple[OverCall, ...]
    names: tuple[str, ...]

    @cached_property
    def schema(self) -> Schema:
        extra = tuple(Field(name, call.type) for name, call in zip(self.names, self.calls, strict=True))
        return Schema(self.input.schema.fields + extra)

    @property
    def pattern(self) -> Pattern:
        return Pattern.STRICT

    @property
    def reach(self) -> Reach:
        """How far a change shows."""
        return reduce(or_, (call.reach for call in self.calls), Reach())
