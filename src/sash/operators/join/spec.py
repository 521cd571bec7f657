"""Equi-joins of two inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from sash.operators.all_rows import AllRows
from sash.operators.cost import Cost, Edge
from sash.operators.estimate import Estimate, equal_keys
from sash.operators.filter.spec import FilterSpec
from sash.operators.lookback import NO_LOOKBACK
from sash.operators.project.spec import ProjectSpec
from sash.operators.shared_join.spec import SharedJoinSpec, shared_join
from sash.operators.spec import BinarySpec, Messages, Spec
from sash.plan.patterns import Pattern
from sash.plan.rules.conditions import conjunction
from sash.scalar.nodes import Column, remap
from sash.schema import FOREVER, Field, Schema

if TYPE_CHECKING:
    from sash.operators.operator import Operator, OperatorContext


JOIN_ROW, JOIN_PAIR = 1000.0, 700.0  # every row is kept and looks at the other side, every pair is made once
SIGNED_JOIN_ROW = 1500.0  # the same for every change, so twice for rows that leave; equal rows count once


@dataclass(frozen=True)
class JoinSpec(BinarySpec):
    """Join of two inputs whose rows carry their expiry."""

    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]

    keeps = "log of rows per side, chained by key"
    lifetime = None
    makes_pairs = True
    lookback = NO_LOOKBACK
    needs_exact_departures = False

    @cached_property
    def schema(self) -> Schema:
        return Schema(self.left.schema.fields + self.right.schema.fields)

    @property
    def pattern(self) -> Pattern:
        patterns = {self.left.pattern, self.right.pattern}
        return Pattern.MONOTONIC if patterns == {Pattern.MONOTONIC} else Pattern.WEAK

    @property
    def all_leave(self) -> bool:
        return False  # its pairs leave in no order

    def with_messages(self, merges: bool, announced: Callable[[Spec], Spec]) -> Spec:
        return MessageJoinSpec(announced(self.left), announced(self.right), self.left_keys, self.right_keys, merges)

    def with_pairs_found_again(self, columns: tuple[int, ...], names: tuple[str, ...]) -> Spec | None:
        """A join of two windows finds pairs again faster than a store of all of them would give them."""
        if any(side.lifetime in (None, FOREVER) for side in self.inputs):
            return None
        return LeavingJoinSpec(self.left, self.right, self.left_keys, self.right_keys, columns, names)

    def estimate(self, *inputs: Estimate) -> Estimate:
        left, right = inputs
        share = self.share_of_pairs(left, right)
        rate = (left.rate * right.rows + right.rate * left.rows) * share
        premature = 1 - (1 - left.premature) * (1 - right.premature)
        return Estimate(rate, left.rows * right.rows * share, left.values + right.values, premature, left.leaves or right.leaves)

    def share_of_pairs(self, left: Estimate, right: Estimate) -> float:
        return equal_keys(left, right, self.left_keys, self.right_keys)

    def cost(self, inputs: Sequence[Edge], output: Edge) -> Cost:
        left, right = inputs
        return Cost((left.changes + right.changes) * JOIN_ROW + output.changes * JOIN_PAIR, left.rows + right.rows)

    def build(self, context: OperatorContext) -> Operator:
        from sash.operators.join.operator import Join

        return Join(self, context)


@dataclass(frozen=True)
class MessageJoinSpec(JoinSpec):
    """Join of two announced inputs: passes on the messages of rows that were joined."""

    merges: bool

    @property
    def messages(self) -> Messages:
        return Messages.of(self.merges)

    def build(self, context: OperatorContext) -> Operator:
        from sash.operators.expiry.messages import MessageJoin

        return MessageJoin(self, context)


@dataclass(frozen=True)
class SignedJoinSpec(JoinSpec):
    """Join of two inputs of signed changes."""

    keeps = "bag of rows per side, by key"
    pattern = Pattern.STRICT

    def estimate(self, *inputs: Estimate) -> Estimate:
        """A bag has equal rows once, with a count: a change meets different rows, however often they are there."""
        left, right = inputs
        rate = (left.rate * right.distinct_rows + right.rate * left.distinct_rows) * self.share_of_pairs(left, right)
        return replace(super().estimate(left, right), rate=rate)

    def cost(self, inputs: Sequence[Edge], output: Edge) -> Cost:
        left, right = inputs
        work = (left.changes + right.changes) * SIGNED_JOIN_ROW + output.changes * JOIN_PAIR
        return Cost(work, left.distinct_rows + right.distinct_rows)

    def build(self, context: OperatorContext) -> Operator:
        from sash.operators.join.operator import SignedJoin

        return SignedJoin(self, context)


@dataclass(frozen=True)
class LeavingJoinSpec(JoinSpec):
    """Some columns of a join of two windows, as signed changes; of two time windows, a tap of the join of what they read."""

    columns: tuple[int, ...]
    names: tuple[str, ...]

    keeps = "log of rows per side, chained by key; no pairs"
    pattern = Pattern.STRICT

    @cached_property
    def shared(self) -> SharedJoinSpec | None:
        return shared_join(self.left, self.right, self.left_keys, self.right_keys)

    @property
    def inputs(self) -> tuple[Spec, ...]:
        return self.made_of if self.shared is None else (self.shared,)

    @property
    def made_of(self) -> tuple[Spec, ...]:
        return (self.left, self.right)

    @cached_property
    def common(self) -> LeavingJoinSpec | None:
        if self.shared is None:
            return None
        left, right = self._sides
        if left.window is self.left and right.window is self.right:
            return None
        fields = left.window.schema.fields + right.window.schema.fields
        left_keys = tuple(left.columns[key] for key in self.left_keys)
        right_keys = tuple(right.columns[key] for key in self.right_keys)
        names = tuple(field.name for field in fields)
        return LeavingJoinSpec(left.window, right.window, left_keys, right_keys, tuple(range(len(fields))), names)

    @property
    def above_common(self) -> Spec:
        assert self.common is not None
        left, right = self._sides
        width, fields = len(left.window.schema), self.common.schema.fields
        shifted = {place: width + place for place in range(len(right.window.schema))}
        conditions = [*left.conditions, *(remap(condition, shifted) for condition in right.conditions)]
        chosen = FilterSpec(self.common, conjunction(conditions)) if conditions else self.common
        columns = [*left.columns, *(shifted[column] for column in right.columns)]
        wanted = tuple(Column(columns[one], fields[columns[one]].type, fields[columns[one]].name) for one in self.columns)
        return ProjectSpec(chosen, wanted, self.names)

    @property
    def _sides(self) -> tuple[AllRows, AllRows]:
        return self.left.of_all_rows, self.right.of_all_rows

    @cached_property
    def windows(self) -> tuple[int, int]:
        """How long rows live, left and right."""
        assert self.left.lifetime is not None and self.right.lifetime is not None
        return self.left.lifetime, self.right.lifetime

    @cached_property
    def schema(self) -> Schema:
        fields = self.left.schema.fields + self.right.schema.fields
        return Schema(tuple(Field(n, fields[c].type) for n, c in zip(self.names, self.columns, strict=True)))

    def estimate(self, *inputs: Estimate) -> Estimate:
        pairs = super().estimate(*inputs)
        return replace(pairs, values=tuple(pairs.values[column] for column in self.columns))

    def cost(self, inputs: Sequence[Edge], output: Edge) -> Cost:
        """A row that leaves looks for its pairs again."""
        left, right = inputs
        return Cost(2 * (left.changes + right.changes) * JOIN_ROW + output.changes * JOIN_PAIR, left.rows + right.rows)

    def build(self, context: OperatorContext) -> Operator:
        from sash.operators.join.leaving import LeavingJoin
        from sash.operators.many_outputs import Tap

        return LeavingJoin(self, context) if self.shared is None else Tap(self.layout)
