"""Medians, percentiles and extreme values of one column, for whoever asks: its values in order are kept once.

    MEDIAN(v) of s by k ──────────────────────╮
    PERCENTILE(v, 0.9), MAX(v) of s by k ─────┼─ taps of one operator: the values of v of every k in order
    PERCENTILE(v, 0.1), COUNT(*) of s by k ───╯

Groups that are asked for a percentile are what a tap is, as a join of two windows is (`shared_join/spec.py`): a tap names its
figures, and, by what it reads, keys and column, the order that it is an output of. So nothing of a view changes when others come
or go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from sash.operators.cost import Cost, Edge
from sash.operators.estimate import Estimate
from sash.operators.lookback import NO_LOOKBACK
from sash.operators.shared import SharedSpec
from sash.operators.spec import PortSpec, Signed, Spec, UnarySpec, parts
from sash.plan.aggregates import AggregateCall, Function
from sash.schema import Schema

if TYPE_CHECKING:
    from sash.operators.operator import Operator, OperatorContext

PERCENTILES = (Function.MEDIAN, Function.PERCENTILE_CONT, Function.PERCENTILE_DISC, Function.PERCENTILE_DISC_DESC)
ENDS = (Function.MIN, Function.MAX, Function.ANY_VALUE)


@dataclass(frozen=True)
class SharedOrderSpec(Signed, UnarySpec, SharedSpec):
    """The values of a column in order, by key; each tap has an output of its own, and there is no other."""

    keys: tuple[int, ...]
    column: int
    streams: tuple[str, ...]  # without keys: the one group is there from the first row of any of these on

    keeps = "the values of every group in order"
    shown_as = "shared_orders"
    has_turns = False
    lookback = NO_LOOKBACK
    needs_exact_departures = False

    @cached_property
    def schema(self) -> Schema:
        """Of a key and a value."""
        return Schema(tuple(self.input.schema.fields[column] for column in (*self.keys, self.column)))

    @property
    def title(self) -> str:
        streams = sorted({part.stream for part in parts(self.input) if isinstance(part, PortSpec) and part.stream is not None})
        *keys, column = self.schema.names
        by = f" by {', '.join(keys)}" if keys else ""
        return f"order of {column} of {'+'.join(streams)}{by}"

    def summary(self, taps: Iterable[Spec], queries: int) -> str:
        """Who reads it: how many sets of figures, for how many queries."""
        count = len(list(taps))
        return f"{self.title}: {count} set{'s'[: count > 1]} of figures, {queries} queries"

    def begins_with(self, is_first_shard: bool) -> tuple[str, ...] | None:
        """Without GROUP BY there is always one row: on the first shard."""
        return self.streams if is_first_shard and not self.keys else None

    def estimate(self, *inputs: Estimate) -> Estimate:
        """It is never planned: its taps are, as the groups that they would be alone."""
        raise NotImplementedError("a shared order has no output of its own")

    def cost(self, inputs: Sequence[Edge], output: Edge) -> Cost:
        raise NotImplementedError("a shared order has no output of its own")

    def build(self, context: OperatorContext) -> Operator:
        from sash.operators.shared_order.operator import SharedOrder

        return SharedOrder(self, context)


def ordered_column(calls: Sequence[AggregateCall]) -> int | None:
    """The column whose order tells all of these calls; None if there is none.

    Only percentiles make it worth while: least and greatest values alone need not all be kept.
    """
    wanted = {call.argument for call in calls if call.function in PERCENTILES}
    column = wanted.pop() if len(wanted) == 1 else None
    return column if column is not None and all(_is_told(call, column) for call in calls) else None


def _is_told(call: AggregateCall, column: int) -> bool:
    if call.argument is None or call.function in ENDS:
        return call.argument in (None, column)
    return call.argument == column and call.function in (*PERCENTILES, Function.COUNT) and not call.is_distinct
