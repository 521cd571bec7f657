"""What `kafka.py` measures, in a process of its own: python -m benchmarks.kafka_job ADDRESS ROWS REPEAT FOLDER"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

import sash
from benchmarks.memory import descendants

Took = tuple[float, float]  # seconds, and those of processors
STREAM = """
CREATE STREAM e (ts TIMESTAMP, k STRING, v BIGINT) TIMESTAMP BY ts DELAY 1 SECOND
WITH (format = 'kafka', kafka.bootstrap.servers = '{address}', subscribe = 'events', startingOffsets = 'earliest',
      maxOffsetsPerTrigger = '{at_once}', encoding = 'json');
"""
GROUPS = "SELECT k, COUNT(*) AS n, SUM(v) AS s FROM e [RANGE 60 SECONDS] GROUP BY k"
JOBS = {
    "every change of groups": f"CREATE MATERIALIZED VIEW answer AS {GROUPS};",
    "changes of every 10 s": f"CREATE MATERIALIZED VIEW answer AS {GROUPS} EMIT EVERY 10 SECONDS;",
}
BATCHES = 4
PARTS = 1_000_000  # in which a row is cut that is written less than once


def main(address: str, rows: int, repeat: int, folder: Path) -> None:
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.driver.memory", "3g")
    spark = builder.config("spark.log.level", "OFF").config("spark.sql.session.timeZone", "UTC").getOrCreate()
    at_once = max(1, rows // BATCHES)
    for job, views in JOBS.items():
        _say(f"{job}: once, for all that comes later")
        changes, _ = run_sash(spark, address, at_once, views, folder)
        run_plain(spark, address, at_once, changes / rows, folder)
        found: dict[str, list[Took]] = {"sash": [], "plain": []}
        for _ in range(repeat):
            _say(f"{job}: sash")
            again, taken = run_sash(spark, address, at_once, views, folder)
            assert again == changes
            found["sash"].append(taken)
            _say(f"{job}: plain Spark")
            written, taken = run_plain(spark, address, at_once, changes / rows, folder)
            assert abs(written - changes) <= 0.02 * changes + 100, (written, changes)
            found["plain"].append(taken)
        print(json.dumps({"job": job, "rows": rows, "changes": changes, **found}), flush=True)


def run_sash(spark: SparkSession, address: str, at_once: int, views: str, folder: Path) -> tuple[int, Took]:
    """Changes written, and what that took."""
    shutil.rmtree(folder, ignore_errors=True)
    db = sash.connect(spark, checkpoint=folder / "point", output=folder / "out", shards=2)
    db.execute(STREAM.format(address=address, at_once=at_once) + views)
    started = _now()
    db.run()
    took = _since(started)
    changes = db.progress.changes
    db.close()
    return changes, took


def run_plain(spark: SparkSession, address: str, at_once: int, each: float, folder: Path) -> tuple[int, Took]:
    """Rows written, `each` times as many as were read; and what that took."""
    shutil.rmtree(folder, ignore_errors=True)
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", address).option("subscribe", "events")
    source: Any = reader.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", at_once).load()
    message = f.from_json(f.col("value").cast("string"), "ts TIMESTAMP, k STRING, v BIGINT")
    parsed = source.select(message.alias("m"), f.col("offset")).select("m.ts", "m.k", "m.v", "offset")
    share = int(PARTS * (each % 1))
    times = f.lit(int(each)) + (f.pmod(f.hash("offset", "k"), f.lit(PARTS)) < share).cast("int")
    copies = f.explode(f.array_repeat(f.lit(1).cast("tinyint"), times)).alias("_op")
    started = _now()
    writer = parsed.select(copies, "ts", "k", "v").writeStream.format("parquet").option("path", str(folder / "out"))
    writer.option("checkpointLocation", str(folder / "point")).trigger(availableNow=True).start().awaitTermination()
    took = _since(started)
    return spark.read.parquet(str(folder / "out")).count(), took


def _now() -> Took:
    """The clock, and the processor time of this process, of Java and of all workers, those that have ended included."""
    ticks = 0
    for process in (os.getpid(), *descendants(os.getpid())):
        with suppress(OSError):
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:15]))
    return time.monotonic(), ticks / os.sysconf("SC_CLK_TCK")


def _since(started: Took) -> Took:
    now = _now()
    return now[0] - started[0], now[1] - started[1]


def _say(what: str) -> None:
    print(json.dumps({"say": what}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
