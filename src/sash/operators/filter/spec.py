"""Selection."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from sash.operators.spec import UnarySpec
from sash.scalar.nodes import Expression


@dataclass(frozen=True)
class FilterSpec(UnarySpec):
    predicate: Expression

    @cached_property
    def lifetime(self) -> int | None:
        return self.input.lifetime
