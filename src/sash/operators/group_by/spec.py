"""Groups of rows and what is aggregated for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp
from typing import TYPE_CHECKING

from sash.operators.cost import Cost, Edge, tree_depth
from sash.operators.distinct.spec import DistinctSpec
from sash.operators.estimate import Estimate
from sash.operators.lookback import NO_LOOKBACK
from sash.operators.project.spec import ProjectSpec
from sash.operators.shared_groups.spec import Grouped, SharedGroupsSpec, pays, slice_width
from sash.operators.shared_order.spec import SharedOrderSpec, ordered_column
from sash.operators.spec import Spec, UnarySpec, parts
from sash.plan.aggregates import AggregateCall, Kept
from sash.plan.expression_text import duration_text
from sash.plan.patterns import Pattern
from sash.scalar.nodes import Column
from sash.schema import SECOND, Field, Schema

if TYPE_CHECKING:
    from sash.operators.operator import Operator, OperatorContext


GROUP, GROUP_DEQUES, GROUP_VALUES = 500.0, 700.0, 1500.0  # the price of a change: what is added up, kept in deques, kept in sets


@dataclass(frozen=True)
class GroupBySpec(UnarySpec):
    """Groups of signed changes."""

    keys: tuple[int, ...]
    calls: tuple[AggregateCall, ...]
    names: tuple[str, ...]
    streams: tuple[str, ...] = ()  # without keys: the one row is there from the first row of any of these on

    leaves_in_order = False  # whether rows leave in the order they came
    lifetime = None
    all_leave = False
    lookback = NO_LOOKBACK
    needs_exact_departures = False

    @cached_property
    def schema(self) -> Schema:
        fields = self.input.schema.fields
        types = [fields[key].type for key in self.keys] + [call.type for call in self.calls]
        return Schema(tuple(Field(n, t) for n, t in zip(self.names, types, strict=True)))

    @property
    def pattern(self) -> Pattern:
        """A group that changes takes its last row back; DISTINCT shows a row that never leaves for good."""
        return Pattern.STRICT if self.calls else self.input.pattern

    @property
    def keeps(self) -> str:
        return f"one line per group{self._why_alone}"

    @property
    def key_columns(self) -> int:
        return len(self.keys)

    @property
    def subtracts_rows(self) -> bool:
        """An aggregate that can subtract keeps no rows, so messages would make it do so (seed 000, 5.4). Negative rows from the
        window cost it nothing more; those of a join would have to be joined again, which costs more than to keep its result.
        """
        can_subtract = all(call.is_added_up for call in self.calls)
        return can_subtract and self.input.expiring is not None and not any(part.makes_pairs for part in parts(self.input))

    def suited(self) -> Spec:
        if ordered_column(self.calls) is not None:
            return RankedGroupBySpec(self.input, self.keys, self.calls, self.names, self.streams)
        rows = self.input.expiring
        if rows is None:
            return self
        if self.calls:
            return self._in_order(rows) if rows.pattern is Pattern.WEAKEST else self
        return self._youngest(rows) if self.keys else self

    @property
    def _why_alone(self) -> str:
        """Over a window that jumps by time: why others do not share what it adds up (`SlicedGroupBySpec`)."""
        from sash.operators.group_by.tables import group_tables

        rows = self.input.expiring or self.input
        if rows.without_slides is None or not self.calls:
            return ""
        if not self.keys:
            return "; not in slices: it has no GROUP BY"
        if not pays(width := slice_width(rows.without_slides[2])):
            return f"; not in slices: {duration_text(width)} is too short for one"
        keys = self.names[: len(self.keys)]
        alone = [call for call in self.calls if not group_tables(GroupBySpec(rows, self.keys, (call,), (*keys, ""))).is_sliced]
        return f"; not in slices: {', '.join(_call_text(call, rows) for call in alone)}" if alone else ""

    def _in_order(self, rows: Spec) -> Spec:
        """Counts and sums by key of a window are told directly what leaves; MIN and MAX need not be told which row it is."""
        from sash.operators.group_by.tables import group_tables

        has_extremes = any(call.function.facts.kept is Kept.EXTREME for call in self.calls)
        if has_extremes and not rows.all_leave:
            return self
        is_sliced = rows.without_slides is not None and pays(slice_width(rows.without_slides[2]))
        if self.keys and is_sliced and group_tables(self).is_sliced:
            return SlicedGroupBySpec(rows, self.keys, self.calls, self.names)
        if self.keys and group_tables(self).is_sliding:
            grouped = Grouped(rows, self.keys, self.calls).over_all_columns()  # it keeps no rows: to drop columns is in vain
            return SlidingGroupBySpec(grouped.rows, grouped.keys, grouped.calls, self.names)
        return OrderedGroupBySpec(self.input, self.keys, self.calls, self.names, self.streams) if has_extremes else self

    def _youngest(self, rows: Spec) -> Spec:
        """DISTINCT over rows that carry their expiry need not see them leave."""
        grouped = Grouped(rows, self.keys, ()).over_all_columns()
        fields = grouped.rows.schema.fields
        columns = tuple(Column(key, fields[key].type, fields[key].name) for key in grouped.keys)
        return DistinctSpec(ProjectSpec(grouped.rows, columns, self.names))

    def begins_with(self, is_first_shard: bool) -> tuple[str, ...] | None:
        """Without GROUP BY there is always one row: on the first shard."""
        return self.streams if is_first_shard and not self.keys else None

    def estimate(self, *inputs: Estimate) -> Estimate:
        """A group changes with each of its rows; DISTINCT only where a value comes that is not there."""
        (rows,) = inputs
        keys = tuple(rows.values[key] for key in self.keys)
        groups = rows.groups(self.keys)
        if not self.calls:
            return Estimate(rows.rate * exp(-rows.rows / rows.domain(self.keys)), groups, keys, leaves=rows.leaves)
        return Estimate(rows.changes, groups, (*keys, *(groups for _ in self.calls)))

    def cost(self, inputs: Sequence[Edge], output: Edge) -> Cost:
        (rows,) = inputs
        adds_up = all(call.is_added_up for call in self.calls)
        return Cost(rows.changes * (GROUP if adds_up else GROUP_VALUES), output.rows if adds_up else rows.rows)

    def build(self, context: OperatorContext) -> Operator:
        from sash.operators.group_by.operator import GroupBy

        return GroupBy(self, context)


def _call_text(call: AggregateCall, rows: Spec) -> str:
    arguments = ", ".join(rows.schema.names[column] for column in call.columns)
    return f"{call.function.value.upper()}({'DISTINCT ' if call.is_distinct else ''}{arguments})"


@dataclass(frozen=True)
class OrderedGroupBySpec(GroupBySpec):
    """Groups of signed changes whose rows leave in the order they came: a least value needs no values that leave before it."""

    leaves_in_order = True

    @property
    def keeps(self) -> str:
        return f"one line per group, deques of values that may be shown{self._why_alone}"

    def cost(self, inputs: Sequence[Edge], output: Edge) -> Cost:
        (rows,) = inputs
        return Cost(rows.changes * GROUP_DEQUES, output.rows * tree_depth(rows.rows / max(1.0, output.rows)))


@dataclass(frozen=True)
class SlidingGroupBySpec(GroupBySpec):
    """Groups of rows that carry their expiry and leave in the order they came: counts, sums, extreme numbers by key."""

    leaves_in_order = True
    pattern = Pattern.STRICT

    @property
    def keeps(self) -> str:
        return f"one line per group, ring of what live rows added{self._why_alone}"

    def cost(self, inputs: Sequence[Edge], output: Edge) -> Cost:
        (rows,) = inputs
        return Cost(2 * rows.changes * GROUP, rows.rows)

    def build(self, context: OperatorContext) -> Operator:
        from sash.operators.group_by.sliding_sums import SlidingSums

        return SlidingSums(self, context)


@dataclass(frozen=True)
class SlicedGroupBySpec(SlidingGroupBySpec):
    """The same over a window that jumps by time: a tap of the groups of the rows that it reads, added up in slices."""

    keeps = "one line per group; with others, what groups added in slices"

    @property
    def inputs(self) -> tuple[Spec, ...]:
        return (self.shared,)

    @property
    def made_of(self) -> tuple[Spec, ...]:
        return (self.input,)

    @property
    def window(self) -> tuple[int, int]:
        """Its size and its slide."""
        _, size, slide = self._without_slides
        return size, slide

    @cached_property
    def shared(self) -> SharedGroupsSpec:
        grouped = self._grouped
        return SharedGroupsSpec(grouped.rows, grouped.keys, slice_width(self.window[1]))

    @cached_property
    def below_window(self) -> SlidingGroupBySpec:
        """The same groups of the rows that all taps read."""
        grouped = self._grouped
        return SlidingGroupBySpec(grouped.rows, grouped.keys, grouped.calls, self.names)

    @property
    def _grouped(self) -> Grouped:
        return Grouped(self._without_slides[0], self.keys, self.calls).over_all_columns()

    @property
    def _without_slides(self) -> tuple[Spec, int, int]:
        assert self.input.without_slides is not None, "it is planned over a window that jumps by time"
        return self.input.without_slides

    def cost(self, inputs: Sequence[Edge], output: Edge) -> Cost:
        """A row is added once; a slice comes and leaves with a part for every group that has a row in it."""
        (rows,) = inputs
        size, slide = self.window
        groups = min(output.rows, rows.estimate.rate * slice_width(slide) / SECOND)
        parts_a_second = groups * SECOND / slice_width(slide)
        return Cost((rows.estimate.rate + 2 * parts_a_second) * GROUP, parts_a_second * (size + slide) / SECOND)

    def build(self, context: OperatorContext) -> Operator:
        from sash.operators.many_outputs import Tap

        return Tap(self.layout)


@dataclass(frozen=True)
class RankedGroupBySpec(GroupBySpec):
    """Groups that are asked for percentiles of one column, and nothing else that its order does not tell: a tap of that order."""

    @property
    def keeps(self) -> str:
        column = self.shared.schema.names[-1]
        return f"one line per group; with others, the values of {column} in order"

    @property
    def inputs(self) -> tuple[Spec, ...]:
        return (self.shared,)

    @property
    def made_of(self) -> tuple[Spec, ...]:
        return (self.input,)

    @cached_property
    def shared(self) -> SharedOrderSpec:
        column = ordered_column(self.calls)
        assert column is not None, "it is planned where there is one"
        return SharedOrderSpec(self.input, self.keys, column, self.streams)

    def begins_with(self, is_first_shard: bool) -> tuple[str, ...] | None:
        """What it shows comes from the order, which begins so."""
        return None

    def build(self, context: OperatorContext) -> Operator:
        from sash.operators.many_outputs import Tap

        return Tap(self.layout)
