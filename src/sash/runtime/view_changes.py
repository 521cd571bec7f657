"""What a shard says of a view: its changes, instant by instant, as lanes; and, for those who are elsewhere, as packets."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from sash.deltas import Delta, Int64s, forever
from sash.operators.net_changes import NetChanges, repeat
from sash.operators.spec import Spec
from sash.planner.job import View
from sash.runtime.graph import Feed
from sash.runtime.lane_changes import ChangeWriter
from sash.runtime.live import Lanes
from sash.runtime.packets import OUTSIDE, Cargo, Packet, batch_body
from sash.schema import BEGINNING
from sash.stores.arena import Arena
from sash.stores.interner import Interner
from sash.stores.lanes import decode
from sash.stores.queue import DeltaQueue


def held_by(spec: Spec) -> str:
    """The name of what a view holds back."""
    return f"views/{spec.fingerprint}"


class ViewChanges:
    """The changes of one spec, under the name of the first view of it."""

    def __init__(self, view: View, shard: int, arena: Arena, interner: Interner) -> None:
        self.view = view
        self._scope = arena.scope("views").scope(view.spec.fingerprint)
        self._shard = shard
        self._interner = interner
        self._net = NetChanges(view.spec.layout, interner)
        self._writer = ChangeWriter(view.schema, view.spec.layout, interner)
        self.held = self._queue() if self._scope.has("registers") else None

    def due(self, feed: Feed, final: int) -> Feed:
        """What is final in the time of the view. Operators that others use may be ahead of it: what they gave waits here."""
        is_early = feed.clock <= BEGINNING and len(feed.delta) > 0  # rows of a table, before it has any time
        if self.held is None and feed.clock <= final and not is_early:
            return feed
        self.held = self.held or self._queue()
        self.held.append(feed.delta)
        return Feed(self.held.take(final), min(feed.clock, final))

    def shown(self, rows: Int64s) -> Lanes:
        """What is final of the rows that an operator shows: without the changes that wait here."""
        ones = np.ones(len(rows), np.int64)
        if self.held is None or not len(self.held):
            return rows, ones
        held = self.held.peek()
        both, weights = np.concatenate([rows, held.rows]), np.concatenate([ones, -held.weight])
        net = self._net.over_all(Delta(both, np.zeros(len(weights), np.int64), forever(len(weights)), weights))
        return net.rows, net.weight

    @property
    def is_holding(self) -> bool:
        """Whether something may wait here."""
        return self.held is not None

    def _queue(self) -> DeltaQueue:
        with self._interner.owned(held_by(self.view.spec)):
            return DeltaQueue(self.view.spec.layout, self._scope, self._interner)

    def net(self, delta: Delta) -> Delta:
        """What every instant really changed."""
        return delta if delta.is_net else self._net.per_instant(delta)

    def first(self, feed: Feed, now: int) -> Delta:
        """A view that is new begins with all that it holds, at the last instant that is final."""
        if not len(feed.delta) or feed.clock <= BEGINNING:
            return Delta.empty(self.view.spec.layout.width)
        whole = self._net.over_all(feed.delta)
        return self.net(Delta(whole.rows, np.full(len(whole), min(feed.clock - 1, now)), whole.expiry, whole.weight))

    def packets(self, net: Delta) -> Iterator[Packet]:
        """Net changes for those who are elsewhere: instant by instant, and what they come to."""
        if len(net):
            yield self._packet(Cargo.CHANGES, self._writer.columns(repeat(net, np.abs(net.weight))))
            yield self._packet(Cargo.NET, batch_body(self.whole(net)))

    def whole(self, net: Delta) -> pa.RecordBatch:
        """What some changes come to: the columns of the view, then the weight."""
        whole = self._net.over_all(net)
        columns = decode(whole.rows, self.view.spec.layout, self._interner)
        names = [*self.view.schema.names, "_weight"]
        return pa.RecordBatch.from_arrays([*columns, pa.array(whole.weight)], names=names)

    def _packet(self, cargo: Cargo, body: bytes | pa.RecordBatch) -> Packet:
        return Packet(OUTSIDE, self._shard, cargo, self.view.name, -1, self._shard, body)
