"""Shards that have homes, played on one machine: they get what they would get without, and say the same. On a cluster: test_lost_workers."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
import test_views_come_and_go as coming
from jobs import JOB, changelogs, database, write_files
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession

from sash.database.embedded import EmbeddedDatabase
from sash.folders.folder import Folder
from sash.runtime.packets import Cargo, Packet
from sash.spark import homes as module
from sash.spark import opened_job
from sash.spark.homes import Homes
from sash.spark.pipeline import configured
from sash.spark.source import SPARK_SCHEMA
from sash.spark.wire import to_batch
from sash.testing.comparing import assert_same
from sash.testing.tables import from_arrow

SHARDS = 5
EMPTY = 3  # a shard that gets nothing
LONG = bool(os.environ.get("SASH_LONG_TESTS"))  # tasks load this module, and know of no other tests


def packets() -> list[Packet]:
    """Small and large, some of them twice, for shards of two levels and for the driver."""
    found = [
        Packet(number % 3, shard, Cargo.FACTS, f"n{number}", -1, number, bytes([number]) * (1 << 20 if number % 7 == 0 else number))
        for number in range(60)
        if (shard := number * number % SHARDS) != EMPTY
    ]
    return [*found, *found[:10]]


def told(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Who got which packets."""
    context = TaskContext.get()
    assert context is not None
    for batch in batches:
        texts = [hashlib.sha256(repr(tuple(row.values())).encode()).hexdigest() for row in batch.to_pylist()]
        shards = pa.array([context.partitionId()] * len(texts), pa.int32())
        yield pa.RecordBatch.from_arrays([shards, pa.array(texts)], ["shard", "text"])


def taken(frame: DataFrame) -> Counter[tuple[int, str]]:
    rows = frame.mapInArrow(told, "shard int, text string").collect()
    return Counter((row.shard, row.text) for row in rows)


@pytest.mark.parametrize("size", ["1000000", "1000000000"] if LONG else ["1000000"])
def test_what_comes_out_is_what_went_in(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: str) -> None:
    """Of every packet as often as it came, to the shard that it is for; also where it does not all fit, and without a cached row."""
    batch = to_batch(packets())
    expected = Counter((row["shard"], hashlib.sha256(repr(tuple(row.values())).encode()).hexdigest()) for row in batch.to_pylist())
    monkeypatch.setattr("sash.spark.pipeline.is_one_machine", lambda spark: False)
    monkeypatch.setitem(module.CONFIGURATION, "spark.sql.sortMergeJoinExec.buffer.spill.size.threshold", size)
    with configured(spark, Folder.of(tmp_path)):
        homes = Homes(spark, SHARDS)
        came = spark.createDataFrame(pa.Table.from_batches([batch]), SPARK_SCHEMA)
        assert taken(homes.gathered(homes.gathered(came).repartition(3))) == expected and max(expected.values()) == 2
        homes.give_anew()
        assert taken(homes.gathered(came)) == expected
        homes.close()
        assert taken(homes.gathered(came)) == expected


def test_tables_of_two_jobs_are_two(spark: SparkSession) -> None:
    one, other = Homes(spark, SHARDS), Homes(spark, SHARDS)
    one.close()
    assert other._rows.storageLevel.useMemory
    other.close()
    assert not other._rows.storageLevel.useMemory


def test_homes_are_given_anew_where_an_executor_has_none(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a while; where that did not help, after twice the while."""
    homes = Homes(spark, 6)
    assert not any(homes.are_due({"a"}) for _ in range(100))  # here there are no executors beside the driver
    monkeypatch.setattr(Homes, "_executors", lambda self: 3)
    told: list[int] = []
    for batch in range(1, 4 * module.PATIENCE):
        if homes.are_due({"a", "b"}):
            homes.give_anew()
            told.append(batch)
    assert told == [module.PATIENCE, 3 * module.PATIENCE]
    assert not homes.are_due({"a", "b", "c"})
    assert [homes.are_due({"a", "b"}) for _ in range(module.PATIENCE)].index(True) == module.PATIENCE - 1
    monkeypatch.setattr(Homes, "_executors", lambda self: 30)
    assert not any(homes.are_due(set("abcdef")) for _ in range(100))  # more executors than shards
    homes.close()
    assert homes.are_due(set("abcdef"))  # as after spark.catalog.clearCache()


@pytest.fixture
def on_a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opened_job, "is_one_machine", lambda spark: False)


def test_a_checkpoint_goes_on_with_homes(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It began on one machine; and they are given anew after every batch."""
    write_files(tmp_path)
    embedded = EmbeddedDatabase(base=tmp_path)
    embedded.execute(JOB)
    embedded.run()
    last = tmp_path / "conn/2.csv"
    last.rename(tmp_path / "later")
    first = database(spark, tmp_path / "homes", 150, flush=False)
    first.run()
    shards = first.metrics()["shards"]
    assert shards == {"answers": shards["answers"], "moved": 0, "rebuilt": 0, "places": 1} and shards["answers"] > 4
    first.close()
    (tmp_path / "later").rename(last)
    monkeypatch.setattr(opened_job, "is_one_machine", lambda spark: False)
    monkeypatch.setattr(Homes, "are_due", lambda self, places: True)
    second = database(spark, tmp_path / "homes", 150)
    second.run()
    assert second.metrics()["shards"]["rebuilt"] == 4  # two shards of two levels, by the first batch
    second.close()
    for name, found in changelogs(tmp_path / "homes/out").items():
        assert_same(from_arrow(embedded.changes(name)), found)


@pytest.mark.skipif(not LONG, reason="as without homes, which is tested every time; ./run test --long tests/spark/test_homes.py")
def test_a_level_that_comes_later_has_homes(spark: SparkSession, tmp_path: Path, on_a_cluster: None) -> None:
    coming.test_a_view_that_needs_an_exchange_costs_one_restart(spark, tmp_path)
