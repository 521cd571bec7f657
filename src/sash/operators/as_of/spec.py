"""ASOF joins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from sash.operators.cost import NET, TREE_STEP, Cost, Edge, tree_depth
from sash.operators.estimate import Estimate
from sash.operators.lookback import NO_LOOKBACK
from sash.operators.spec import BinarySpec, Signed
from sash.schema import Schema

if TYPE_CHECKING:
    from sash.operators.operator import Operator, OperatorContext


@dataclass(frozen=True)
class AsOfSpec(Signed, BinarySpec):
    """Nearest right rows, of two inputs of signed changes."""

    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    left_at: int
    right_at: int
    is_forward: bool
    is_strict: bool
    is_outer: bool

    keeps = "tree of rows per side and key, in the order of what is compared"
    lookback = NO_LOOKBACK
    needs_exact_departures = False

    @cached_property
    def schema(self) -> Schema:
        return Schema(self.left.schema.fields + self.right.schema.fields)

    def estimate(self, *inputs: Estimate) -> Estimate:
        """A row that comes on the right becomes the nearest of half of the left rows that are there and have its key."""
        left, right = inputs
        keys = max(1.0, min(left.groups(self.left_keys), right.groups(self.right_keys))) if self.left_keys else 1.0
        rate = left.rate + right.changes * left.rows / keys / 2
        return Estimate(rate, left.rows, left.values + right.values, 1.0, left.leaves or right.leaves)

    def cost(self, inputs: Sequence[Edge], output: Edge) -> Cost:
        left, right = inputs
        sought = (left.changes + right.changes) * TREE_STEP * (tree_depth(left.rows) + tree_depth(right.rows))
        return Cost(sought + output.changes * NET, left.rows + right.rows)

    def build(self, context: OperatorContext) -> Operator:
        from sash.operators.as_of.operator import AsOf

        return AsOf(self, context)
