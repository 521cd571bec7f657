"""Streams that come as Spark DataFrames: Kafka, or any other source that Spark can read.

The rows of a task are packed where they are read, and united with the packets of the files. Which task reads a row says nothing
about its place in the stream: where the DataFrame does not tell it, the rows of a batch are one unit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame

from sash.errors import SashError, choices
from sash.plan.streams import StreamSpec
from sash.planner.job import Job
from sash.runtime.observing import StreamObserver
from sash.runtime.packets import Packet
from sash.runtime.packing import pack_split
from sash.runtime.partitions import PARTITION, POSITION, named
from sash.scalar.arrays import combined
from sash.sources.convert import convert
from sash.sources.result import ReadResult
from sash.spark.offsets import is_stamped
from sash.spark.placed_frames import check_places, has_whole_pieces
from sash.spark.share_packets import sample
from sash.spark.source import SPARK_SCHEMA
from sash.spark.wire import to_batches
from sash.sql.syntax.text_positions import quoted


def pack_frame(job: Job, stream: StreamSpec, frame: DataFrame) -> DataFrame:
    """The rows of a DataFrame as packets."""
    _check(stream, frame)
    told = (*stream.partition, stream.position) if stream.position is not None else ()
    names = (*stream.schema.names, *told)

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        came = list(batches)
        if came:
            yield from to_batches(pack_task(job, stream, context.partitionId(), pa.Table.from_batches(came)))

    columns = [frame[quoted(name)].alias(f"c{place}") for place, name in enumerate(names)]
    chosen = frame.select(*columns)  # mapInArrow cannot find a name with a dot in it
    if stream.position is not None and not has_whole_pieces(stream, frame):
        # A partition's rows are judged by those before them, so they come together, however the DataFrame has spread them.
        chosen = chosen.repartition(job.shards, *(f"c{place}" for place in range(len(stream.schema), len(names) - 1)))
    return chosen.mapInArrow(pack, SPARK_SCHEMA)


def pack_task(job: Job, stream: StreamSpec, task: int, came: pa.Table) -> Iterator[Packet]:
    """What one task has read: the columns of the stream, then those that tell partition and position, if the stream has some."""
    width = len(stream.schema)
    result = convert(stream, came.select(range(width)).rename_columns(list(stream.schema.names)))
    observer = StreamObserver(stream)
    observer.observe(result.batch)
    rows = result.batch if stream.position is None else _placed(result, came.columns[width:])
    yield from pack_split(job, stream, task, rows, result.dead, None)
    yield sample(observer)


def _placed(result: ReadResult, told: Sequence[pa.ChunkedArray]) -> pa.RecordBatch:
    """The rows that could be read, with their partitions and positions."""
    is_read = np.ones(len(told[0]), np.bool_)
    is_read[np.asarray(result.dead.column("row")) - 1] = False
    *partition, position = (combined(column).filter(pa.array(is_read)) for column in told)
    columns = [*result.batch.columns, named(partition), position.cast(pa.int64())]
    return pa.RecordBatch.from_arrays(columns, names=[*result.batch.schema.names, PARTITION, POSITION])


def _check(stream: StreamSpec, frame: DataFrame) -> None:
    if is_stamped(stream):
        raise SashError(
            f'stream "{stream.name}" comes as a DataFrame and has no timestamps',
            "say TIMESTAMP BY with one of its columns: times of arrival would differ when a batch is read again",
        )
    check_places(stream.name, frame, stream.partition, stream.position)
    there = {name.lower() for name in frame.columns}
    for name in stream.schema.names:
        if name.lower() not in there:
            raise SashError(
                f'the DataFrame of stream "{stream.name}" has no column "{name}"', f"it has: {choices(frame.columns)}"
            )
