"""Stages: the shards of one level, as tasks of Spark.

Task s of a stage is shard s. It takes all packets that came to it, opens those of its own level, hands the others
on, and gives the answer of its task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa
from pyspark import TaskContext

from sash.planner.job import Job
from sash.planner.read_plan import Code
from sash.runtime.packets import Packet
from sash.spark.handing import batch_of
from sash.spark.looking import MARK
from sash.spark.settings import Settings
from sash.spark.shard_task import MakeEngine, ShardTask
from sash.spark.wire import from_batch, to_batches

MapArrow = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def stage(job: Job, settings: Settings, level: int, make_engine: MakeEngine, code: Code) -> MapArrow:
    """The function that runs every shard of a level in a batch of the query."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = _context()
        task = ShardTask(job, settings, make_engine, level, context.partitionId(), code)
        mine, marked, others = sorted_out([packet for batch in batches for packet in from_batch(batch)], level)
        answer = task.answer_from_here(batch_of(context, settings.checkpoint), mine, marked)
        yield from to_batches([*others, *answer])

    return run


def _context() -> TaskContext:
    context = TaskContext.get()
    assert context is not None
    return context


def sorted_out(packets: Sequence[Packet], level: int) -> tuple[list[Packet], list[Packet], list[Packet]]:
    """The packets for this level, in order; those about what is not yet final; and all that are to be handed on."""
    mine, marked = (sorted((packet for packet in packets if packet.level == at), key=_place) for at in (level, level + MARK))
    return mine, marked, [packet for packet in packets if packet.level not in (level, level + MARK)]


def _place(packet: Packet) -> tuple[int, str, int, int]:
    return packet.cargo, packet.name, packet.port, packet.order
