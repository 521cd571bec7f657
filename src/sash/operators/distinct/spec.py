"""Every row once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp
from typing import TYPE_CHECKING

from sash.operators.cost import Cost, Edge
from sash.operators.estimate import Estimate
from sash.operators.lookback import NO_LOOKBACK
from sash.operators.spec import Signed, UnarySpec

if TYPE_CHECKING:
    from sash.operators.operator import Operator, OperatorContext


DISTINCT = 500.0  # the price of a row


@dataclass(frozen=True)
class DistinctSpec(Signed, UnarySpec):
    """Every row once, of an input whose rows carry their expiry."""

    keeps = "the youngest copy of every row"
    lookback = NO_LOOKBACK
    needs_exact_departures = False

    def estimate(self, *inputs: Estimate) -> Estimate:
        (rows,) = inputs
        columns = range(len(rows.values))
        rate = rows.rate * exp(-rows.rows / rows.domain(columns))
        return Estimate(rate, rows.groups(columns), rows.values, leaves=rows.leaves)

    def cost(self, inputs: Sequence[Edge], output: Edge) -> Cost:
        return Cost(inputs[0].changes * DISTINCT, output.rows)

    def build(self, context: OperatorContext) -> Operator:
        from sash.operators.distinct.operator import Distinct

        return Distinct(self, context)
