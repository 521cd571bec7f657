"""Changes on their way from one level to the next: Arrow columns, then instant, expiry and weight."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sash.deltas import Delta
from sash.operators.spec import PortSpec
from sash.planner.job import Port
from sash.runtime.delta_columns import as_columns, from_columns
from sash.runtime.graph import Feed
from sash.runtime.intake import in_order
from sash.runtime.packets import Cargo, Packet, batch_body, facts_body
from sash.runtime.routing import split_by_shard
from sash.schema import BEGINNING
from sash.stores.interner import Interner


def send(port: Port, feed: Feed, shard: int, shards: int, interner: Interner) -> Iterator[Packet]:
    """Changes to the shards of a higher level, and to each the clock."""
    facts = facts_body({"clock": feed.clock})
    for other in range(shards):
        yield Packet(port.level, other, Cargo.CLOCK, "", port.number, shard, facts)
    if not len(feed.delta):
        return
    for other, part in split_by_shard(as_columns(feed.delta, port.spec.layout, interner), port, shards):
        yield Packet(port.level, other, Cargo.DELTA, "", port.number, shard, batch_body(part))


def receive(spec: PortSpec, packets: Sequence[Packet], interner: Interner) -> Feed:
    """Changes and clocks that all shards of the lower level sent."""
    clocks = [packet.facts() for packet in packets if packet.cargo is Cargo.CLOCK]
    deltas = [from_columns(packet.batch(), spec.layout, interner) for packet in packets if packet.cargo is Cargo.DELTA]
    clock = min((int(facts["clock"] or 0) for facts in clocks), default=BEGINNING)
    return Feed(in_order(Delta.concatenate(deltas, spec.layout.width)), clock)
