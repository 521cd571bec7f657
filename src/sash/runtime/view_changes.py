"""What a shard says of a view: its changes, instant by instant, and, if they are many, the net of a step."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from sash.deltas import Delta
from sash.operators.net_changes import NetChanges, repeat
from sash.operators.spec import Spec
from sash.planner.job import View
from sash.runtime.graph import Feed
from sash.runtime.packets import OUTSIDE, Cargo, Packet, batch_body, changes_schema
from sash.schema import BEGINNING
from sash.stores.arena import Arena
from sash.stores.interner import Interner
from sash.stores.lanes import decode, plain_array
from sash.stores.queue import DeltaQueue


def held_by(spec: Spec) -> str:
    """The name of what a view holds back."""
    return f"views/{spec.fingerprint}"


class ViewChanges:
    """The changes of one spec, in packets that have the name of the first view of it."""

    def __init__(self, view: View, shard: int, arena: Arena, interner: Interner, net_from: int) -> None:
        self.view = view
        self._scope = arena.scope("views").scope(view.spec.fingerprint)
        self._shard, self._net_from = shard, net_from
        self._schema = changes_schema(view.schema)
        self._interner = interner
        self._net = NetChanges(view.spec.layout, interner)
        self._held = self._queue() if self._scope.has("registers") else None

    def due(self, feed: Feed, final: int) -> Feed:
        """What is final in the time of the view. Operators that others use may be ahead of it: what they gave waits here."""
        if self._held is None and feed.clock <= final:
            return feed
        self._held = self._held or self._queue()
        self._held.append(feed.delta)
        return Feed(self._held.take(final), min(feed.clock, final))

    def _queue(self) -> DeltaQueue:
        with self._interner.owned(held_by(self.view.spec)):
            return DeltaQueue(self.view.spec.layout, self._scope, self._interner)

    def packets(self, delta: Delta) -> Iterator[Packet]:
        net = self._net.per_instant(delta)
        if not len(net):
            return
        changes = self._changes(repeat(net, np.abs(net.weight)))
        yield self._packet(Cargo.CHANGES, changes)
        if changes.num_rows >= self._net_from:
            yield self._packet(Cargo.NET, self._whole(net))

    def _whole(self, net: Delta) -> bytes:
        whole = self._net.over_all(net)
        columns = decode(whole.rows, self.view.spec.layout, self._interner)
        names = [*self.view.schema.names, "_weight"]
        return batch_body(pa.RecordBatch.from_arrays([*columns, pa.array(whole.weight)], names=names))

    def first_packets(self, feed: Feed, now: int) -> Iterator[Packet]:
        """A view that is new begins with all that it holds, at the last instant that is final."""
        if len(feed.delta) and feed.clock > BEGINNING:
            whole = self._net.over_all(feed.delta)
            ts = np.full(len(whole), min(feed.clock - 1, now))
            yield from self.packets(Delta(whole.rows, ts, whole.expiry, whole.weight))

    def _packet(self, cargo: Cargo, body: bytes | pa.RecordBatch) -> Packet:
        return Packet(OUTSIDE, self._shard, cargo, self.view.name, -1, self._shard, body)

    def _changes(self, delta: Delta) -> pa.RecordBatch:
        marks = [pa.array(delta.weight.astype(np.int8)), plain_array(delta.ts.copy(), pa.timestamp("us"))]
        columns = decode(delta.rows, self.view.spec.layout, self._interner)
        return pa.RecordBatch.from_arrays([*marks, *columns], schema=self._schema)
