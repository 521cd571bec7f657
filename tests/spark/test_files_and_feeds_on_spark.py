"""On Spark itself: a table that follows a change feed, joined with a stream, and what comes of it in files, over a restart."""

from __future__ import annotations

import json
import os
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import sash
from sash.database.on_spark import SparkDatabase

pytestmark = pytest.mark.spark
JOB = """
CREATE STREAM s (ts TIMESTAMP, code STRING, n BIGINT) TIMESTAMP BY ts WITH (format = 'csv', path = 'in');
CREATE TABLE rates (code STRING PRIMARY KEY, rate DOUBLE) WITH (format = 'debezium', path = 'feed', every = '1 HOUR');
CREATE MATERIALIZED VIEW priced AS SELECT s.code, n, rate FROM s [RANGE 10 SECONDS] JOIN rates r ON s.code = r.code;
CREATE SINK now FROM priced TO FILES WITH (path = 'now');
CREATE SINK log FROM priced TO FILES WITH (path = 'log', mode = 'changes', partition_by = 'code');
"""


def put(folder: Path, number: int) -> None:
    first = datetime(2026, 1, 1) + timedelta(seconds=4 * number)
    rows = [f"{first + timedelta(milliseconds=200 * place)},{'abc'[place % 3]},{place}" for place in range(20)]
    (folder / "in" / f"{number}.csv").write_text("\n".join(rows) + "\n")


def tell(folder: Path, number: int, *after: tuple[str, float]) -> None:
    (folder / "feed").mkdir(exist_ok=True)
    file = folder / "feed" / f"{number}.json"
    file.write_text("".join(json.dumps({"op": "c", "after": {"code": code, "rate": rate}}) + "\n" for code, rate in after))
    os.utime(file, (1_000_000 + number,) * 2)


def connect(spark: SparkSession, folder: Path) -> SparkDatabase:
    db = sash.connect(spark, checkpoint=folder / "point", output=folder / "out", base=folder, shards=2, flush=False)
    db.execute(JOB)
    return db


def bag(rows: list[dict[str, Any]], *names: str) -> Counter[Any]:
    return Counter(tuple(row[name] for name in names) for row in rows)


def test_a_table_a_join_and_files(spark: SparkSession, tmp_path: Path) -> None:
    db = None
    (tmp_path / "in").mkdir()
    with sash.connect(history="all") as said:
        said.execute(JOB.split("CREATE SINK")[0].replace(" WITH (format = 'csv', path = 'in')", "").split("CREATE TABLE")[0])
        said.execute("CREATE TABLE rates (code STRING, rate DOUBLE)")
        said.execute("CREATE MATERIALIZED VIEW priced AS SELECT s.code, n, rate FROM s [RANGE 10 SECONDS] JOIN rates r ON s.code = r.code")
        for number, rates in enumerate([[("a", 1.5), ("b", 2.0)], [("a", 3.0), ("c", 4.0)], [("b", 5.0)]]):
            tell(tmp_path, number, *rates)
            said.table("rates", sorted({row[0]: row for row in [*map(tuple, said_rows(said)), *rates]}.values()))
            if db is None:
                db = connect(spark, tmp_path)
                db.start()
            db.drain()
            put(tmp_path, number)
            said.push("s", [line.split(",") for line in (tmp_path / "in" / f"{number}.csv").read_text().splitlines()])
            db.drain()
            if number == 1:
                db.close()
                db = None
        assert db is not None
        answer = said.final("priced").to_arrow().to_pylist()
        assert bag(pq.read_table(tmp_path / "now" / "answer.parquet").to_pylist(), "code", "n", "rate") == bag(answer, "code", "n", "rate")
        changes = said.changes("priced").to_pylist()  # type: ignore[union-attr]
        found = spark.read.parquet(str(tmp_path / "log")).select("_op", "n", "rate", "code").collect()
        assert Counter(map(tuple, found)) == bag(changes, "_op", "n", "rate", "code") and len(found) > 20
        db.close()


def said_rows(db: sash.Database) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in db.query("SELECT * FROM rates").to_arrow().to_pylist()]
