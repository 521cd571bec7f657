"""Specs of operators over the stores of the papers: only the patterns benchmark asks for them, and `plans.py` puts them in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from sash.operators.cost import Edge
from sash.operators.estimate import Estimate
from sash.operators.join.spec import JoinSpec, SignedJoinSpec
from sash.operators.lookback import NO_LOOKBACK
from sash.operators.spec import Signed, UnarySpec

if TYPE_CHECKING:
    from sash.operators.operator import Operator, OperatorContext


class OfPapers(Signed, UnarySpec):
    """Is put into a plan that is chosen already: it is measured, never estimated."""

    lookback = NO_LOOKBACK
    needs_exact_departures = False

    def estimate(self, *inputs: Estimate) -> NoReturn:
        raise NotImplementedError(f"{self.title} is measured, not estimated")

    def cost(self, inputs: Sequence[Edge], output: Edge) -> NoReturn:
        raise NotImplementedError(f"{self.title} is measured, not estimated")


@dataclass(frozen=True)
class ListExpireSpec(OfPapers):
    """Expiration from one list, scanned at every tick of time from `start` on: before, nothing can expire."""

    tick: int
    start: int

    keeps = "list of rows, scanned"

    def build(self, context: OperatorContext) -> Operator:
        from benchmarks.papers.operators import ListExpire

        return ListExpire(self, context)


@dataclass(frozen=True)
class PartitionExpireSpec(OfPapers):
    """Expiration from partitions, for rows that live no longer than `longest`."""

    partitions: int
    longest: int

    keeps = "partitions of rows by expiration"

    def build(self, context: OperatorContext) -> Operator:
        from benchmarks.papers.operators import PartitionExpire

        return PartitionExpire(self, context)


@dataclass(frozen=True)
class BucketJoinSpec(JoinSpec):
    """Join of rows that carry their expiry."""

    keeps = "buckets of rows per side"

    def build(self, context: OperatorContext) -> Operator:
        from benchmarks.papers.operators import BucketJoin

        return BucketJoin(self, context)


@dataclass(frozen=True)
class SignedBucketJoinSpec(SignedJoinSpec):
    """Join of signed changes."""

    keeps = "buckets of rows per side"

    def build(self, context: OperatorContext) -> Operator:
        from benchmarks.papers.operators import SignedBucketJoin

        return SignedBucketJoin(self, context)


@dataclass(frozen=True)
class ListDistinctSpec(OfPapers):
    """Every row once, of rows that leave in the order they came."""

    is_plain: bool

    keeps = "lists of input and output"

    def build(self, context: OperatorContext) -> Operator:
        from benchmarks.papers.operators import ListDistinct

        return ListDistinct(self, context)


@dataclass(frozen=True)
class BucketDistinctSpec(OfPapers):
    """Every row once, of signed changes."""

    keeps = "buckets of input and output"

    def build(self, context: OperatorContext) -> Operator:
        from benchmarks.papers.operators import BucketDistinct

        return BucketDistinct(self, context)


@dataclass(frozen=True)
class BucketResultSpec(OfPapers):
    """The answer, kept by key."""

    keys: tuple[int, ...]

    keeps = "buckets of the answer"

    def build(self, context: OperatorContext) -> Operator:
        from benchmarks.papers.operators import BucketResult

        return BucketResult(self, context)


@dataclass(frozen=True)
class PartitionResultSpec(OfPapers):
    """The answer, kept by expiration: a row leaves its window `longest` after the instant in a column."""

    partitions: int
    longest: int
    instant: int

    keeps = "partitions of the answer"

    def build(self, context: OperatorContext) -> Operator:
        from benchmarks.papers.operators import PartitionResult

        return PartitionResult(self, context)
