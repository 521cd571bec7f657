"""Where rows of a partitioned source enter a shard: in the order of (ts, partition, position), whatever they came in.

They wait with their partition and position behind their own columns, until their instants are final.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from sash.deltas import Delta, Int64s, Layout
from sash.operators.net_changes import NetChanges
from sash.plan.streams import StreamSpec
from sash.planner.job import Port
from sash.runtime.intake import Intake, in_order
from sash.runtime.partitions import PARTITION, POSITION
from sash.runtime.stream_clock import StreamClock
from sash.runtime.unit import by_full_row
from sash.schema import BIGINT, STRING, Field, Schema
from sash.stores.arena import Scope
from sash.stores.interner import Interner


class PlacedIntake(Intake):
    """A port of a stream that tells partitions and positions."""

    is_plain = False

    def __init__(
        self, port: Port, spec: StreamSpec, clock: StreamClock, scope: Scope, interner: Interner, *, remembers: bool
    ) -> None:
        super().__init__(port, spec, clock, scope, interner, remembers=remembers)
        places = len(self._layout.schema)
        self._net = NetChanges(self._held_layout, interner, first=(places, places + 1))
        self._own = _lanes_of(self._layout, self._held_layout)

    @cached_property
    def _held_layout(self) -> Layout:
        return Layout(Schema((*self._layout.schema.fields, Field(PARTITION, STRING), Field(POSITION, BIGINT))))

    def _due(self, clock: int) -> Delta:
        due = super()._due(clock)
        return due.with_rows(due.rows.take(self._own, axis=1))  # line by line, as kernels are compiled for

    def _in_order(self, came: Delta) -> Delta:
        return by_full_row(in_order(came), self._net)

    def _is_before(self, came: int, held: int) -> bool:
        """Of one instant, a row of an earlier partition may come later."""
        return came <= held

    def _merged(self, both: Delta) -> Delta:
        return self._in_order(both)


def _lanes_of(layout: Layout, longer: Layout) -> Int64s:
    """Where a row lies in one that has more columns behind its own: its values, and its masks, whose bits stay the same."""
    masks = layout.width - layout.values
    return np.concatenate([np.arange(layout.values), np.arange(longer.values, longer.values + masks)])
