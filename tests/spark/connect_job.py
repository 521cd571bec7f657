"""A job over Spark Connect, in a process that is the client of a server elsewhere.

    python connect_job.py PORT KAFKA FOLDER PART     tells what it saw as JSON; part "first" dies while it takes a batch
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import sash
from sash.database.on_spark import SparkDatabase
from sash.runtime.progress import Progress

ROWS = [(second, "abc"[second % 3], second % 2) for second in range(1, 60)]  # second, key, partition
DECLARED = """
CREATE STREAM e (ts TIMESTAMP, k STRING, place BIGINT METADATA FROM 'offset') TIMESTAMP BY ts DELAY 1 SECONDS
WITH (format = 'kafka', kafka.bootstrap.servers = '{address}', subscribe = 'connected', startingOffsets = 'earliest', encoding = 'csv');
CREATE STREAM f (ts TIMESTAMP, k STRING) TIMESTAMP BY ts WITH (path = 'in', format = 'json');
CREATE TABLE names (k STRING, name STRING);
CREATE MATERIALIZED VIEW counts AS SELECT k, COUNT(*) AS n FROM e [RANGE 5 SECONDS] GROUP BY k;
CREATE MATERIALIZED VIEW named AS SELECT f.ts, SHOUT(names.name) AS name FROM f [ROWS 4], names WHERE f.k = names.k;
"""
NAMES = ("counts", "named")


def shout(name: str | None) -> str | None:
    return None if name is None else name.upper()


def connected(spark: SparkSession, address: str, folder: Path, **options: Any) -> SparkDatabase:
    db = sash.connect(spark, checkpoint=folder / "point", output=folder / "out", shards=2, base=folder, **options)
    db.register("shout", shout, "STRING", ["STRING"])
    db.execute(DECLARED.format(address=address))
    return db


def first(spark: SparkSession, address: str, folder: Path) -> None:
    """Dies within the third batch that it takes: some of it is on record then, and some is not."""
    taken = []

    def die(progress: Progress) -> None:
        taken.append(progress)
        if len(taken) == 3:
            os._exit(9)

    db = connected(spark, address, folder, on_progress=die, batch_rows=10)
    db.execute("INSERT INTO names VALUES ('a', 'Ann'), ('b', 'Bob')")
    db.start()
    db.drain()
    raise AssertionError("there were no three batches")


def second(spark: SparkSession, address: str, folder: Path) -> dict[str, Any]:
    metrics: list[object] = []
    with connected(spark, address, folder, on_metrics=lambda progress, told: metrics.append(told)) as db:
        query = db.start()
        db.drain()
        told: dict[str, Any] = {"kafka": len(db._running()._settings.kafka), "is_active": query.isActive}
        db.execute("CREATE MATERIALIZED VIEW late AS SELECT COUNT(*) AS n FROM f [ROWS 3]")
        db.execute("INSERT INTO names VALUES ('c', 'Cem')")
        db.drain()
        told["late"] = db.view("late").to_pylist()
        told["session"] = spark.sql("SELECT k, n FROM counts ORDER BY k").toArrow().to_pylist()
        told["final"] = sorted(db.final("counts").to_pylist(), key=str)
        told["handle"] = [query.isActive, type(query.exception()).__name__, len(query.recentProgress) > 0]
        db.stop()
        db.run()
        told["metrics"] = len(metrics) > 0
    told["left"] = [path.name for path in (folder / "point/handed").iterdir()]
    return told


def main(port: str, address: str, folder: Path, part: str) -> None:
    spark = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").getOrCreate()
    if part == "first":
        first(spark, address, folder)
    print(json.dumps(second(spark, address, folder), default=str), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), sys.argv[4])
