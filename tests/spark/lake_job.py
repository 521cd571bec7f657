"""A job from a table of a lake to another table, in a process of its own: its jars have to be there when Java starts, and want one version
of PySpark each.

    python lake_job.py FORMAT FOLDER     appends the rounds of rows to the table, each followed by a look; tells what it saw as JSON
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import sash
from sash.spark.session import local_session

START = datetime(2024, 7, 1, 10)
VIEW = "CREATE MATERIALIZED VIEW counts AS SELECT k, COUNT(*) AS n, SUM(n) AS total FROM e [RANGE 5 SECONDS] GROUP BY k"
COLUMNS = "(ts TIMESTAMP, k STRING, n BIGINT) TIMESTAMP BY ts DELAY 1 SECONDS"
Row = tuple[datetime, str | None, int | None]


def _rows(first: int, count: int) -> list[Row]:
    """Each second row is a little earlier than the one before: within the delay."""
    times = (first + place * 0.5 - 0.75 * (place % 2) for place in range(count))
    keys, numbers = ("a", "b", None, "c"), (1, None, 3)
    return [(START + timedelta(seconds=max(0.0, ts)), keys[place % 4], numbers[place % 3]) for place, ts in enumerate(times)]


ROUNDS = [_rows(0, 20), _rows(10, 30)]
RESTART = 1  # the round before which another driver begins


@dataclass(frozen=True)
class Lake:
    """A format: `path` is how a stream names the table, `sink` where the view goes and `read` what is there."""

    append: Callable[[DataFrame, Path], None]
    path: Callable[[Path], str]
    sink: Callable[[Path], str]
    read: Callable[[SparkSession, Path], DataFrame]
    compact: Callable[[SparkSession], object] = lambda spark: None  # the same rows in other files, between two rounds


def _append_to_iceberg(rows: DataFrame, folder: Path) -> None:
    table = rows.writeTo("lake.shop.rows")
    if rows.sparkSession.catalog.tableExists("lake.shop.rows"):
        table.append()
    else:
        table.create()


LAKES = {
    "delta": Lake(
        lambda rows, folder: rows.write.format("delta").mode("append").save(str(folder / "table")),
        lambda folder: str(folder / "table"),
        lambda folder: f"DELTA WITH (path = '{folder / 'held'}')",
        lambda spark, folder: spark.read.format("delta").load(str(folder / "held")),
    ),
    "iceberg": Lake(
        _append_to_iceberg,
        lambda folder: "lake.shop.rows",
        lambda folder: f"FILES WITH (path = '{folder / 'held'}')",
        lambda spark, folder: spark.read.parquet(str(folder / "held/answer.parquet")),
        lambda spark: spark.sql("CALL lake.system.rewrite_data_files(table => 'shop.rows', options => map('rewrite-all', 'true'))").collect(),
    ),
}  # fmt: skip


def main(format_: str, folder: Path) -> None:
    spark, lake = local_session("2,3"), LAKES[format_]
    db = None
    for number, rows in enumerate(ROUNDS):
        frame = spark.createDataFrame(rows, "ts timestamp_ntz, k string, n bigint").selectExpr("CAST(ts AS timestamp) AS ts", "k", "n")
        lake.append(frame.coalesce(1), folder)
        if db is None or number == RESTART:
            if db is not None:
                db.close()
            db = sash.connect(spark, checkpoint=folder / "point", output=folder / "out", shards=2)
            db.execute(f"CREATE STREAM e {COLUMNS} WITH (format = '{format_}', path = '{lake.path(folder)}'); {VIEW};")
            db.execute(f"CREATE SINK held FROM counts TO {lake.sink(folder)}")
            query = db.start()
        query.processAllAvailable()
        seen = sorted(map(list, spark.sql("SELECT k, n, total FROM counts").collect()), key=str)
        db.drain()
        written = sorted(map(list, lake.read(spark, folder).collect()), key=str)
        final = sorted((list(row.values()) for row in db.final("counts")), key=str)
        print(json.dumps({"final": final, "seen": seen, "written": written}), flush=True)
        lake.compact(spark)
    assert db is not None
    db.end()
    print(json.dumps({"late": db.late("e").num_rows, "dead": db.dead("e").num_rows}), flush=True)
    db.close()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
