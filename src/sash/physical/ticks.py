"""The specs of what shows the time, and of what is there as soon as there is time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from sash.logical.aggregates import AggregateCall, Function
from sash.logical.nodes import SingleRow
from sash.logical.patterns import Pattern
from sash.logical.ticks import Period, with_periods
from sash.logical.times import ASKED
from sash.physical.group_specs import GroupBySpec
from sash.physical.reached import time_port
from sash.physical.specs import TIME, BinarySpec, ProjectSpec, Spec
from sash.scalar.nodes import Literal
from sash.schema import Schema


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
