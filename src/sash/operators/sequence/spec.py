"""Sequences: A FOLLOWED BY B."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from sash.operators.spec import BinarySpec
from sash.plan.nodes import Pairing
from sash.plan.patterns import Pattern
from sash.scalar.nodes import Expression
from sash.schema import Schema


@dataclass(frozen=True)
class SequenceSpec(BinarySpec):
    """Pairs of rows of two streams, the right one after the left one."""

    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    pairing: Pairing
    within: int | None
    residual: Expression | None

    @cached_property
    def schema(self) -> Schema:
        return Schema(self.left.schema.fields + self.right.schema.fields)

    @property
    def pattern(self) -> Pattern:
        return Pattern.MONOTONIC
