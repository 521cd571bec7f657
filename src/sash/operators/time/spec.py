"""What changes with time alone: changes that wait for it, instants that are reached, the current period."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from sash.operators.cost import NET, PASS, TREE_STEP, Cost, Edge, tree_depth
from sash.operators.estimate import Estimate, as_first_input
from sash.operators.group_by.spec import GroupBySpec
from sash.operators.lookback import NO_LOOKBACK
from sash.operators.project.spec import ProjectSpec
from sash.operators.spec import TIME, BinarySpec, FollowsInput, PortSpec, Signed, Spec
from sash.plan.aggregates import AggregateCall, Function
from sash.plan.current_period import Period, with_periods
from sash.plan.nodes import SingleRow
from sash.plan.patterns import Pattern
from sash.plan.times import ASKED, Time
from sash.scalar.nodes import Literal
from sash.schema import BOOLEAN, SECOND, Field, Schema

if TYPE_CHECKING:
    from sash.operators.operator import Operator, OperatorContext


PERIOD_ROW = 200.0  # the price of a row that is shown with the current period


def time_port(level: int, time: Time) -> PortSpec:
    """Where a level is told the time of some streams."""
    return PortSpec(level, Schema(()), Pattern.MONOTONIC, (), is_time=True, timed_by=time)


def single_row(level: int) -> Spec:
    """One row as soon as there is time, for a query that reads nothing else."""
    count = AggregateCall(Function.COUNT, None, None)
    group = GroupBySpec(time_port(level, ASKED), (), (count,), ("rows",), (TIME,))
    schema = SingleRow().schema
    return ProjectSpec(group, (Literal(1, schema.types[0]),), schema.names)


@dataclass(frozen=True)
class TimeGatedSpec(FollowsInput, BinarySpec):
    """The changes on the left when time has come to them: those of tables, which tell no time. The right input is the time."""

    keeps = ""
    lifetime = None
    lookback = NO_LOOKBACK
    needs_exact_departures = False

    def estimate(self, *inputs: Estimate) -> Estimate:
        return as_first_input(self, inputs)

    def cost(self, inputs: Sequence[Edge], output: Edge) -> Cost:
        return Cost(sum(edge.changes for edge in inputs) * PASS, 0.0)

    def build(self, context: OperatorContext) -> Operator:
        from sash.operators.time.time_gated import TimeGated

        return TimeGated(self, context)


@dataclass(frozen=True)
class TimePredicateSpec(Signed, BinarySpec):
    """Whether instants are reached, for rows of signed changes on the left; the right input is the time."""

    instants: tuple[int, ...]

    keeps = "tree of rows with an instant ahead, by the next one"
    lookback = NO_LOOKBACK
    needs_exact_departures = True

    @cached_property
    def schema(self) -> Schema:
        names = self.left.schema.names
        extra = tuple(Field(f"{names[place]} is reached", BOOLEAN) for place in self.instants)
        return Schema(self.left.schema.fields + extra)

    def estimate(self, *inputs: Estimate) -> Estimate:
        """A row comes, and comes anew with every instant that it names."""
        rows, _ = inputs
        values = (*rows.values, *(2.0 for _ in self.instants))
        return replace(rows, rate=rows.rate * (1 + len(self.instants)), values=values, premature=1.0)

    def cost(self, inputs: Sequence[Edge], output: Edge) -> Cost:
        rows, _ = inputs
        return Cost(output.changes * (TREE_STEP * tree_depth(rows.rows) + NET), rows.rows)

    def build(self, context: OperatorContext) -> Operator:
        from sash.operators.time.time_predicate import TimePredicate

        return TimePredicate(self, context)


@dataclass(frozen=True)
class CurrentPeriodSpec(Signed, BinarySpec):
    """The current periods, beside rows of signed changes on the left; the right input is the time.

    Before the first row of any of the streams nothing is shown.
    """

    periods: tuple[Period, ...]
    streams: tuple[str, ...]

    keeps = "bag of all rows"
    lookback = NO_LOOKBACK
    needs_exact_departures = True
    shows_time = True

    @cached_property
    def schema(self) -> Schema:
        return with_periods(self.left.schema, self.periods)

    @property
    def present_of(self) -> Time | None:
        assert isinstance(self.right, PortSpec)
        return self.right.timed_by

    def begins_with(self, is_first_shard: bool) -> tuple[str, ...] | None:
        return self.streams

    def estimate(self, *inputs: Estimate) -> Estimate:
        """Every row comes anew with every period."""
        rows, _ = inputs
        rate = rows.rate + rows.rows * sum(SECOND / period.length for period in self.periods)
        return replace(as_first_input(self, inputs), rate=rate, leaves=True)

    def cost(self, inputs: Sequence[Edge], output: Edge) -> Cost:
        rows, time = inputs
        return Cost((rows.changes + time.changes) * PERIOD_ROW + output.changes * PASS, rows.distinct_rows)

    def build(self, context: OperatorContext) -> Operator:
        from sash.operators.time.current_period import CurrentPeriod

        return CurrentPeriod(self, context)
