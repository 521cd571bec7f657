"""`rate`, the smallest partitioned source that Spark has."""

from __future__ import annotations

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
