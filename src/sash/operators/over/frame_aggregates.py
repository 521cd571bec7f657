"""Aggregates over the frames of a window: a GROUP BY of everything, over rows that enter and leave as the frame moves on.

    row          0 1 2 3 4             frame: one row before to one after
    frame of 2     [     ]             row 4 enters with row 3, row 0 leaves with row 2

Both ends of a frame only rise, so every row enters and leaves once. Places take the part of instants, and each frame is what its
instant shows; after the last one all rows have left, so nothing is kept from one call to the next.
"""

from __future__ import annotations

import numpy as np

from sash.deltas import Delta, Int64s, forever
from sash.operators.group_by.operator import GroupBy
from sash.operators.group_by.spec import GroupBySpec
from sash.operators.operator import OperatorContext
from sash.operators.over.scratch import Scratch
from sash.operators.over.segments import Segments
from sash.operators.spec import PortSpec
from sash.plan.aggregates import AggregateCall
from sash.plan.over import Frame
from sash.plan.patterns import Pattern
from sash.schema import Schema


class FrameAggregates:
    """All aggregates of one frame."""

    def __init__(
        self, frame: Frame, calls: tuple[AggregateCall, ...], schema: Schema, context: OperatorContext
    ) -> None:
        self._frame = frame
        names = tuple(f"call{place}" for place in range(len(calls)))
        spec = GroupBySpec(PortSpec(0, schema, Pattern.STRICT, ()), (), calls, names)
        scratch = OperatorContext(Scratch(), context.interner, context.failures)
        self._groups, self.layout = GroupBy(spec, scratch), spec.layout
        self._of_nothing = self._groups.run([Delta.empty(spec.input.layout.width)], 1, 0).rows.copy()

    def values(self, rows: Segments) -> Int64s:
        """A row of results for every row."""
        changes = self._groups.run([self._moves(rows)], len(rows) + 1, None)
        shown = np.flatnonzero(changes.weight > 0)
        results = np.concatenate([self._of_nothing, changes.rows[shown]])
        return np.asarray(results[np.searchsorted(changes.ts[shown], rows.places, side="right")])

    def _moves(self, rows: Segments) -> Delta:
        """Every row enters with the first frame that ends after it, and leaves with the first that begins after it."""
        low, high = rows.bounds(self._frame)
        enters = np.searchsorted(high, rows.places, side="right")
        leaves = np.minimum(np.searchsorted(low, rows.places, side="right"), rows.stop)
        seen = np.flatnonzero(enters < leaves)
        instants = np.concatenate([leaves[seen], enters[seen]])
        order = np.argsort(instants, kind="stable")
        signs = np.repeat(np.array([-1, 1]), len(seen))
        moved = np.concatenate([seen, seen])[order]
        return Delta(rows.rows[moved], instants[order], forever(len(order)), signs[order])
