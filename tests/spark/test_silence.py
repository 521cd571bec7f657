"""Nothing comes any more, and yet rows leave their windows on time: silence is a normal state."""

from __future__ import annotations

import time
from pathlib import Path

from pyspark.sql import SparkSession

from sash.spark_database import SparkDatabase

JOB = """
CREATE STREAM timed (ts TIMESTAMP, k INT) TIMESTAMP BY ts IDLE AFTER 1 SECOND WITH (format = 'csv', path = 'timed.csv');
CREATE STREAM stamped (k INT) WITH (format = 'csv', path = 'stamped.csv');
CREATE MATERIALIZED VIEW t AS SELECT k FROM timed [RANGE 3 SECONDS];
CREATE MATERIALIZED VIEW s AS SELECT k, COUNT(*) AS n FROM stamped [RANGE 3 SECONDS] GROUP BY k;
"""


def test_rows_leave_while_nothing_comes(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "timed.csv").write_text("100,1\n101,2\n")
    (tmp_path / "stamped.csv").write_text("1\n1\n")
    db = SparkDatabase(spark, shards=2, base=tmp_path)
    db.execute(JOB)
    db.start()
    db.drain()
    seen: dict[str, list[int]] = {"t": [len(db.view("t"))], "s": []}
    for _ in range(120):
        for view, counts in seen.items():
            counts.append(len(db._started().final(view)))
        if seen["t"][-1] == seen["s"][-1] == 0 and max(seen["t"]) and max(seen["s"]):
            break
        time.sleep(0.25)
    assert max(seen["t"]) > 0 and max(seen["s"]) > 0, seen
    assert seen["t"][-1] == seen["s"][-1] == 0, seen
    events = len(list((Path(db._started()._settings.checkpoint.place) / "control").iterdir()))
    time.sleep(2)
    assert len(list((Path(db._started()._settings.checkpoint.place) / "control").iterdir())) <= events + 2  # then all is quiet
    db.close()
