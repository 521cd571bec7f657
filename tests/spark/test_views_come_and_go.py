"""Views and rows of tables come and go while a query runs, at the same place of the input after a restart."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from sash.database.embedded import EmbeddedDatabase
from sash.database.on_spark import SparkDatabase

STREAM = """
CREATE STREAM s (ts TIMESTAMP, k STRING, v INT) TIMESTAMP BY ts WITH (format = 'csv', path = 's');
CREATE TABLE t (k STRING, name STRING);
INSERT INTO t VALUES ('ann', 'Ann'), ('bob', 'Bob');
CREATE MATERIALIZED VIEW a AS SELECT k, COUNT(*) AS n FROM s [RANGE 20 SECONDS] GROUP BY k;
"""
JOIN = "CREATE MATERIALIZED VIEW j AS SELECT s.v, t.name FROM s [RANGE 9 SECONDS] s JOIN t ON s.k = t.k"
PARTS = [
    [(second, ("ann", "bob", "cid")[second % 3], second % 2) for second in range(first, first + 10)] for first in range(1, 41, 10)
]
STEPS = (
    ("CREATE MATERIALIZED VIEW b AS SELECT k, SUM(v) AS v FROM s [RANGE 10 SECONDS] GROUP BY k",),
    (JOIN, "CREATE MATERIALIZED VIEW c AS SELECT k, COUNT(*) AS n FROM s [RANGE 20 SECONDS] GROUP BY k"),
    ("DROP VIEW b", "INSERT INTO t VALUES ('cid', 'Cid')", "UPDATE t SET name = 'Anna' WHERE k = 'ann'"),
)


def put(folder: Path, number: int) -> None:
    (folder / "s").mkdir(exist_ok=True)
    hidden = folder / f"s/.{number}"
    hidden.write_text("".join(f"{ts},{k},{v}\n" for ts, k, v in PARTS[number]))
    hidden.rename(folder / f"s/{number}.csv")


def embedded() -> EmbeddedDatabase:
    db = EmbeddedDatabase()
    db.execute(STREAM)
    for number, part in enumerate(PARTS):
        db.push("s", part)
        for statement in STEPS[number : number + 1]:
            db.execute(";".join(statement))
    return db


def in_order(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    return sorted(rows, key=lambda row: (str(row.get("_ts")), repr(row)))


def changes(folder: Path, view: str) -> list[dict[str, object]]:
    return in_order(pq.read_table(folder / f"out/{view}.changes.parquet").to_pylist())


def connected(spark: SparkSession, folder: Path) -> SparkDatabase:
    db = SparkDatabase(spark, checkpoint=folder / "point", output=folder / "out", shards=2, base=folder)
    db.execute(STREAM)
    return db


def test_views_come_and_go_with_a_restart_between(spark: SparkSession, tmp_path: Path) -> None:
    reference = embedded()
    put(tmp_path, 0)
    db = connected(spark, tmp_path)
    db.start()
    for number, statements in enumerate(STEPS):
        db.drain()
        for statement in statements:
            db.execute(statement)
        put(tmp_path, number + 1)
        if number == 1:
            db.stop()
            db = connected(spark, tmp_path)
            db.start()
    db.drain()
    for view in "acj":
        assert changes(tmp_path, view) == in_order(reference.changes(view).to_pylist()), view
        assert in_order(db.view(view).to_pylist()) == in_order(reference.view(view).to_pylist()), view
        assert db.complete_since(view) == reference.complete_since(view)
    assert [row["name"] for row in db.execute("SHOW QUERIES")] == ["a", "j", "c"]
    db.close()


NAMES = "CREATE MATERIALIZED VIEW names AS SELECT t.name, COUNT(*) AS n FROM s [RANGE 15 SECONDS] s JOIN t ON s.k = t.k GROUP BY t.name"
MORE = "CREATE MATERIALIZED VIEW more AS SELECT t.name, MAX(s.v) AS v FROM s [RANGE 7 SECONDS] s JOIN t ON s.k = t.k GROUP BY t.name"


def begun(spark: SparkSession, folder: Path) -> tuple[EmbeddedDatabase, SparkDatabase]:
    """An engine in this process that has the statements, and one that runs over the first part."""
    reference = EmbeddedDatabase()
    reference.execute(STREAM)
    put(folder, 0)
    db = connected(spark, folder)
    db.start()
    return reference, db


def test_a_view_that_needs_an_exchange_costs_one_restart(spark: SparkSession, tmp_path: Path) -> None:
    reference, db = begun(spark, tmp_path)
    runs = []
    assert db._running().job.levels == 1
    for number, statement in enumerate((NAMES, MORE)):
        reference.push("s", PARTS[number])
        reference.execute(statement)
        db.drain()
        runs.append(db._running()._query.runId)  # type: ignore[union-attr]
        db.execute(statement)
        put(tmp_path, number + 1)
    reference.push("s", PARTS[2])
    db.drain()
    runs.append(db._running()._query.runId)  # type: ignore[union-attr]
    assert runs[0] != runs[1] == runs[2] and db._running().job.levels == 2
    for view in ("a", "names", "more"):
        assert changes(tmp_path, view) == in_order(reference.changes(view).to_pylist()), view
        assert in_order(db.view(view).to_pylist()) == in_order(reference.view(view).to_pylist()), view
    db.close()


TOP = "CREATE MATERIALIZED VIEW top AS SELECT * FROM a ORDER BY n DESC, k LIMIT 2"
SIZES = "CREATE MATERIALIZED VIEW sizes AS SELECT n, COUNT(*) AS groups FROM a GROUP BY n"


def test_views_of_a_running_view_begin_with_what_it_holds(spark: SparkSession, tmp_path: Path) -> None:
    reference, db = begun(spark, tmp_path)
    for number, statement in enumerate((TOP, SIZES)):
        reference.push("s", PARTS[number])
        db.drain()
        for one in (reference, db):
            one.execute(statement)
        for view in ("top", "sizes")[: number + 1]:
            assert in_order(db.view(view).to_pylist()) == in_order(reference.view(view).to_pylist()) != [], view
        put(tmp_path, number + 1)
    reference.push("s", PARTS[2])
    db.drain()
    for view in ("a", "top", "sizes"):
        assert changes(tmp_path, view) == in_order(reference.changes(view).to_pylist()), view
        assert in_order(db.view(view).to_pylist()) == in_order(reference.view(view).to_pylist()), view
    db.close()


def test_a_job_begins_before_its_first_file_and_drain_waits_for_the_last(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    db = connected(spark, tmp_path)
    db.start()
    db.drain()
    assert db.view("a").to_pylist() == []
    for number in range(3):
        put(tmp_path, number)
        db.drain()
        assert db._running().progress.rows == 10 * (number + 1)
    assert len(db.view("a").to_pylist()) == 3
    db.close()
