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
from sash.runtime.partitions import PARTITION, POSITION, label, named
from sash.scalar.arrays import combined
from sash.sources.convert import convert
from sash.sources.messages import PAYLOAD, message_spec, read_messages
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
    names = (*source_columns(stream), *told)

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
        chosen = chosen.repartition(job.shards, *(f"c{place}" for place in range(len(names) - len(told), len(names) - 1)))
    return chosen.mapInArrow(pack, SPARK_SCHEMA)


def source_columns(stream: StreamSpec) -> tuple[str, ...]:
    """What a stream reads of a DataFrame: its own columns, or messages that have them, and what is told beside these."""
    return stream.schema.names if stream.encoding is None else (PAYLOAD, *(name for _, name in stream.metadata))


def pack_task(job: Job, stream: StreamSpec, task: int, came: pa.Table) -> Iterator[Packet]:
    """What one task has read: what the stream reads, then the columns that tell partition and position, if it has some."""
    width = len(source_columns(stream))
    result = _read(stream, came.select(range(width)))
    observer = StreamObserver(stream)
    observer.observe(result.batch)
    result = result if stream.position is None else _placed(result, came.columns[width:])
    yield from pack_split(job, stream, task, result.batch, result.dead, None)
    yield sample(observer)


def _read(stream: StreamSpec, came: pa.Table) -> ReadResult:
    if stream.encoding is None:
        return convert(stream, came.rename_columns(list(stream.schema.names)))
    message, *beside = (combined(column) for column in came.columns)
    return read_messages(stream, message, beside)


def _placed(result: ReadResult, told: Sequence[pa.ChunkedArray]) -> ReadResult:
    """The rows that could be read, with their partitions and positions; dead letters say theirs as file and row."""
    *parts, place = (combined(column) for column in told)
    partition, position = named(parts), place.cast(pa.int64())
    dead = np.asarray(result.dead.column("row")) - 1
    is_read = np.ones(len(position), np.bool_)
    is_read[dead] = False
    columns = [*result.batch.columns, *(column.filter(pa.array(is_read)) for column in (partition, position))]
    batch = pa.RecordBatch.from_arrays(columns, names=[*result.batch.schema.names, PARTITION, POSITION])
    names = ["" if (name := partition[int(row)].as_py()) is None else label(name) for row in dead]
    where = [pa.array(names, pa.string()), position.take(pa.array(dead))]
    return ReadResult(batch, pa.RecordBatch.from_arrays([*result.dead.columns[:2], *where], schema=result.dead.schema))


def _check(stream: StreamSpec, frame: DataFrame) -> None:
    if is_stamped(stream):
        raise SashError(
            f'stream "{stream.name}" comes as a DataFrame and has no timestamps',
            "say TIMESTAMP BY with one of its columns: times of arrival would differ when a batch is read again",
        )
    check_places(stream.name, frame, stream.partition, stream.position)
    _check_encoding(stream)
    there = {field.name.lower(): field.dataType.simpleString() for field in frame.schema.fields}
    for name in source_columns(stream):
        if name.lower() not in there:
            raise SashError(
                f'the DataFrame of stream "{stream.name}" has no column "{name}"', f"it has: {choices(frame.columns)}"
            )
    if stream.encoding is not None and there[PAYLOAD] not in ("binary", "string"):
        raise SashError(
            f'"{PAYLOAD}" in the DataFrame of stream "{stream.name}" is {there[PAYLOAD]}, and a message is text or bytes',
            "leave the encoding out",
        )


def _check_encoding(stream: StreamSpec) -> None:
    """One that is known; without one, no column is in a message, or beside it."""
    if stream.encoding is not None:
        message_spec(stream)
        return
    for column, _ in (*stream.paths, *stream.metadata):
        raise SashError(
            f'column "{column}" of stream "{stream.name}" is FROM a path or METADATA, but its messages have no encoding',
            "say WITH (…, encoding = 'json'), or declare the columns that the source gives",
        )
