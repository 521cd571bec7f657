"""Specs of operators over the stores of the papers: only the patterns benchmark asks for them, and `papers.py` puts them in."""

from __future__ import annotations

from dataclasses import dataclass

from sash.operators.join.spec import JoinSpec, SignedJoinSpec
from sash.operators.spec import UnarySpec
from sash.plan.patterns import Pattern


@dataclass(frozen=True)
class ListExpireSpec(UnarySpec):
    """Expiration from one list, scanned at every tick of time from `start` on: before, nothing can expire."""

    tick: int
    start: int

    @property
    def pattern(self) -> Pattern:
        return Pattern.STRICT


@dataclass(frozen=True)
class PartitionExpireSpec(UnarySpec):
    """Expiration from partitions, for rows that live no longer than `longest`."""

    partitions: int
    longest: int

    @property
    def pattern(self) -> Pattern:
        return Pattern.STRICT


@dataclass(frozen=True)
class BucketJoinSpec(JoinSpec):
    """Join of rows that carry their expiry."""


@dataclass(frozen=True)
class SignedBucketJoinSpec(SignedJoinSpec):
    """Join of signed changes."""


@dataclass(frozen=True)
class ListDistinctSpec(UnarySpec):
    """Every row once, of rows that leave in the order they came."""

    is_plain: bool

    @property
    def pattern(self) -> Pattern:
        return Pattern.STRICT


@dataclass(frozen=True)
class BucketDistinctSpec(UnarySpec):
    """Every row once, of signed changes."""


@dataclass(frozen=True)
class BucketResultSpec(UnarySpec):
    """The answer, kept by key."""

    keys: tuple[int, ...]


@dataclass(frozen=True)
class PartitionResultSpec(UnarySpec):
    """The answer, kept by expiration: a row leaves its window `longest` after the instant in a column."""

    partitions: int
    longest: int
    instant: int
