"""The first rows of an order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from sash.operators.cost import TREE_STEP, Cost, Edge, tree_depth
from sash.operators.estimate import LEAST, Estimate
from sash.operators.lookback import NO_LOOKBACK
from sash.operators.spec import Signed, UnarySpec
from sash.plan.nodes import Order
from sash.schema import BIGINT, Field, Schema

if TYPE_CHECKING:
    from sash.operators.operator import Operator, OperatorContext


@dataclass(frozen=True)
class TopSpec(Signed, UnarySpec):
    """The first `count` rows of every partition after `offset` of them, of signed changes."""

    partition: tuple[int, ...]
    order: tuple[Order, ...]
    count: int
    offset: int = 0
    numbered: str | None = None

    keeps = "tree of rows in order, per partition"
    lookback = NO_LOOKBACK
    needs_exact_departures = False

    @cached_property
    def schema(self) -> Schema:
        extra = () if self.numbered is None else (Field(self.numbered, BIGINT),)
        return Schema(self.input.schema.fields + extra)

    def estimate(self, *inputs: Estimate) -> Estimate:
        (rows,) = inputs
        groups = rows.groups(self.partition) if self.partition else 1.0
        shown = min(rows.rows, groups * self.count)
        values = rows.values if self.numbered is None else (*rows.values, float(self.count))
        share = shown / max(LEAST, rows.rows)
        return replace(rows, rate=rows.changes * share, rows=shown, values=values, premature=1 - share)

    def cost(self, inputs: Sequence[Edge], output: Edge) -> Cost:
        (rows,) = inputs
        return Cost(rows.changes * TREE_STEP * tree_depth(rows.rows), rows.rows)

    def build(self, context: OperatorContext) -> Operator:
        from sash.operators.top.operator import top

        return top(self, context)
