"""The first rows of an order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from sash.operators.spec import UnarySpec
from sash.plan.nodes import Order
from sash.plan.patterns import Pattern
from sash.schema import BIGINT, Field, Schema


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
