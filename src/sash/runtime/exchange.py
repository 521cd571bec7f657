"""Changes on their way from one level to the next: Arrow columns, then instant, expiry and weight."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from sash.deltas import Delta
from sash.operators.spec import PortSpec
from sash.planner.job import Port
from sash.runtime.graph import Feed
from sash.runtime.intake import in_order
from sash.runtime.packets import Cargo, Packet, batch_body, facts_body
from sash.runtime.routing import split_by_shard
from sash.schema import BEGINNING
from sash.stores.interner import Interner
from sash.stores.lanes import decode, encode

MARKS = ("_ts", "_expiry", "_weight")


def send(port: Port, feed: Feed, shard: int, shards: int, interner: Interner) -> Iterator[Packet]:
    """Changes to the shards of a higher level, and to each the clock."""
    facts = facts_body({"clock": feed.clock})
    for other in range(shards):
        yield Packet(port.level, other, Cargo.CLOCK, "", port.number, shard, facts)
    if not len(feed.delta):
        return
    columns = decode(feed.delta.rows, port.spec.layout, interner)
    marks = (pa.array(numbers) for numbers in (feed.delta.ts, feed.delta.expiry, feed.delta.weight))
    batch = pa.RecordBatch.from_arrays([*columns, *marks], names=[*port.schema.names, *MARKS])
    for other, part in split_by_shard(batch, port, shards):
        yield Packet(port.level, other, Cargo.DELTA, "", port.number, shard, batch_body(part))


def receive(spec: PortSpec, packets: Sequence[Packet], interner: Interner) -> Feed:
    """Changes and clocks that all shards of the lower level sent."""
    clocks = [packet.facts() for packet in packets if packet.cargo is Cargo.CLOCK]
    deltas = [_from_arrow(packet.batch(), spec, interner) for packet in packets if packet.cargo is Cargo.DELTA]
    clock = min((int(facts["clock"] or 0) for facts in clocks), default=BEGINNING)
    return Feed(in_order(Delta.concatenate(deltas, spec.layout.width)), clock)


def _from_arrow(batch: pa.RecordBatch, spec: PortSpec, interner: Interner) -> Delta:
    columns = batch.columns[: -len(MARKS)]
    ts, expiry, weight = (np.array(column, np.int64) for column in batch.columns[-len(MARKS) :])
    rows = encode(columns, spec.layout, interner) if columns else np.zeros((len(ts), spec.layout.width), np.int64)
    return Delta(rows, ts, expiry, weight)
