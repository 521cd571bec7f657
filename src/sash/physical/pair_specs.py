"""Specs of operators that pair rows of two inputs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from sash.logical.nodes import Pairing
from sash.logical.patterns import Pattern
from sash.physical.specs import BinarySpec
from sash.scalar.nodes import Expression
from sash.schema import Schema


@dataclass(frozen=True)
class JoinSpec(BinarySpec):
    """Join of two inputs whose rows carry their expiry."""

    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]

    @cached_property
    def schema(self) -> Schema:
        return Schema(self.left.schema.fields + self.right.schema.fields)

    @property
    def pattern(self) -> Pattern:
        patterns = {self.left.pattern, self.right.pattern}
        return Pattern.MONOTONIC if patterns == {Pattern.MONOTONIC} else Pattern.WEAK


@dataclass(frozen=True)
class SignedJoinSpec(JoinSpec):
    """Join of two inputs of signed changes."""

    @property
    def pattern(self) -> Pattern:
        return Pattern.STRICT


@dataclass(frozen=True)
class LookupSpec(JoinSpec):
    """Join of arriving rows with a table as it is when they arrive; later changes of the table touch only later rows."""

    @property
    def pattern(self) -> Pattern:
        return self.left.pattern


@dataclass(frozen=True)
class SignedLookupSpec(LookupSpec):
    """The same for rows that leave by a negative one, which takes back what was given for them."""

    @property
    def pattern(self) -> Pattern:
        return Pattern.STRICT


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
