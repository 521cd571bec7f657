"""The spec of an ASOF join."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from sash.operators.spec import BinarySpec
from sash.plan.patterns import Pattern
from sash.schema import Schema


@dataclass(frozen=True)
class AsOfSpec(BinarySpec):
    """Nearest right rows, of two inputs of signed changes."""

    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    left_at: int
    right_at: int
    is_forward: bool
    is_strict: bool
    is_outer: bool

    @cached_property
    def schema(self) -> Schema:
        return Schema(self.left.schema.fields + self.right.schema.fields)

    @property
    def pattern(self) -> Pattern:
        return Pattern.STRICT
