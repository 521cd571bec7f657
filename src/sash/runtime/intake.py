"""Where rows of a stream enter a shard: stamped, sorted out if late, put into lanes, and held until their instants are final."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sash.deltas import Delta, Int64s
from sash.logical.streams import Stamp, StreamSpec
from sash.physical.job import Port
from sash.runtime.graph import Feed
from sash.runtime.stream_clock import StreamClock
from sash.schema import BEGINNING, FOREVER
from sash.state.arena import Scope
from sash.state.interner import Interner
from sash.state.lanes import encode
from sash.state.queue import DeltaQueue

WEIGHT = "_weight"  # the last column of changes of a table, after _ts


class Intake:
    """One port of a stream."""

    def __init__(self, port: Port, spec: StreamSpec, clock: StreamClock, scope: Scope, interner: Interner) -> None:
        self.port = port
        self._spec = spec
        self._clock = clock
        self._layout = port.spec.layout
        self._interner = interner
        self._held = DeltaQueue(self._layout, scope, interner)
        self._first = scope.array("first", 2)  # instant of the first row, and whether there was one
        self._came: list[Delta] = []

    def take(self, batch: pa.RecordBatch, late_below: int) -> pa.RecordBatch:
        """Take rows in and give back those that came too late."""
        ts = self._stamps(batch)
        late = batch.slice(0, 0)
        if len(ts) and int(ts.min()) < late_below:
            is_late = ts < late_below
            late = batch.filter(pa.array(is_late))
            batch, ts = batch.filter(pa.array(~is_late)), ts[~is_late]
        if len(ts):
            self._took(int(ts.min()))
            rows = encode(batch.columns[: len(self._layout.schema)], self._layout, self._interner)
            self._came.append(Delta(rows, ts, np.full(len(ts), FOREVER), self._weights(batch)))
        return late.select(range(len(self._layout.schema)))

    @property
    def begin(self) -> int | None:
        """The instant of the first row that came here; None while there was none."""
        return int(self._first[0]) if self._first[1] else None

    def _took(self, first: int) -> None:
        if not self._spec.is_table:
            self._clock.took(first)
            self._first[:] = (min(first, int(self._first[0])) if self._first[1] else first, 1)

    def feed(self, clock: int) -> Feed:
        """What is final before `clock`, in the order of (ts, position)."""
        came, self._came = in_order(Delta.concatenate(self._came, self._layout.width)), []
        if len(self._held) and len(came) and came.ts[0] < self._held.peek().ts[-1]:
            self._held.replace(in_order(Delta.concatenate([self._held.peek(), came], self._layout.width)))
        elif not len(self._held) and len(came) and came.ts[-1] < clock:
            return Feed(came, clock)
        else:
            self._held.append(came)
        return Feed(self._held.take(clock), clock)

    def _stamps(self, batch: pa.RecordBatch) -> Int64s:
        if self._spec.is_table and WEIGHT not in batch.schema.names:
            return np.full(batch.num_rows, BEGINNING)
        place = self._spec.timestamp if self._spec.stamp is Stamp.EXTERNAL else len(self._layout.schema)
        return np.array(batch.column(place).view(pa.int64()), np.int64)


    def _weights(self, batch: pa.RecordBatch) -> Int64s:
        if WEIGHT not in batch.schema.names:
            return np.ones(batch.num_rows, np.int64)
        return np.array(batch.column(WEIGHT), np.int64)


def in_order(delta: Delta) -> Delta:
    """Sorted by ts, rows of one instant as they came."""
    if not len(delta) or bool((delta.ts[1:] >= delta.ts[:-1]).all()):
        return delta
    return delta.take(np.argsort(delta.ts, kind="stable"))
