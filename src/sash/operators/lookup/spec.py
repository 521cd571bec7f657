"""Joins of arriving rows with a table as it is when they arrive."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sash.operators.cost import Cost, Edge
from sash.operators.estimate import Estimate
from sash.operators.join.spec import JOIN_PAIR, JoinSpec
from sash.operators.lookback import ONLY_NEW_ROWS
from sash.operators.spec import Messages, Spec
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

    @property
    def all_leave(self) -> bool:
        return self.left.all_leave

    def with_messages(self, merges: bool, announced: Callable[[Spec], Spec]) -> Spec:
        return MessageLookupSpec(announced(self.left), announced(self.right), self.left_keys, self.right_keys, merges)

    def with_pairs_found_again(self, columns: tuple[int, ...], names: tuple[str, ...]) -> Spec | None:
        """The table may have changed since."""
        return None

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
class MessageLookupSpec(LookupSpec):
    """Join of an announced input with a table: passes on the messages of rows that were joined."""

    merges: bool

    @property
    def messages(self) -> Messages:
        return Messages.of(self.merges)

    def build(self, context: OperatorContext) -> Operator:
        from sash.operators.expiry.messages import MessageLookup

        return MessageLookup(self, context)


@dataclass(frozen=True)
class SignedLookupSpec(LookupSpec):
    """The same for rows that leave by a negative one, which takes back what was given for them."""

    keeps = "bag of the table, by key; left rows, each with what it met"
    pattern = Pattern.STRICT

    def build(self, context: OperatorContext) -> Operator:
        from sash.operators.lookup.operator import SignedLookup

        return SignedLookup(self, context)
