"""Stages: the shards of one level, as tasks of Spark.

Task s of a stage is shard s. It takes all packets that came to it, opens those of its own level, hands the others
on, and gives the answer of its keeper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark import TaskContext

from sash.planner.job import Job
from sash.planner.read_plan import Code
from sash.runtime.packets import Packet
from sash.spark.settings import Settings
from sash.spark.shard_task import Keeper, MakeEngine
from sash.spark.wire import from_batch, to_batches

BATCH_ID = "streaming.sql.batchId"

MapArrow = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def stage(job: Job, settings: Settings, level: int, make_engine: MakeEngine, code: Code) -> MapArrow:
    """The function that runs every shard of a level in a batch of the query."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = _context()
        keeper = Keeper(job, settings, make_engine, level, context.partitionId(), code)
        mine, others = _sorted_out(batches, level)
        answer = keeper.answer(int(context.getLocalProperty(BATCH_ID) or 0), mine)
        yield from to_batches([*others, *answer])

    return run


def looking_stage(job: Job, settings: Settings, level: int, make_engine: MakeEngine, code: Code, version: int) -> MapArrow:
    """The function that asks every shard of a level what it would say, as it is after a batch; nothing is kept."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        keeper = Keeper(job, settings, make_engine, level, _context().partitionId(), code)
        mine, others = _sorted_out(batches, level)
        yield from to_batches([*others, *keeper.look(version, mine)])

    return run


def _context() -> TaskContext:
    context = TaskContext.get()
    assert context is not None
    return context


def _sorted_out(batches: Iterator[pa.RecordBatch], level: int) -> tuple[list[Packet], list[Packet]]:
    """The packets for this level, in order, and those to be handed on."""
    packets = [packet for batch in batches for packet in from_batch(batch)]
    mine = sorted((packet for packet in packets if packet.level == level), key=_place)
    return mine, [packet for packet in packets if packet.level != level]


def _place(packet: Packet) -> tuple[int, str, int, int]:
    return packet.cargo, packet.name, packet.port, packet.order
