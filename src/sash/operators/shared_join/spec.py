"""One join for many windows (seed 001): which joins can run in it, and the operator itself.

    join of s [RANGE 1 s] and r [RANGE 1 s] ───╮
    join of s [RANGE 60 s] and r [RANGE 60 s] ─┼─ taps of one join of s and r, by the same keys
    join of s [RANGE 600 s] and r [RANGE 5 s] ─╯

A join of two time windows is what a tap is: it names its windows, its columns, and, by what its windows read, the join that it is
an output of. So nothing of a view changes when others come or go: equal joins below the windows are one operator, as all equal
specs are, and that operator learns which windows are wanted from the taps that are opened and closed.
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
from sash.operators.spec import BinarySpec, PortSpec, Signed, Spec, parts
from sash.schema import SECOND, Schema

if TYPE_CHECKING:
    from sash.operators.operator import Operator, OperatorContext


@dataclass(frozen=True)
class SharedJoinSpec(Signed, BinarySpec, SharedSpec):
    """Pairs of two streams by key, whatever the windows: each tap has an output of its own, and there is no other."""

    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]

    keeps = "log of rows per side, as long as the longest window; no pairs"
    shown_as = "shared_joins"
    has_turns = True
    lookback = NO_LOOKBACK
    needs_exact_departures = False

    @cached_property
    def schema(self) -> Schema:
        return Schema(self.left.schema.fields + self.right.schema.fields)

    @property
    def title(self) -> str:
        pairs = zip(self.left_keys, self.right_keys, strict=True)
        names = [(self.left.schema.names[left], self.right.schema.names[right]) for left, right in pairs]
        keys = ", ".join(left if left == right else f"{left} = {right}" for left, right in names)
        return f"join {_streams(self.left)}-{_streams(self.right)} by {keys or 'nothing'}"

    def summary(self, taps: Iterable[Spec], queries: int) -> str:
        """What runs in it: how many windows, how long they are, for how many queries."""
        windows = {tuple(side.lifetime for side in tap.made_of) for tap in taps}
        lengths = sorted({size / SECOND for sizes in windows for size in sizes if size is not None})
        span = f"{lengths[0]:g}" if len(lengths) == 1 else f"{lengths[0]:g} to {lengths[-1]:g}"
        return f"{self.title}: {len(windows)} window{'s'[: len(windows) > 1]} of {span} s, {queries} queries"

    def estimate(self, *inputs: Estimate) -> Estimate:
        """It is never planned: its taps are, as the joins that they would be alone."""
        raise NotImplementedError("a shared join has no output of its own")

    def cost(self, inputs: Sequence[Edge], output: Edge) -> Cost:
        raise NotImplementedError("a shared join has no output of its own")

    def build(self, context: OperatorContext) -> Operator:
        from sash.operators.shared_join.operator import SharedJoin

        return SharedJoin(self, context)


def _streams(spec: Spec) -> str:
    """The streams that a side reads."""
    return "+".join(sorted({part.stream for part in parts(spec) if isinstance(part, PortSpec) and part.stream is not None}))


def shared_join(left: Spec, right: Spec, left_keys: tuple[int, ...], right_keys: tuple[int, ...]) -> SharedJoinSpec | None:
    """The join that a join of these two windows is an output of; None where a side is no time window."""
    if left.without_window is None or right.without_window is None:
        return None
    return SharedJoinSpec(left.without_window, right.without_window, left_keys, right_keys)
