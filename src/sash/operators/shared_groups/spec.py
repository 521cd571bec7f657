"""Groups over many windows of one stream that jump by time: which can run together, and the operator itself.

    groups of s [RANGE 10 s SLIDE 1 s] by k ──╮
    groups of s [RANGE 60 s SLIDE 5 s] by k ──┼─ taps of one operator: rows of s by k, added up in slices of a second
    groups of s [RANGE 1 h SLIDE 10 min] by k    not: it has slices of ten minutes, and an operator of its own

Groups over such a window are what a tap is, as a join of two windows is (`shared_join/spec.py`). How long slices are follows from
the slide alone, so nothing of a view changes when others come or go: slides with the same slices are taps of the same operator.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from sash.operators.cost import Cost, Edge
from sash.operators.estimate import Estimate
from sash.operators.lookback import NO_LOOKBACK
from sash.operators.project.spec import ProjectSpec
from sash.operators.shared import SharedSpec
from sash.operators.spec import PortSpec, Signed, Spec, UnarySpec, parts
from sash.plan.aggregates import AggregateCall
from sash.plan.expression_text import duration_text
from sash.scalar.nodes import Column
from sash.schema import MICROSECOND, SECOND, Schema

if TYPE_CHECKING:
    from sash.operators.operator import Operator, OperatorContext

MINUTE, HOUR = 60 * SECOND, 3600 * SECOND
WIDTHS = (24 * HOUR, HOUR, 10 * MINUTE, MINUTE, 10 * SECOND, *(SECOND // 10**n * MICROSECOND for n in range(7)))
MOST = 100  # slices of a slide; one that would have more is a slice itself
LEAST_WIDTH = SECOND // 10


def slice_width(slide: int) -> int:
    """The longest of some usual spans of time that a slide is a multiple of: a common divisor of all slides that have it."""
    width = next(width for width in WIDTHS if slide % width == 0)
    return width if slide <= MOST * width else slide


def pays(width: int) -> bool:
    """Whether slices of a width are worth it: in short ones a group has hardly a row, and a part costs more than that row."""
    return width >= LEAST_WIDTH


@dataclass(frozen=True)
class SharedGroupsSpec(Signed, UnarySpec, SharedSpec):
    """Rows of a stream by key, added up in slices, whatever the windows: each tap has an output of its own; there is no other."""

    keys: tuple[int, ...]
    width: int  # of a slice

    keeps = "what every group added in a slice, as long as the longest window"
    shown_as = "shared_groups"
    has_turns = False
    lookback = NO_LOOKBACK
    needs_exact_departures = False

    @cached_property
    def schema(self) -> Schema:
        """Of a key."""
        return Schema(tuple(self.input.schema.fields[key] for key in self.keys))

    @property
    def title(self) -> str:
        streams = sorted({part.stream for part in parts(self.input) if isinstance(part, PortSpec) and part.stream is not None})
        return f"groups of {'+'.join(streams)} by {', '.join(self.schema.names)} in slices of {duration_text(self.width)}"

    def summary(self, taps: Iterable[Spec], queries: int) -> str:
        """What runs in it: how many windows, how long they are, for how many queries."""
        windows = {window[1:] for tap in taps for made in tap.made_of if (window := made.without_slides) is not None}
        lengths = sorted({size / SECOND for size, _ in windows})
        span = f"{lengths[0]:g}" if len(lengths) == 1 else f"{lengths[0]:g} to {lengths[-1]:g}"
        return f"{self.title}: {len(windows)} window{'s'[: len(windows) > 1]} of {span} s, {queries} queries"

    def estimate(self, *inputs: Estimate) -> Estimate:
        """It is never planned: its taps are, as the groups that they would be alone."""
        raise NotImplementedError("shared groups have no output of their own")

    def cost(self, inputs: Sequence[Edge], output: Edge) -> Cost:
        raise NotImplementedError("shared groups have no output of their own")

    def build(self, context: OperatorContext) -> Operator:
        from sash.operators.shared_groups.operator import SharedGroups

        return SharedGroups(self, context)


@dataclass(frozen=True)
class Grouped:
    """Rows as they come, and which of their columns are grouped and aggregated."""

    rows: Spec
    keys: tuple[int, ...]
    calls: tuple[AggregateCall, ...]

    def over_all_columns(self) -> Grouped:
        """The same below a projection that only chooses columns, so that others which choose other ones read the same rows."""
        used = {*self.keys, *(column for call in self.calls for column in call.columns)}
        if not isinstance(self.rows, ProjectSpec):
            return self
        shown = [self.rows.expressions[column] for column in sorted(used)]
        below = {column: one.index for column, one in zip(sorted(used), shown, strict=True) if isinstance(one, Column)}
        if len(below) < len(used):
            return self
        calls = tuple(
            call if call.argument is None else replace(call, argument=below[call.argument]) for call in self.calls
        )
        return Grouped(self.rows.input, tuple(below[key] for key in self.keys), calls).over_all_columns()
