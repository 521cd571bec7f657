"""Set operators and negation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from sash.operators.cost import PASS, Cost, Edge
from sash.operators.estimate import LEAST, Estimate
from sash.operators.lookback import NO_LOOKBACK
from sash.operators.spec import BinarySpec, Messages, Signed, Spec, passed_on
from sash.plan.nodes import Combination
from sash.plan.patterns import Pattern
from sash.tree import rebuild

if TYPE_CHECKING:
    from sash.operators.operator import Operator, OperatorContext


COMBINE, MINUS = 900.0, 1000.0  # the price of a change
MOST_TAKEN_AWAY = 0.95  # of the left side of a negation: values are never so uniform that nothing is left
NEGATIONS = (Combination.EXCEPT_ALL, Combination.EXCEPT, Combination.ANTI)


@dataclass(frozen=True)
class UnionAllSpec(BinarySpec):
    """The rows of both inputs. Either both carry their expiry or both are signed."""

    keeps = ""
    lookback = NO_LOOKBACK
    needs_exact_departures = False

    @cached_property
    def lifetime(self) -> int | None:
        return self.left.lifetime if self.left.lifetime == self.right.lifetime else None

    @cached_property
    def pattern(self) -> Pattern:
        patterns = sorted((self.left.pattern, self.right.pattern))
        # Rows of two different windows leave in the order of neither; those that never leave do not disturb it.
        is_mixed = patterns == [Pattern.WEAKEST, Pattern.WEAKEST] and self.lifetime is None
        return Pattern.WEAK if is_mixed else patterns[1]

    @cached_property
    def all_leave(self) -> bool:
        return all(below.pattern is Pattern.WEAKEST and below.all_leave for below in self.inputs)

    @cached_property
    def messages(self) -> Messages:
        return passed_on(self.inputs)

    def with_messages(self, merges: bool, announced: Callable[[Spec], Spec]) -> Spec:
        return rebuild(self, announced)

    def estimate(self, *inputs: Estimate) -> Estimate:
        left, right = inputs
        values = tuple(map(max, left.values, right.values))
        return Estimate(left.rate + right.rate, left.rows + right.rows, values, left.premature, left.leaves or right.leaves)

    def cost(self, inputs: Sequence[Edge], output: Edge) -> Cost:
        return Cost(sum(edge.changes for edge in inputs) * PASS, 0.0)

    def build(self, context: OperatorContext) -> Operator:
        from sash.operators.sets.combine import UnionAll

        return UnionAll(self, context)


@dataclass(frozen=True)
class CombineSpec(Signed, BinarySpec):
    """Set operators of two inputs of signed changes; a union is none of them."""

    how: Combination

    keeps = "bag of rows with a count per side"
    lookback = NO_LOOKBACK
    needs_exact_departures = False

    @property
    def is_negation(self) -> bool:
        return self.how in NEGATIONS

    def estimate(self, *inputs: Estimate) -> Estimate:
        left, right = inputs
        share = min(1.0, right.rows / max(LEAST, left.rows))
        return _negated(left, share) if self.is_negation else replace(left, rate=left.rate * share, rows=left.rows * share)

    def cost(self, inputs: Sequence[Edge], output: Edge) -> Cost:
        left, right = inputs
        return Cost((left.changes + right.changes) * COMBINE, left.distinct_rows + right.distinct_rows)

    def build(self, context: OperatorContext) -> Operator:
        from sash.operators.sets.combine import Combine

        return Combine(self, context)


@dataclass(frozen=True)
class MinusSpec(Signed, BinarySpec):
    """Negation on key columns, of two inputs of signed changes."""

    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    by_position: bool = False  # among rows of one instant, that of a stream counts, not the order of the full row

    keeps = "list of left rows per key, by age"
    lookback = NO_LOOKBACK
    needs_exact_departures = True
    is_negation = True

    def estimate(self, *inputs: Estimate) -> Estimate:
        """The more values both sides have in common, the more is taken away, and the more often too early."""
        left, right = inputs
        common = min(1.0, right.domain(self.right_keys) / left.domain(self.left_keys))
        return _negated(left, min(1.0, right.rows / max(LEAST, left.rows)) * common)

    def cost(self, inputs: Sequence[Edge], output: Edge) -> Cost:
        left, right = inputs
        return Cost((left.changes + right.changes) * MINUS, left.rows)

    def build(self, context: OperatorContext) -> Operator:
        from sash.operators.sets.minus import Minus

        return Minus(self, context)


def _negated(left: Estimate, most: float) -> Estimate:
    share = min(most, MOST_TAKEN_AWAY)
    return replace(left, rate=left.rate * (1 - share) * (1 + share), rows=left.rows * (1 - share), premature=share)
