"""Arrays taken apart: one row for every element."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from sash.interned import Interned
from sash.scalar.nodes import Expression
from sash.schema import BIGINT, Field, Schema

if TYPE_CHECKING:
    from sash.plan.nodes import Plan


@dataclass(frozen=True)
class Unnest(metaclass=Interned):
    """Every row of the input once for each element of its array, which is a last column; then, if it is named, its place, from 1.

    No array and an empty one give no row; with `is_outer` one row, with NULL for the element.
    """

    input: Plan
    array: Expression
    name: str
    place_name: str | None = None
    is_outer: bool = False

    @cached_property
    def schema(self) -> Schema:
        return Schema(self.input.schema.fields + unnested_fields(self.array, self.name, self.place_name))


def unnested_fields(array: Expression, name: str, place_name: str | None) -> tuple[Field, ...]:
    """The columns that an array becomes."""
    assert array.type.element is not None
    element = Field(name, array.type.element)
    return (element,) if place_name is None else (element, Field(place_name, BIGINT))
