"""Stages: the shards of one level, as tasks of Spark.

Task s of a stage is shard s. It takes all packets that came to it, opens those of its own level, hands the others
on, and gives the answer of its keeper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark import TaskContext

from sash.physical.job import Job
from sash.runtime.packets import Packet
from sash.spark.keeper import Keeper, MakeEngine
from sash.spark.settings import Settings
from sash.spark.wire import from_batch, to_batches

BATCH_ID = "streaming.sql.batchId"

MapArrow = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def stage(job: Job, settings: Settings, level: int, make_engine: MakeEngine) -> MapArrow:
    """The function that runs every shard of a level."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        batch, shard = int(context.getLocalProperty(BATCH_ID) or 0), context.partitionId()
        packets = [packet for record_batch in batches for packet in from_batch(record_batch)]
        mine = sorted((packet for packet in packets if packet.level == level), key=_place)
        others = (packet for packet in packets if packet.level != level)
        answer = Keeper(job, settings, make_engine, level, shard).answer(batch, mine)
        yield from to_batches([*others, *answer])

    return run


def _place(packet: Packet) -> tuple[int, str, int, int]:
    return packet.cargo, packet.name, packet.port, packet.order
