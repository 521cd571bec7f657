"""Windows by time and by count."""

from __future__ import annotations

from dataclasses import dataclass

from sash.operators.spec import UnarySpec
from sash.plan.patterns import Pattern
from sash.schema import FOREVER


@dataclass(frozen=True)
class TimeWindowSpec(UnarySpec):
    """A row of ts is alive in [ts, ts + size)."""

    size: int

    @property
    def lifetime(self) -> int | None:
        return self.size

    @property
    def pattern(self) -> Pattern:
        return Pattern.MONOTONIC if self.size == FOREVER else Pattern.WEAKEST


@dataclass(frozen=True)
class JumpingWindowSpec(UnarySpec):
    """A row becomes visible at the end E of its basic window and is alive in [E, E + size)."""

    size: int
    slide: int

    @property
    def lifetime(self) -> int | None:
        return self.size

    @property
    def pattern(self) -> Pattern:
        return Pattern.WEAKEST


@dataclass(frozen=True)
class CountWindowSpec(UnarySpec):
    """The last `size` rows, in steps of `slide`; rows leave when others push them out."""

    size: int
    slide: int

    @property
    def pattern(self) -> Pattern:
        return Pattern.STRICT


@dataclass(frozen=True)
class PartitionWindowSpec(UnarySpec):
    """The last `size` rows of every partition."""

    size: int
    columns: tuple[int, ...]

    @property
    def pattern(self) -> Pattern:
        return Pattern.STRICT
