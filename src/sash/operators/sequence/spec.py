"""Sequences: A FOLLOWED BY B."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from sash.operators.cost import Cost, Edge
from sash.operators.estimate import Estimate, equal_keys
from sash.operators.lookback import TO_THE_FIRST_ROW, Lookback
from sash.operators.spec import BinarySpec
from sash.plan.nodes import Pairing
from sash.plan.patterns import Pattern
from sash.plan.statistics import UNBOUNDED_SECONDS
from sash.scalar.nodes import Expression
from sash.schema import SECOND, Schema

if TYPE_CHECKING:
    from sash.operators.operator import Operator, OperatorContext


SEQUENCE = 800.0  # the price of a row


@dataclass(frozen=True)
class SequenceSpec(BinarySpec):
    """Pairs of rows of two streams, the right one after the left one."""

    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    pairing: Pairing
    within: int | None
    residual: Expression | None

    keeps = "left rows that wait for a right one"
    pattern = Pattern.MONOTONIC
    lifetime = None
    all_leave = False
    needs_exact_departures = False

    @cached_property
    def schema(self) -> Schema:
        return Schema(self.left.schema.fields + self.right.schema.fields)

    @property
    def lookback(self) -> Lookback:
        is_bounded = self.within is not None and self.pairing is Pairing.RECENT
        return Lookback(self.within or 0) if is_bounded else TO_THE_FIRST_ROW

    def estimate(self, *inputs: Estimate) -> Estimate:
        """CHRONICLE uses a left row once, RECENT pairs every right row that finds one."""
        left, right = inputs
        waiting = left.rate * (UNBOUNDED_SECONDS if self.within is None else self.within / SECOND)
        found = right.rate * min(1.0, waiting * equal_keys(left, right, self.left_keys, self.right_keys))
        rate = min(found, left.rate) if self.pairing is Pairing.CHRONICLE else found
        return Estimate(rate, rate * UNBOUNDED_SECONDS, left.values + right.values, leaves=False)

    def cost(self, inputs: Sequence[Edge], output: Edge) -> Cost:
        left, right = inputs
        return Cost((left.changes + right.changes) * SEQUENCE, left.estimate.rate * (self.within or 0) / SECOND)

    def build(self, context: OperatorContext) -> Operator:
        from sash.operators.sequence.operator import sequence

        return sequence(self, context)
