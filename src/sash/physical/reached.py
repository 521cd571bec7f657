"""The spec of what changes with time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from sash.logical.patterns import Pattern
from sash.logical.times import Time
from sash.physical.specs import BinarySpec, PortSpec
from sash.schema import BOOLEAN, Field, Schema


def time_port(level: int, time: Time) -> PortSpec:
    """Where a level is told the time of some streams."""
    return PortSpec(level, Schema(()), Pattern.MONOTONIC, (), is_time=True, timed_by=time)


@dataclass(frozen=True)
class ReachedSpec(BinarySpec):
    """Whether instants are reached, for rows of signed changes on the left; the right input is the time."""

    instants: tuple[int, ...]

    @cached_property
    def schema(self) -> Schema:
        names = self.left.schema.names
        extra = tuple(Field(f"{names[place]} is reached", BOOLEAN) for place in self.instants)
        return Schema(self.left.schema.fields + extra)

    @property
    def pattern(self) -> Pattern:
        return Pattern.STRICT
