"""A DataFrame with columns for partition and position, on Spark: rows spread over tasks anyhow, files in any batches."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from test_placed_frames import changes

import sash
from partitioned import COLUMNS, NAMES, VIEWS, expected, in_batches, source, table
from sash.errors import SashError
from sash.spark.placed_frames import has_whole_pieces

FILE_COLUMNS = "ts timestamp_ntz, k bigint, name string, partition bigint, offset bigint"


def frame_of(spark: SparkSession, folder: Path, files_a_batch: int) -> DataFrame:
    reader = spark.readStream.schema(FILE_COLUMNS).option("maxFilesPerTrigger", files_a_batch)
    return reader.parquet(str(folder)).repartition(3)  # which leaves no partition in one piece


def test_partitions_in_pieces_all_over_the_tasks(spark: SparkSession, tmp_path: Path) -> None:
    chance = random.Random(3)
    batches = in_batches(chance, source(chance, (0, 1, 10), 60), 4, together=True)
    (tmp_path / "in").mkdir()
    for number, batch in enumerate(batches):
        path = tmp_path / "in" / f"{number}.parquet"
        pq.write_table(table(chance.sample(batch, len(batch))), path)
        os.utime(path, (1_700_000_000 + number,) * 2)  # Spark takes files of one millisecond in any order
    logs, late = expected(batches, 1)
    assert late
    db = sash.connect(spark, checkpoint=tmp_path / "point", output=tmp_path / "out", shards=2)
    db.execute(f"CREATE STREAM e ({COLUMNS}) TIMESTAMP BY ts DELAY 1 SECONDS; {VIEWS}")
    db.stream("e", frame_of(spark, tmp_path / "in", 3), partition="PARTITION", position="offset")
    db.run()
    for view in NAMES:
        assert changes(tmp_path, view) == sorted(logs[view].elements())
    assert pq.read_table(tmp_path / "out" / "e.late.parquet").num_rows == late.total()
    db.close()


def test_columns_that_tell_no_place_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    frame, db = frame_of(spark, tmp_path / "in", 1), sash.connect(spark)
    for wrong, message in (
        ({"partition": "part", "position": "offset"}, 'no column "part", which is to tell the partition of its rows; it has: ts, k'),
        ({"partition": "partition", "position": "name"}, 'column "name" .* is string, and a position is an integer'),
        ({"partition": ["k", "ts"], "position": "offset"}, "is timestamp_ntz, and a partition is an integer or a string"),
    ):
        with pytest.raises(SashError, match=message):
            db.stream("e", frame, timestamp="ts", **wrong)  # type: ignore[arg-type]
    assert db.catalog.find("e") is None  # a mistake declares nothing
    db.execute("CREATE STREAM k (timestamp TIMESTAMP, value STRING) TIMESTAMP BY timestamp WITH (format = 'kafka')")
    kafka = db.catalog.streams["k"]
    rate = spark.readStream.format("rate").load()
    assert not has_whole_pieces(kafka, rate.where("value > 1").select("value"))
    assert not has_whole_pieces(kafka, rate.repartition(2))
    db.close()
