"""Taking arrays apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from sash.operators.cost import NET, PASS, Cost, Edge
from sash.operators.estimate import Estimate, as_first_input
from sash.operators.lookback import NO_LOOKBACK
from sash.operators.spec import FollowsInput, UnarySpec
from sash.plan.unnest import unnested_fields
from sash.scalar.nodes import Expression
from sash.schema import Schema

if TYPE_CHECKING:
    from sash.operators.operator import Operator, OperatorContext

ELEMENTS = 4.0  # of an array, as long as nobody has looked


@dataclass(frozen=True)
class UnnestSpec(FollowsInput, UnarySpec):
    """A row for every element of an array, of signed changes: a row that expires does so before it becomes many."""

    array: Expression
    name: str
    place_name: str | None
    is_outer: bool

    keeps = ""
    lifetime = None
    lookback = NO_LOOKBACK
    needs_exact_departures = False
    is_transparent = True

    @cached_property
    def schema(self) -> Schema:
        return Schema(self.input.schema.fields + unnested_fields(self.array, self.name, self.place_name))

    def estimate(self, *inputs: Estimate) -> Estimate:
        (rows,) = inputs
        return replace(as_first_input(self, inputs), rate=rows.rate * ELEMENTS, rows=rows.rows * ELEMENTS)

    def cost(self, inputs: Sequence[Edge], output: Edge) -> Cost:
        return Cost(inputs[0].changes * PASS + output.changes * NET, 0.0)

    def build(self, context: OperatorContext) -> Operator:
        from sash.operators.unnest.operator import Unnest

        return Unnest(self, context)
