"""A query that has failed is told of by the next call, whatever it is: nothing is taken that nobody will work off."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sash.database.on_spark import SparkDatabase
from sash.errors import SashError

JOB = """
    CREATE STREAM s (ts TIMESTAMP, n BIGINT) TIMESTAMP BY ts WITH (format = 'csv', path = 's', header = 'true');
    CREATE TABLE t (n BIGINT);
    CREATE MATERIALIZED VIEW v AS SELECT s.n FROM s JOIN t ON s.n = t.n;
"""


def uses(db: SparkDatabase) -> list[Callable[[], object]]:
    return [
        lambda: db.view("v"), lambda: db.advance(10**9), lambda: db.execute("INSERT INTO t VALUES (1)"),
        lambda: db.execute("CREATE MATERIALIZED VIEW w AS SELECT n FROM s"), db.drain, lambda: db.final("v"), db.write_answers,
        lambda: db.subscribe("v"),
    ]


def made(spark: SparkSession, folder: Path) -> SparkDatabase:
    (folder / "s").mkdir()
    (folder / "s" / "a.csv").write_text("ts,n\n2024-01-01 00:00:00,1\n")
    db = SparkDatabase(spark, checkpoint=folder / "point", base=folder, shards=2)
    db.execute(JOB)
    return db


def test_start_raises_what_the_query_died_of(spark: SparkSession, tmp_path: Path) -> None:
    db = made(spark, tmp_path)
    db.start()
    db.drain()
    db.stop()
    offsets = tmp_path / "point" / "spark" / "offsets"
    torn = offsets / str(len(list(offsets.glob("[0-9]*"))))
    torn.write_text("garbage")
    with pytest.raises(SashError, match="garbage"):
        db.start()
    torn.unlink()
    db.start()  # there is room for another try
    db.drain()
    assert len(db.view("v")) == 0
    db.close()


def test_a_dead_query_takes_no_statements(spark: SparkSession, tmp_path: Path) -> None:
    db = made(spark, tmp_path)
    query = db.start()
    db.drain()
    waiting = db.subscribe("v")
    (tmp_path / "s" / "a.csv").write_text("ts,n\n2024-01-01 00:00:00,1\n2024-01-01 00:00:01,2\n")
    for use in (lambda: query.awaitTermination(120), *uses(db), lambda: next(iter(waiting))):
        with pytest.raises(SashError, match=r"a\.csv of stream \"s\" has changed"):
            use()
    assert not query.isActive and isinstance(query.exception(), SashError)
    db.close()
    assert isinstance(query.exception(), SashError) and not query.isActive
