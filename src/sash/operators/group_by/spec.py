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
from sash.operators.spec import Spec, UnarySpec, parts
from sash.plan.aggregates import AggregateCall, Kept
from sash.plan.patterns import Pattern
from sash.scalar.nodes import Column
from sash.schema import Field, Schema

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
    keeps = "one line per group"
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
        rows = self.input.expiring
        if rows is None:
            return self
        if self.calls:
            return self._in_order(rows) if rows.pattern is Pattern.WEAKEST else self
        return self._youngest(rows) if self.keys else self

    def _in_order(self, rows: Spec) -> Spec:
        """Counts and sums by key of a window are told directly what leaves; MIN and MAX need not be told which row it is."""
        from sash.operators.group_by.tables import group_tables

        has_extremes = any(call.function.facts.kept is Kept.EXTREME for call in self.calls)
        if has_extremes and not rows.all_leave:
            return self
        if self.keys and group_tables(self).is_sliding:
            return SlidingGroupBySpec(rows, self.keys, self.calls, self.names)
        return OrderedGroupBySpec(self.input, self.keys, self.calls, self.names, self.streams) if has_extremes else self

    def _youngest(self, rows: Spec) -> Spec:
        """DISTINCT over rows that carry their expiry need not see them leave."""
        columns = tuple(Column(key, rows.schema.types[key], rows.schema.names[key]) for key in self.keys)
        return DistinctSpec(ProjectSpec(rows, columns, self.names))

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


@dataclass(frozen=True)
class OrderedGroupBySpec(GroupBySpec):
    """Groups of signed changes whose rows leave in the order they came: a least value needs no values that leave before it."""

    leaves_in_order = True
    keeps = "one line per group, deques of values that may be shown"

    def cost(self, inputs: Sequence[Edge], output: Edge) -> Cost:
        (rows,) = inputs
        return Cost(rows.changes * GROUP_DEQUES, output.rows * tree_depth(rows.rows / max(1.0, output.rows)))


@dataclass(frozen=True)
class SlidingGroupBySpec(GroupBySpec):
    """Groups of rows that carry their expiry and leave in the order they came: counts, sums, extreme numbers by key."""

    leaves_in_order = True
    keeps = "one line per group, ring of what live rows added"
    pattern = Pattern.STRICT

    def cost(self, inputs: Sequence[Edge], output: Edge) -> Cost:
        (rows,) = inputs
        return Cost(2 * rows.changes * GROUP, rows.rows)

    def build(self, context: OperatorContext) -> Operator:
        from sash.operators.group_by.sliding_sums import SlidingSums

        return SlidingSums(self, context)
