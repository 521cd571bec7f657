"""`rate`, the smallest partitioned source that Spark has."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from pyspark.sql import SparkSession

import sash

WAIT = 120  # seconds, at most


def test_rate_with_two_partitions_loses_no_row(spark: SparkSession, tmp_path: Path) -> None:
    """Even values come in one partition and odd ones in the other, at the same times."""
    frame = spark.readStream.format("rate").option("rowsPerSecond", 40).option("numPartitions", 2).load()
    db = sash.connect(spark, checkpoint=tmp_path / "point", output=tmp_path / "out", shards=2)
    db.stream("r", frame, timestamp="timestamp")
    db.execute("CREATE MATERIALIZED VIEW v AS SELECT value % 2 AS odd, COUNT(*) AS n, MAX(value) AS last FROM r GROUP BY value % 2")
    db.start()
    deadline, rows = time.monotonic() + WAIT, []
    while time.monotonic() < deadline and sum(row["n"] for row in rows) < 200:
        time.sleep(0.5)
        rows = db.view("v").to_pylist()
    db.close()
    assert sum(row["n"] for row in rows) >= 200
    for row in rows:  # every value up to the last one is there
        assert row["n"] == (row["last"] + 2) // 2


def test_drain_returns_though_rows_keep_coming(spark: SparkSession, tmp_path: Path) -> None:
    """Beside a source that gives one file at a time and does not tell how many there are: of that one, all is taken."""
    for number in range(3):
        (tmp_path / "files").mkdir(exist_ok=True)
        (tmp_path / "files" / f"{number}.json").write_text(f'{{"ts": "2026-01-01 00:00:00", "n": {number}}}\n')
    slow = spark.readStream.schema("ts TIMESTAMP, n BIGINT").option("maxFilesPerTrigger", 1).json(str(tmp_path / "files"))
    with sash.connect(spark, checkpoint=tmp_path / "point", output=tmp_path / "out", shards=2) as db:
        db.stream("r", spark.readStream.format("rate").option("rowsPerSecond", 40).load(), timestamp="timestamp")
        db.stream("s", slow, timestamp="ts")
        db.execute("CREATE MATERIALIZED VIEW v AS SELECT COUNT(*) AS n FROM r")
        db.execute("CREATE MATERIALIZED VIEW w AS SELECT n FROM s")
        query = db.start()
        counts = []
        for _ in range(3):
            db.drain()
            counts.append(db.view("v").to_pylist()[0]["n"])
            if len(counts) == 1:
                assert sorted(row["n"] for row in db.view("w")) == [0, 1, 2]
        assert counts == sorted(counts)
        assert sum(thread.name == "sash-drain" for thread in threading.enumerate()) <= 1
        assert query.isActive
