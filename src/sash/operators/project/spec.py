"""Projection."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from sash.operators.spec import UnarySpec
from sash.scalar.nodes import Expression
from sash.schema import Field, Schema


@dataclass(frozen=True)
class ProjectSpec(UnarySpec):
    expressions: tuple[Expression, ...]
    names: tuple[str, ...]

    @cached_property
    def lifetime(self) -> int | None:
        return self.input.lifetime

    @cached_property
    def schema(self) -> Schema:
        return Schema(tuple(Field(n, e.type) for n, e in zip(self.names, self.expressions, strict=True)))
