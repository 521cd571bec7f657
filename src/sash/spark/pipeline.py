"""The pipeline as Spark sees it: a source of packets, then an exchange and a stage for every level."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from sash.folders.folder import Folder
from sash.plan.streams import StreamSpec
from sash.planner.job import Job
from sash.runtime.packets import Packet
from sash.sources.registry.place import reaching
from sash.spark.daemon import OF_TASKS
from sash.spark.frames import pack_frame
from sash.spark.homes import CONFIGURATION as OF_HOMES
from sash.spark.homes import Homes
from sash.spark.observing import observed
from sash.spark.registration import register
from sash.spark.remote import cores, is_remote, told_by_tasks
from sash.spark.settings import Settings, to_text
from sash.spark.source import FORMAT, OPTION, SPARK_SCHEMA, SashSource
from sash.spark.stage import MapArrow
from sash.spark.starting import given
from sash.spark.wire import from_batch

# A query's stages are planned once, and move few rows with large bodies.
CONFIGURATION = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "64",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(64 << 20),
}
# On a disk, Spark's default asks the shell for permissions at every commit; this one takes a fifth of the time.
LOCAL_CONFIGURATION = {
    "spark.sql.streaming.checkpointFileManagerClass":
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager",
}  # fmt: skip

Told = TypeVar("Told")
MakeStage = Callable[[int], MapArrow]  # of a level


@contextmanager
def configured(spark: SparkSession, checkpoint: Folder) -> Iterator[None]:
    """The configuration of a query while it is made; the user's session keeps its own."""
    wanted = CONFIGURATION | (LOCAL_CONFIGURATION if checkpoint.is_local else {}) | (OF_HOMES if wants_homes(spark) else {})
    before = {key: spark.conf.get(key, None) for key in wanted}
    for key, value in wanted.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, old in before.items():
            spark.conf.unset(key) if old is None else spark.conf.set(key, old)


def is_one_machine(spark: SparkSession | None) -> bool:
    """Whether tasks run in the process of the driver's Java, so that they see the files that this process sees."""
    if is_remote(spark):
        return False
    return spark is None or re.fullmatch(r"local(\[.*\])?", spark.sparkContext.master) is not None


def wants_homes(spark: SparkSession) -> bool:
    """Whether shards have homes: where tasks run on several machines. Over Spark Connect nobody tells which there are."""
    return not is_remote(spark) and not is_one_machine(spark)


def on_workers(spark: SparkSession | None, work: Callable[[], Told]) -> list[Told]:
    """Let tasks, as many as run at once, do something where they are; without Spark, it is done here. Over Spark Connect paths
    come as texts."""
    if spark is None:
        return [work()]
    count = cores(spark)
    if is_remote(spark):
        return told_by_tasks(spark, count, work)
    return list(spark.sparkContext.parallelize(range(count), count).map(lambda _: work()).collect())


def streaming(
    spark: SparkSession, job: Job, newest: Job, settings: Settings, frames: Mapping[str, DataFrame], make_stage: MakeStage,
    homes: Homes | None, *, said: Mapping[str, StreamSpec], is_observed: bool = False,
) -> DataFrame:
    """The packets of every batch that are for the driver; where there is more than one machine, shards have homes.

    The query begins with a job, and has what the newest version of it needs: its levels, and the ports of its DataFrames. What is
    on record of how to reach a registry of schemas is replaced by what is said now.
    """
    register(spark, SashSource)
    _wake_workers(spark)
    packets = given(spark.readStream.format(FORMAT).option(OPTION, to_text(job, settings)).load)
    # Spark knows its sources by their places, so these must not depend on who was named first.
    for stream in sorted(job.streams, key=lambda one: one.name):
        if stream.name in frames:
            packets = packets.unionByName(pack_frame(newest, reaching(stream, said.get(stream.name)), frames[stream.name]))
    packets = _through_levels(packets, newest, make_stage, homes)
    return observed(packets) if is_observed else packets


def collected(packets: DataFrame) -> Iterator[Packet]:
    """Run what there is to run; the packets that come out."""
    for batch in packets.toArrow().to_batches():
        yield from from_batch(batch)


def _through_levels(packets: DataFrame, job: Job, make_stage: MakeStage, homes: Homes | None) -> DataFrame:
    for level in range(1, job.levels + 1):
        gathered = packets.repartitionById(job.shards, "shard") if homes is None else homes.gathered(packets)
        packets = gathered.mapInArrow(make_stage(level), SPARK_SCHEMA)
    return packets


def _wake_workers(spark: SparkSession) -> None:
    """Python workers start while Spark is still looking for the source: each takes a second or two."""
    count = cores(spark)
    rows = spark.range(0, count, 1, count)

    def wake() -> None:
        with suppress(Exception):  # nobody waits for it, and the session may have ended
            rows.mapInArrow(_load, rows.schema).collect()

    threading.Thread(target=wake, daemon=True).start()


def _load(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for module in OF_TASKS:  # ours has them already; the daemon of a user's own session has not
        import_module(module)
    yield from batches
