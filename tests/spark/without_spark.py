"""A Spark host whose query is played in this process: the same planner, packets, keepers and checkpoint, and no JVM.

Batches run when somebody waits for them. A shard can be told to crash, once, in the next batch.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sash import spark_database
from sash.physical.job import Job
from sash.runtime.packets import PACKET_SCHEMA, Cargo, Packet, facts_body
from sash.runtime.packing import to_everyone
from sash.spark.arenas import BEFORE_ALL, run_lock
from sash.spark.host import SparkHost
from sash.spark.keeper import Keeper
from sash.spark.offsets import offset_of
from sash.spark.settings import from_text, to_text
from sash.spark.source import SashReader
from sash.spark.stage import _place
from sash.spark.wire import from_batch, to_batches
from sash.spark_database import SparkDatabase

Answer = Callable[[int, int, list[Packet]], list[Packet]]


class Crash(Exception):
    """Of a task."""


class Told:
    """The packets of a batch, as the driver meets them."""

    def __init__(self, packets: list[Packet]) -> None:
        self._packets = packets

    def toArrow(self) -> pa.Table:
        return pa.Table.from_batches(to_batches(self._packets), PACKET_SCHEMA)


def through_levels(packets: list[Packet], job: Job, levels: int, answer: Answer) -> list[Packet]:
    for level in range(1, levels + 1):
        packets = [packet for batch in to_batches(packets) for packet in from_batch(batch)]
        out = []
        for shard in range(job.shards):
            came = [packet for packet in packets if packet.shard == shard]
            mine = sorted((packet for packet in came if packet.level == level), key=_place)
            out += [packet for packet in came if packet.level != level] + answer(level, shard, mine)
        packets = out
    return packets


class Query:
    """What Spark does for a query: offsets and commits on record, batch after batch."""

    isActive = True

    def __init__(self, host: PlayedHost, is_bounded: bool) -> None:
        self._host = host
        text = to_text(host.steering.first, host._settings)
        self._job, self._settings = from_text(text)
        self._levels = host.steering.newest.levels
        self._reader = SashReader(text)
        if is_bounded:
            self._reader.prepareForTriggerAvailableNow()
        self._log = self._settings.checkpoint.child("spark")
        self.crash: tuple[int, int] | None = None  # level and shard of a task that fails

    def step(self) -> bool:
        """Run a batch; False if there is none to run. Spark runs the first one, whatever the source says."""
        done, begun = self._last("commits"), self._last("offsets")
        start, end = self._offset(done), self._offset(begun)
        if begun == done:
            self._reader._planner._looked = 0.0
            end = self._reader.latestOffset(start, None)  # type: ignore[arg-type]
            if end == start and done >= 0:
                return False
            self._log.child("offsets").put(str(done + 1), [json.dumps(end).encode()])
        read = (self._reader.read(partition) for partition in self._reader.partitions(start, end))
        packets = [packet for batches in read for batch in batches for packet in from_batch(batch)]
        told = through_levels(packets, self._job, self._levels, lambda *task: self._answer(done + 1, *task))
        self._host._take(Told(told), done + 1)  # type: ignore[arg-type]
        self._log.child("commits").put(str(done + 1), [b"{}"])
        return True

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
        return

    def _answer(self, batch: int, level: int, shard: int, packets: list[Packet]) -> list[Packet]:
        if self.crash == (level, shard):
            self.crash = None
            raise Crash
        return Keeper(self._job, self._settings, self._host._make_engine, level, shard).answer(batch, packets)

    def _last(self, kind: str) -> int:
        return max((int(name) for name in self._log.child(kind).names()), default=BEFORE_ALL)


class PlayedHost(SparkHost):
    """The host with such a query."""

    def _begin(self, trigger: Mapping[str, object]) -> None:
        self._held.enter_context(run_lock(self._settings.arenas))
        self.steering.begin()
        self._query = Query(self, "availableNow" in trigger)  # type: ignore[assignment]

    def _mind_the_idle(self, query: Any) -> None:
        return

    def _ahead(self, name: str) -> list[pa.Table]:
        version = self._version
        if version == BEFORE_ALL or self.is_finished or self.progress.is_end:
            return []
        job, settings = self.job, self._settings

        def look(level: int, shard: int, packets: list[Packet]) -> list[Packet]:
            return Keeper(job, settings, self._make_engine, level, shard).look(version, packets)

        asked = list(to_everyone(job, Cargo.CONTROL, "", 0, facts_body({"look": 1})))
        first = job.names_like(name)[0]
        told = through_levels(asked, job, job.levels, look)
        return [pa.Table.from_batches([packet.batch()]) for packet in told if packet.cargo is Cargo.NET and packet.name == first]


def connected(monkeypatch: pytest.MonkeyPatch, folder: Path, sql: str, shards: int = 2, **options: Any) -> SparkDatabase:
    """A database on such a host; its checkpoint, outputs and files are in the folder."""
    monkeypatch.setattr(spark_database, "SparkHost", PlayedHost)
    places = {"checkpoint": folder / "point", "output": folder / "out", "base": folder}
    db = SparkDatabase(None, shards=shards, **places, **options)  # type: ignore[arg-type]
    db.execute(sql)
    return db


def query_of(db: SparkDatabase) -> Query:
    query = db._started()._query
    assert isinstance(query, Query)
    return query
