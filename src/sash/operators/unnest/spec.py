"""The spec of taking arrays apart."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from sash.operators.spec import UnarySpec
from sash.plan.unnest import unnested_fields
from sash.scalar.nodes import Expression
from sash.schema import Schema


@dataclass(frozen=True)
class UnnestSpec(UnarySpec):
    """A row for every element of an array, of signed changes: a row that expires does so before it becomes many."""

    array: Expression
    name: str
    place_name: str | None
    is_outer: bool

    @cached_property
    def schema(self) -> Schema:
        return Schema(self.input.schema.fields + unnested_fields(self.array, self.name, self.place_name))
