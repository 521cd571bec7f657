"""A Spark host whose query is played in this process: the same planner, packets, keepers and checkpoint, and no JVM.

Batches run when somebody waits for them. A shard can be told to crash, once, in the next batch. A DataFrame is played by its
batches, each a list of what its tasks read; which of them a batch of the query takes is in the log, as Spark's own offsets are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sash.database import on_spark as spark_database
from sash.database.on_spark import SparkDatabase
from sash.errors import SashError
from sash.plan.streams import StreamSpec
from sash.planner.job import Job
from sash.runtime.packets import PACKET_SCHEMA, Packet
from sash.spark.arenas import BEFORE_ALL
from sash.spark.frames import pack_task, source_columns
from sash.spark.host import SparkHost
from sash.spark.kafka import KafkaStream
from sash.spark.offsets import offset_of, spark_folder
from sash.spark.settings import from_text, to_text
from sash.spark.shard_task import ShardTask
from sash.spark.source import SashReader
from sash.spark.stage import sorted_out
from sash.spark.wire import from_batch, to_batches

RETAINED = 100  # batches that Spark keeps in its logs (spark.sql.streaming.minBatchesToRetain)

Answer = Callable[[int, int, list[Packet], list[Packet]], list[Packet]]


class Crash(Exception):
    """Of a task."""


class Told:
    """The packets of a batch, as the driver meets them: the tasks run when it asks."""

    def __init__(self, run: Callable[[], list[Packet]]) -> None:
        self._run = run

    def toArrow(self) -> pa.Table:
        return pa.Table.from_batches(to_batches(self._run()), PACKET_SCHEMA)


def through_levels(packets: list[Packet], job: Job, levels: int, answer: Answer) -> list[Packet]:
    for level in range(1, levels + 1):
        packets = [packet for batch in to_batches(packets) for packet in from_batch(batch)]
        out = []
        for shard in range(job.shards):
            came = [packet for packet in packets if packet.shard == shard]
            mine, marked, others = sorted_out(came, level)
            out += others + answer(level, shard, mine, marked)
        packets = out
    return packets


FrameBatch = Sequence[pa.Table]  # what every task reads


class PlayedFrame:
    """A streaming DataFrame; each batch of the query takes the next of its batches. With `partitions`, it is Kafka's, of one topic
    that is named as the stream, and these are on record in every batch, whether they have rows or not."""

    def __init__(self, *batches: FrameBatch, partitions: Sequence[int] = ()) -> None:
        self.batches = list(batches)
        self.partitions = list(partitions)


class Query:
    """What Spark does for a query: offsets and commits on record, batch after batch."""

    isActive = True

    def __init__(self, host: PlayedHost, is_bounded: bool) -> None:
        self._host = host
        text = to_text(host.first_job, host._settings)
        self._settings = from_text(text)[1]
        self._job, self._code = host.first_job, dict(host._code)
        self._newest = host.steering.newest.on(self._job.shards)
        self._levels = self._newest.levels
        self._reader = SashReader(text)
        if is_bounded:
            self._reader.prepareForTriggerAvailableNow()
        self._log = spark_folder(self._settings.checkpoint)
        self.crash: tuple[int, int] | None = None  # level and shard of a task that fails
        self._done: int | None = None  # the last batch; a query that begins, or has failed, finds it in the log

    def step(self) -> bool:
        """Run a batch; False if there is none to run. Spark runs the first one, whatever the source says."""
        known, self._done = self._done, None
        done, begun = (self._last("commits"), self._last("offsets")) if known is None else (known, known)
        start, end = self._offset(done), self._offset(begun)
        taken, taking = self._taken(done), self._taken(begun)
        if begun == done:
            self._reader._planner._looked = 0.0
            end = self._reader.latestOffset(start, None)  # type: ignore[arg-type]
            taking = {name: min(taken.get(name, 0) + self._at_once(name), len(frame.batches)) for name, frame in self._frames.items()}
            if end == start and all(taken.get(name, 0) == count for name, count in taking.items()) and done >= 0:
                self._done = done
                return False
            kafka = [{name: dict.fromkeys(map(str, frame.partitions), 0)} for name, frame in self._frames.items() if frame.partitions]
            self._write_down("offsets", done + 1, [end, {"frames": taking}, *kafka])

        def run() -> list[Packet]:
            packets = [packet for partition in self._reader.partitions(start, end) for packet in self._read(partition)]
            packets += self._frame_packets(taken, taking)
            return through_levels(packets, self._job, self._levels, lambda *task: self._answer(done + 1, *task))

        self._host._take(Told(run), done + 1)  # type: ignore[arg-type]
        self._write_down("commits", done + 1, [{}])
        self._purge(done + 1 - RETAINED)
        self._done = done + 1
        return True

    def _purge(self, batch: int) -> None:
        for kind in ("offsets", "commits") if batch >= 0 else ():
            self._log.child(kind).delete(str(batch))

    def _read(self, partition: Any) -> list[Packet]:
        """What one task reads."""
        return [packet for batch in self._reader.read(partition) for packet in from_batch(batch)]

    def _write_down(self, kind: str, batch: int, lines: list[dict[str, Any]]) -> None:
        """As Spark does, which takes no second word for one batch."""
        if not self._log.child(kind).create(str(batch), ["\n".join(map(json.dumps, lines)).encode()]):
            raise SashError(f"another query has written down batch {batch}")

    @property
    def _frames(self) -> Mapping[str, PlayedFrame]:
        """Those that the job reads, as it was when the query began."""
        read = {stream.name for stream in self._newest.streams}
        return {name: frame for name, frame in self._host._frames.items() if name in read}  # type: ignore[misc]

    def _taken(self, batch: int) -> dict[str, int]:
        """How many batches of every frame are in, after this batch of the query."""
        data = self._log.child("offsets").read(str(batch))
        lines = [] if data is None else map(json.loads, bytes(data).decode().splitlines())
        found: dict[str, int] = next((line["frames"] for line in lines if "frames" in line), {})
        return found

    def _at_once(self, stream: str) -> int:
        """How many batches of a DataFrame one batch of the query takes."""
        return 1

    def _frame_packets(self, taken: Mapping[str, int], taking: Mapping[str, int]) -> Iterator[Packet]:
        for name, frame in self._frames.items():
            stream = self._newest.stream(name)
            came = [rows for batch in frame.batches[taken.get(name, 0) : taking.get(name, 0)] for rows in batch]
            told = [*stream.partition, stream.position] if stream.position is not None else []
            for task, rows in enumerate(self._cut(stream, came)):
                yield from self._pack(stream, task, rows.select([*source_columns(stream), *told]))

    def _cut(self, stream: StreamSpec, came: list[pa.Table]) -> list[pa.Table]:
        """What every task of a batch reads."""
        return came

    def _pack(self, stream: StreamSpec, task: int, rows: pa.Table) -> list[Packet]:
        return list(pack_task(self._newest, stream, task, rows))

    def _offset(self, batch: int) -> dict[str, Any]:
        found = offset_of(self._settings.checkpoint, batch)
        return self._reader.initialOffset() if found is None else found.to_json()

    def processAllAvailable(self) -> None:
        while self.step():
            pass

    def exception(self) -> None:
        """Who asks in the middle of a statement waits for its batch: a task that crashed is tried again."""
        try:
            self.processAllAvailable()
        except Crash:
            self.processAllAvailable()

    def awaitTermination(self, seconds: float) -> bool:
        self.processAllAvailable()
        return True

    def stop(self) -> None:
        self.isActive = False

    def _answer(self, batch: int, level: int, shard: int, packets: list[Packet], marked: list[Packet]) -> list[Packet]:
        if self.crash == (level, shard):
            self.crash = None
            raise Crash
        return ShardTask(self._job, self._settings, self._host._make_engine, level, shard, self._code).answer(batch, packets, marked)

    def _last(self, kind: str) -> int:
        return max((int(name) for name in self._log.child(kind).names()), default=BEFORE_ALL)


class AtOnce:
    """A thread that has run when it has been started."""

    def __init__(self, target: Callable[..., None], args: tuple[Any, ...], daemon: bool) -> None:
        self.start = lambda: target(*args)

    def is_alive(self) -> bool:
        return False

    def join(self) -> None:
        return


class PlayedHost(SparkHost):
    """The host with such a query."""

    def _begin(self, trigger: Mapping[str, object]) -> None:
        self._claim()
        self._resume()
        self.steering.begin()
        self._sent = dict(self._code)
        self._settings = replace(self._settings, kafka=tuple(self._played_kafka()))
        self._query = self._played("availableNow" in trigger)  # type: ignore[assignment]

    def _played(self, is_bounded: bool) -> Query:
        return Query(self, is_bounded)

    def _played_kafka(self) -> Iterator[KafkaStream]:
        for stream in self.steering.first.streams:
            frame = self._frames.get(stream.name)
            if isinstance(frame, PlayedFrame) and frame.partitions:
                yield KafkaStream(stream.name, stream.partition, stream.delay, "here", "subscribe", stream.name)

    def _mind_the_idle(self, query: Any) -> None:
        return


def connected(monkeypatch: pytest.MonkeyPatch, folder: Path, sql: str, shards: int | None = 2, **options: Any) -> SparkDatabase:
    """A database on such a host; its checkpoint, outputs and files are in the folder."""
    monkeypatch.setattr(spark_database, "SparkHost", PlayedHost)
    monkeypatch.setattr(spark_database, "check_streaming", lambda name, frame: None)
    monkeypatch.setattr(spark_database, "check_places", lambda *told: None)
    places = {"checkpoint": folder / "point", "output": folder / "out", "base": folder}
    db = SparkDatabase(None, shards=shards, **places, **options)  # type: ignore[arg-type]
    db.execute(sql)
    return db


def query_of(db: SparkDatabase) -> Query:
    query = db._running()._query
    assert isinstance(query, Query)
    return query
