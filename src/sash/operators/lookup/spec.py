"""Joins of arriving rows with a table as it is when they arrive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sash.operators.cost import Cost, Edge
from sash.operators.estimate import Estimate
from sash.operators.join.spec import JOIN_PAIR, JoinSpec
from sash.operators.lookback import ONLY_NEW_ROWS
from sash.plan.patterns import Pattern

if TYPE_CHECKING:
    from sash.operators.operator import Operator, OperatorContext


LOOKUP_ROW = 500.0  # the price of a row that looks up


@dataclass(frozen=True)
class LookupSpec(JoinSpec):
    """Join of arriving rows with a table as it is when they arrive; later changes of the table touch only later rows."""

    keeps = "bag of the table, by key"
    lookback = ONLY_NEW_ROWS

    @property
    def pattern(self) -> Pattern:
        return self.left.pattern

    def estimate(self, *inputs: Estimate) -> Estimate:
        left, right = inputs
        found = right.rows * self.share_of_pairs(left, right)
        return replace(left, rate=left.rate * found, rows=left.rows * found, values=left.values + right.values)

    def cost(self, inputs: Sequence[Edge], output: Edge) -> Cost:
        left, right = inputs
        return Cost((left.changes + right.changes) * LOOKUP_ROW + output.changes * JOIN_PAIR, right.rows)

    def build(self, context: OperatorContext) -> Operator:
        from sash.operators.lookup.operator import Lookup

        return Lookup(self, context)


@dataclass(frozen=True)
class SignedLookupSpec(LookupSpec):
    """The same for rows that leave by a negative one, which takes back what was given for them."""

    keeps = "bag of the table, by key; left rows, each with what it met"
    pattern = Pattern.STRICT

    def build(self, context: OperatorContext) -> Operator:
        from sash.operators.lookup.operator import SignedLookup

        return SignedLookup(self, context)
