"""The interface of a database with a real session: what the tests without a JVM cannot see."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import sash
from sash.errors import SashError

SQL = """
    CREATE STREAM s (ts TIMESTAMP, k STRING, n BIGINT) TIMESTAMP BY ts DELAY 10 SECONDS WITH (format = 'parquet', path = 's');
    CREATE TABLE names (k STRING, name STRING);
    CREATE MATERIALIZED VIEW v AS SELECT s.k, name, n FROM s [RANGE 60 SECONDS] LEFT JOIN names ON s.k = names.k;
"""
START = datetime(2024, 1, 1)


def at(second: float) -> datetime:
    return START + timedelta(seconds=second)


def put(folder: Path, number: int, *rows: tuple[int, str, int]) -> None:
    (folder / "s").mkdir(exist_ok=True)
    columns = {"ts": pa.array([at(row[0]) for row in rows], pa.timestamp("us")), "k": [row[1] for row in rows]}
    pq.write_table(pa.table({**columns, "n": [row[2] for row in rows]}), folder / f"s/{number}.parquet")


def test_the_same_calls_with_a_session(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path, 1, (0, "a", 1), (25, "b", 2))
    with sash.connect(spark, base=str(tmp_path), checkpoint=tmp_path / "point", shards=2) as db:
        db.execute(SQL)
        db.push("names", [("a", "Ann")])
        db.start()
        db.drain()
        answer = db.view("v")
        assert sorted(answer, key=str) == [{"k": "a", "name": "Ann", "n": 1}, {"k": "b", "name": None, "n": 2}]
        assert (answer.as_of, answer.is_final) == (at(25), False)
        assert "NULL" in repr(answer) and pa.table(answer).num_rows == 2
        assert (db.final("v").as_of, len(db.final("v"))) == (at(15) - timedelta(microseconds=1), 1)
        db.advance("00:01:10", "s")
        db.delete("names", [("a", "Ann")])
        db.drain()
        assert db.view("v").as_of == at(70) and [row["k"] for row in db.view("v")] == ["b"]
        assert db.changes_since("v") == db.complete_since("v") == datetime(1, 1, 1)
        assert db.progress.rows == 4 and db.state_bytes > 0 and not db.is_finished
        assert "4 rows seen" in repr(db) and db.changes("v").isStreaming
    with pytest.raises(SashError, match="the database is closed; connect again, with the same checkpoint"):
        db.view("v")

    with sash.connect(spark, base=tmp_path, checkpoint=tmp_path / "point", shards=2) as again:
        again.execute(SQL)
        final = again.final("v")  # told by the one before: nothing runs
        assert (final.as_of, [row["k"] for row in final]) == (at(70) - timedelta(microseconds=1), ["b"])
        again.end()
        assert again.is_finished and again.view("v").is_final and again.view("v").as_of == at(70) - timedelta(microseconds=1)
        again.write_answers(tmp_path / "answers")
        assert pq.read_table(tmp_path / "answers/v.parquet").num_rows == 1
