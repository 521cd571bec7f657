"""What makes streams of relations, relations of streams, and says when their changes are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from sash.operators.cost import NET, TREE_STEP, Cost, Edge, tree_depth
from sash.operators.estimate import Estimate, as_first_input
from sash.operators.lookback import NO_LOOKBACK, ONLY_NEW_ROWS, TO_THE_FIRST_ROW, Lookback
from sash.operators.spec import FollowsInput, PortSpec, Signed, Spec, UnarySpec, parts
from sash.plan.patterns import Pattern
from sash.plan.statistics import UNBOUNDED_SECONDS
from sash.schema import Field, Schema

if TYPE_CHECKING:
    from sash.operators.operator import Operator, OperatorContext


@dataclass(frozen=True)
class BeginSpec(FollowsInput, UnarySpec):
    """Nothing is shown before the first row of any of these streams: what was there already comes then."""

    streams: tuple[str, ...]

    keeps = "what came before the first row"
    lifetime = None
    lookback = NO_LOOKBACK
    needs_exact_departures = False

    def begins_with(self, is_first_shard: bool) -> tuple[str, ...] | None:
        return self.streams

    def estimate(self, *inputs: Estimate) -> Estimate:
        return as_first_input(self, inputs)

    def cost(self, inputs: Sequence[Edge], output: Edge) -> Cost:
        return Cost(inputs[0].changes * NET, 0.0)

    def build(self, context: OperatorContext) -> Operator:
        from sash.operators.streams.begin import Begin

        return Begin(self, context)


class _StreamOfChanges(UnarySpec):
    """Says of a relation, once and for good, what happens to it."""

    pattern = Pattern.MONOTONIC
    lifetime = None
    all_leave = False
    needs_exact_departures = True

    @property
    def lookback(self) -> Lookback:
        """How time changed the rows is not in memory."""
        return ONLY_NEW_ROWS if any(part.shows_time for part in parts(self)) else NO_LOOKBACK

    def estimate(self, *inputs: Estimate) -> Estimate:
        (rows,) = inputs
        return replace(rows, rows=rows.rate * UNBOUNDED_SECONDS, premature=0.0, leaves=False)

    def cost(self, inputs: Sequence[Edge], output: Edge) -> Cost:
        return Cost(inputs[0].changes * NET, 0.0)


@dataclass(frozen=True)
class InsertionsSpec(_StreamOfChanges):
    """The rows that enter, as a stream; within an instant in the order of the full row."""

    keeps = ""

    def build(self, context: OperatorContext) -> Operator:
        from sash.operators.streams.changes import Insertions

        return Insertions(self, context)


@dataclass(frozen=True)
class DeletionsSpec(_StreamOfChanges):
    """The rows that leave, as a stream; within an instant in the order of the full row."""

    keeps = ""

    def build(self, context: OperatorContext) -> Operator:
        from sash.operators.streams.changes import Deletions

        return Deletions(self, context)


@dataclass(frozen=True)
class SnapshotsSpec(_StreamOfChanges):
    """All rows after every instant with a change, as a stream; within an instant in the order of the full row."""

    keeps = "tree of rows in order"

    def estimate(self, *inputs: Estimate) -> Estimate:
        (rows,) = inputs
        rate = rows.changes * max(1.0, rows.rows)
        return replace(rows, rate=rate, rows=rate * UNBOUNDED_SECONDS, premature=0.0, leaves=False)

    def cost(self, inputs: Sequence[Edge], output: Edge) -> Cost:
        (rows,) = inputs
        return Cost(rows.changes * TREE_STEP * tree_depth(rows.rows) + output.estimate.rate * NET, rows.rows)

    def build(self, context: OperatorContext) -> Operator:
        from sash.operators.streams.snapshots import Snapshots

        return Snapshots(self, context)


@dataclass(frozen=True)
class EmitSpec(FollowsInput, UnarySpec):
    """Signed changes, held until their period ends, in the time of the view; what it reads may be ahead of that, for others."""

    time: PortSpec
    period: int

    keeps = "net changes of the open period"
    lifetime = None
    needs_exact_departures = True

    @property
    def inputs(self) -> tuple[Spec, ...]:
        return (self.input, self.time)

    @property
    def lookback(self) -> Lookback:
        return Lookback(self.period)

    @property
    def before_emission(self) -> Spec:
        return self.input

    def estimate(self, *inputs: Estimate) -> Estimate:
        return as_first_input(self, inputs)

    def cost(self, inputs: Sequence[Edge], output: Edge) -> Cost:
        return Cost(inputs[0].changes * NET, 0.0)

    def build(self, context: OperatorContext) -> Operator:
        from sash.operators.streams.emit import Emit

        return Emit(self, context)


@dataclass(frozen=True)
class TableChangesSpec(Signed, UnarySpec):
    """Rows of a stream as changes of a table, by the sign in one of their columns."""

    columns: tuple[int, ...]
    sign: int
    names: tuple[str, ...]

    keeps = ""
    lookback = TO_THE_FIRST_ROW
    needs_exact_departures = False

    @cached_property
    def schema(self) -> Schema:
        types = self.input.schema.types
        return Schema(tuple(Field(n, types[place]) for n, place in zip(self.names, self.columns, strict=True)))

    def estimate(self, *inputs: Estimate) -> Estimate:
        (rows,) = inputs
        return replace(rows, values=tuple(rows.values[column] for column in self.columns), leaves=True)

    def cost(self, inputs: Sequence[Edge], output: Edge) -> Cost:
        return Cost(inputs[0].changes * NET, 0.0)

    def build(self, context: OperatorContext) -> Operator:
        from sash.operators.streams.table_changes import TableChanges

        return TableChanges(self, context)
