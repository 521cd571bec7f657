"""Where rows of a latent stream enter a shard: they take the time of the query's other streams.

    rows that come          no time yet
    clock of the others     the first one that is known after they came is their instant; they show when it is over
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from sash.deltas import Delta, Int64s
from sash.plan.streams import StreamSpec
from sash.planner.job import Port
from sash.runtime.intake import Intake
from sash.runtime.remains import Remains
from sash.runtime.stream_clock import StreamClock
from sash.schema import BEGINNING
from sash.stores.arena import Scope
from sash.stores.interner import Interner


class LatentIntake(Intake):
    """A port of a latent stream, for queries that read others besides."""

    is_plain = False

    def __init__(
        self, port: Port, spec: StreamSpec, clock: StreamClock, scope: Scope, interner: Interner, *, remembers: bool
    ) -> None:
        super().__init__(port, spec, clock, scope, interner, remembers=remembers)
        self._stamped = scope.array("stamped", 2)  # the first instant that was given, and whether one was

    def take(self, batch: pa.RecordBatch, late_below: int | Int64s, instant: int) -> pa.RecordBatch:
        """What has no time is never late."""
        return super().take(batch, BEGINNING, instant)

    def put(self, came: Delta, *, is_in_order: bool = False) -> None:
        self._came.append(_at(BEGINNING, came))

    @property
    def begin(self) -> int | None:
        return int(self._stamped[0]) if self._stamped[1] else None

    def take_over(self, remains: Remains) -> None:
        super().take_over(remains)
        if remains.begin is not None:
            self._stamped[:] = (remains.begin, 1)

    def stamp(self, clock: int) -> None:
        """Rows that have no time yet happen now; those that came before time began lie in the queue."""
        if clock == BEGINNING:
            return
        waiting = self._held.peek()
        if len(waiting) and waiting.ts[0] == BEGINNING:
            self._held.replace(_at(clock, waiting.copy()))
        elif not self._came:
            return
        self._came = [_at(clock, delta) for delta in self._came]
        if not self._stamped[1]:
            self._stamped[:] = (clock, 1)

    def _took(self, first: int) -> None:
        pass

    def _stamps(self, batch: pa.RecordBatch, instant: int) -> Int64s:
        return np.full(batch.num_rows, BEGINNING)


def _at(clock: int, delta: Delta) -> Delta:
    return replace(delta, ts=np.full(len(delta), clock))
