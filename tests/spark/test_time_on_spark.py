"""The time as a value on Spark: of tables alone and of nothing at all, told by ADVANCE, on several shards, across a restart."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

import sash
from sash.database.embedded import EmbeddedDatabase
from sash.database.on_spark import SparkDatabase

JOB = """
CREATE TABLE t (k STRING, v INT);
CREATE MATERIALIZED VIEW rows AS SELECT k, v + MINUTE(NOW()) AS v FROM t;
CREATE MATERIALIZED VIEW total AS SELECT SUM(v) + MINUTE(NOW()) AS v FROM t;
CREATE MATERIALIZED VIEW alone AS SELECT CURRENT_DATE AS d, NOW() < TIMESTAMP '2024-05-01 12:03:30' AS early;
"""
VIEWS = ("rows", "total", "alone")
FIRST = ("2024-05-01 12:00:30", "2024-05-01 12:02:00")
SECOND = ("2024-05-01 12:05:00", "2024-05-02 00:00:00")


def answers(db: EmbeddedDatabase | SparkDatabase) -> dict[str, list[dict[str, object]]]:
    return {name: sorted(db.view(name).to_pylist(), key=str) for name in VIEWS}


def test_the_same_as_embedded_and_after_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    embedded, found, expected = sash.connect(), [], []
    embedded.execute(JOB)
    for instants, insert in ((FIRST, "INSERT INTO t VALUES ('a', 1), ('b', 2)"), (SECOND, "INSERT INTO t VALUES ('c', 5)")):
        db = SparkDatabase(spark, shards=3, checkpoint=tmp_path / "checkpoint", output=tmp_path / "out")
        db.execute(JOB)
        db.start()
        for instant in instants:
            for each in (embedded, db):
                each.advance(instant)
            if instant == instants[0]:
                for each in (embedded, db):
                    each.execute(insert)
            db.drain()
            found.append(answers(db))
            expected.append(answers(embedded))
        db.close()
    assert found == expected
    assert expected[-1]["alone"] == [{"d": pa.scalar(19845, pa.date32()).as_py(), "early": False}]
