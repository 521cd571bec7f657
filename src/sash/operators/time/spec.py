"""What changes with time alone: changes that wait for it, instants that are reached, the current period."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from sash.operators.group_by.spec import GroupBySpec
from sash.operators.project.spec import ProjectSpec
from sash.operators.spec import TIME, BinarySpec, PortSpec, Spec
from sash.plan.aggregates import AggregateCall, Function
from sash.plan.current_period import Period, with_periods
from sash.plan.nodes import SingleRow
from sash.plan.patterns import Pattern
from sash.plan.times import ASKED, Time
from sash.scalar.nodes import Literal
from sash.schema import BOOLEAN, Field, Schema


@dataclass(frozen=True)
class PacedSpec(BinarySpec):
    """The changes on the left when time has come to them: those of tables, which tell no time. The right input is the time."""


def time_port(level: int, time: Time) -> PortSpec:
    """Where a level is told the time of some streams."""
    return PortSpec(level, Schema(()), Pattern.MONOTONIC, (), is_time=True, timed_by=time)


@dataclass(frozen=True)
class ReachedSpec(BinarySpec):
    """Whether instants are reached, for rows of signed changes on the left; the right input is the time."""

    instants: tuple[int, ...]

    @cached_property
    def schema(self) -> Schema:
        names = self.left.schema.names
        extra = tuple(Field(f"{names[place]} is reached", BOOLEAN) for place in self.instants)
        return Schema(self.left.schema.fields + extra)

    @property
    def pattern(self) -> Pattern:
        return Pattern.STRICT


@dataclass(frozen=True)
class TicksSpec(BinarySpec):
    """The current periods, beside rows of signed changes on the left; the right input is the time.

    Before the first row of any of the streams nothing is shown.
    """

    periods: tuple[Period, ...]
    streams: tuple[str, ...]

    @cached_property
    def schema(self) -> Schema:
        return with_periods(self.left.schema, self.periods)

    @property
    def pattern(self) -> Pattern:
        return Pattern.STRICT


def single_row(level: int) -> Spec:
    """One row as soon as there is time, for a query that reads nothing else."""
    count = AggregateCall(Function.COUNT, None, None)
    group = GroupBySpec(time_port(level, ASKED), (), (count,), ("rows",), (TIME,))
    schema = SingleRow().schema
    return ProjectSpec(group, (Literal(1, schema.types[0]),), schema.names)
