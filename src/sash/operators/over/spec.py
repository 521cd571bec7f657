"""Window functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import or_
from typing import TYPE_CHECKING

from sash.operators.cost import NET, TREE_STEP, Cost, Edge, tree_depth
from sash.operators.estimate import LEAST, Estimate
from sash.operators.lookback import NO_LOOKBACK
from sash.operators.spec import Signed, UnarySpec
from sash.plan.nodes import Order
from sash.plan.over import OverCall, Reach
from sash.schema import Field, Schema

if TYPE_CHECKING:
    from sash.operators.operator import Operator, OperatorContext


@dataclass(frozen=True)
class OverSpec(Signed, UnarySpec):
    """Window functions over partitions of signed changes."""

    partition: tuple[int, ...]
    order: tuple[Order, ...]
    calls: tuple[OverCall, ...]
    names: tuple[str, ...]

    keeps = "tree of rows in order, per partition"
    lookback = NO_LOOKBACK
    needs_exact_departures = False

    @cached_property
    def schema(self) -> Schema:
        extra = tuple(Field(name, call.type) for name, call in zip(self.names, self.calls, strict=True))
        return Schema(self.input.schema.fields + extra)

    @property
    def reach(self) -> Reach:
        """How far a change shows."""
        return reduce(or_, (call.reach for call in self.calls), Reach())

    def estimate(self, *inputs: Estimate) -> Estimate:
        """A change may change its neighbours: half of the partition, where the reach has no bound."""
        (rows,) = inputs
        partition = rows.rows / max(LEAST, rows.groups(self.partition) if self.partition else 1.0)
        touched = sum(partition / 2 if far is None else min(far, partition) for far in (self.reach.behind, self.reach.ahead))
        values = (*rows.values, *(rows.rows for _ in self.calls))
        return replace(rows, rate=rows.changes * (1 + touched), values=values, premature=1.0)

    def cost(self, inputs: Sequence[Edge], output: Edge) -> Cost:
        (rows,) = inputs
        return Cost(rows.changes * TREE_STEP * tree_depth(rows.rows) + output.estimate.changes * NET, rows.rows)

    def build(self, context: OperatorContext) -> Operator:
        from sash.operators.over.operator import Over

        return Over(self, context)
