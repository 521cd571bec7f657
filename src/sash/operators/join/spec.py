"""Equi-joins of two inputs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from sash.operators.spec import BinarySpec
from sash.plan.patterns import Pattern
from sash.schema import Field, Schema


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
class LeavingJoinSpec(JoinSpec):
    """Some columns of a join of two windows, as signed changes."""

    columns: tuple[int, ...]
    names: tuple[str, ...]

    @cached_property
    def schema(self) -> Schema:
        fields = self.left.schema.fields + self.right.schema.fields
        return Schema(tuple(Field(n, fields[c].type) for n, c in zip(self.names, self.columns, strict=True)))

    @property
    def pattern(self) -> Pattern:
        return Pattern.STRICT
