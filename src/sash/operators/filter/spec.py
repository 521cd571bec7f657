"""Selection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sash.operators.cost import Cost, Edge
from sash.operators.estimate import Estimate
from sash.operators.filter.selectivity import selectivity
from sash.operators.spec import RowByRow
from sash.scalar.nodes import Expression

if TYPE_CHECKING:
    from sash.operators.operator import Operator, OperatorContext

FILTER = 250.0  # the price of a change


@dataclass(frozen=True)
class FilterSpec(RowByRow):
    predicate: Expression


    def estimate(self, *inputs: Estimate) -> Estimate:
        (rows,) = inputs
        share = selectivity(self.predicate, rows.values)
        return replace(rows, rate=rows.rate * share, rows=rows.rows * share)

    def cost(self, inputs: Sequence[Edge], output: Edge) -> Cost:
        return Cost(inputs[0].changes * FILTER, 0.0)

    def build(self, context: OperatorContext) -> Operator:
        from sash.operators.filter.operator import Filter

        return Filter(self, context)
