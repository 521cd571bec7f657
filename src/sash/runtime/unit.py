"""Where rows enter a shard whose source tells no order: those of a batch are in the order of (ts, full row).

How Spark has cut a batch into tasks, and which of them came first, cannot be seen then.
"""

from __future__ import annotations

import numpy as np

from sash.deltas import Delta
from sash.operators.net_changes import NetChanges, repeat
from sash.plan.streams import StreamSpec
from sash.planner.job import Port
from sash.runtime.intake import Intake, in_order
from sash.runtime.stream_clock import StreamClock
from sash.stores.arena import Scope
from sash.stores.interner import Interner


class UnitIntake(Intake):
    """A port of a stream whose batches are units."""

    is_plain = False

    def __init__(
        self, port: Port, spec: StreamSpec, clock: StreamClock, scope: Scope, interner: Interner, *, remembers: bool
    ) -> None:
        super().__init__(port, spec, clock, scope, interner, remembers=remembers)
        self._net = NetChanges(self._layout, interner)

    def _in_order(self, came: Delta) -> Delta:
        return by_full_row(in_order(came), self._net)


def by_full_row(delta: Delta, net: NetChanges) -> Delta:
    """Rows that come, in the order of their instants: those of one instant by the full row, each as often as it is there."""
    added = net.per_instant(delta)
    return repeat(added, np.abs(added.weight))
