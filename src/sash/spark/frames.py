"""Streams that come as Spark DataFrames: Kafka, or any other source that Spark can read.

A task of the DataFrame is a split: its rows are packed where they are read, and united with the packets of the
files.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame

from sash.errors import SashError, choices
from sash.logical.streams import StreamSpec
from sash.physical.job import Job
from sash.runtime.observing import StreamObserver
from sash.runtime.packing import pack_split
from sash.sources.convert import convert
from sash.spark.offsets import is_stamped, sample
from sash.spark.source import SPARK_SCHEMA
from sash.spark.wire import to_batches
from sash.sql.places import quoted


def pack_frame(job: Job, stream: StreamSpec, frame: DataFrame) -> DataFrame:
    """The rows of a DataFrame as packets."""
    _check(stream, frame)

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        came = list(batches)
        names = list(stream.schema.names)
        rows = pa.Table.from_batches(came).rename_columns(names) if came else stream.schema.arrow.empty_table()
        result = convert(stream, rows)
        observer = StreamObserver(stream)
        observer.saw(result.batch)
        packets = pack_split(job, stream, context.partitionId(), result.batch, result.dead, None)
        yield from to_batches([*packets, sample(observer)])

    columns = [frame[quoted(name)].alias(f"c{place}") for place, name in enumerate(stream.schema.names)]
    return frame.select(*columns).mapInArrow(pack, SPARK_SCHEMA)  # which cannot find a name with a dot in it


def _check(stream: StreamSpec, frame: DataFrame) -> None:
    if is_stamped(stream):
        raise SashError(
            f'stream "{stream.name}" comes as a DataFrame and has no timestamps',
            "say TIMESTAMP BY with one of its columns: times of arrival would differ when a batch is read again",
        )
    there = {name.lower() for name in frame.columns}
    for name in stream.schema.names:
        if name.lower() not in there:
            raise SashError(
                f'the DataFrame of stream "{stream.name}" has no column "{name}"', f"it has: {choices(frame.columns)}"
            )
