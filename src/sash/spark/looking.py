"""What is not yet final: a shard's answer about it, from a fork of its state in which time goes on to the last row that is in.

    level 1   a fork ─▶ AHEAD of views, and marked packets to level 2
    level 2   a fork, and the marked packets ─▶ AHEAD of views, …

It comes with a batch while somebody reads (`reading.py`): every shard looks when it has answered, and tells with its answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sash.runtime.packets import OUTSIDE, Cargo, Packet, batch_body, facts_body
from sash.runtime.shard import Shard
from sash.spark.sealed import SealedFolder

READING = "reading"  # a file of the checkpoint: it is there while somebody reads
MARK = 1 << 16  # added to the level of a packet that is about what is not yet final


def is_somebody_reading(checkpoint: SealedFolder) -> bool:
    """The driver changes it between two batches only, so all shards of a batch see the same."""
    return checkpoint.has(READING)


def is_all_final(engine: Shard) -> bool:
    """Whether there is nothing to look for; all shards of all levels know the same."""
    return all(one.is_final for one in engine.clocks.instants().values())


def looked(engine: Shard, level: int, shard: int, marked: Sequence[Packet]) -> Iterator[Packet]:
    """What a shard says of it. The engine, on a fork of its state, is of no use any more afterwards."""
    asked = Packet(level, shard, Cargo.CONTROL, "", -1, 0, facts_body({"look": 1}))
    found = engine.work([asked, *(replace(packet, level=packet.level - MARK) for packet in marked)])
    for view, net in found.changes:
        if len(net):
            yield Packet(OUTSIDE, shard, Cargo.AHEAD, view.view.name, -1, shard, batch_body(view.whole(net)))
    for packet in found.sent:
        yield replace(packet, level=packet.level + MARK)
