"""Whole jobs on Spark give what the embedded engine gives: the same changes, the same answers."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from jobs import JOB, VIEWS, write_files
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, round, timestamp_micros

from sash.database.embedded import EmbeddedDatabase
from sash.database.on_spark import SparkDatabase
from sash.errors import SashError


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("job")
    write_files(folder)
    return folder


@pytest.fixture(scope="module")
def embedded(folder: Path) -> EmbeddedDatabase:
    db = EmbeddedDatabase(base=folder)
    db.execute(JOB)
    db.run()
    return db


def in_order(table: pa.Table) -> list[dict[str, object]]:
    return sorted(table.to_pylist(), key=lambda row: (str(row.get("_ts")), repr(row)))


def rows_in(metrics: dict[str, Any], name: str) -> int:
    """Of all operators of a kind together."""
    return sum(arc["positive"] for one in metrics["operators"] if one["operator"] == name for arc in one["arcs"])


@pytest.mark.parametrize(("shards", "batch_rows"), [(1, None), (3, 97)])
def test_spark_gives_what_the_embedded_engine_gives(
    spark: SparkSession, folder: Path, embedded: EmbeddedDatabase, tmp_path: Path, shards: int, batch_rows: int | None
) -> None:
    db = SparkDatabase(spark, output=tmp_path / "out", shards=shards, batch_rows=batch_rows, base=folder)
    db.execute(JOB)
    db.run()
    db.write_answers()
    metrics = db.metrics()
    for view in VIEWS:
        changes = pq.read_table(tmp_path / f"out/{view}.changes.parquet")
        expected = embedded.changes(view)
        assert expected.num_rows > 20
        assert changes.schema == expected.schema
        assert in_order(changes) == in_order(expected)
        assert in_order(db.view(view).to_arrow()) == in_order(embedded.final(view).to_arrow())
        assert pq.read_table(tmp_path / f"out/{view}.parquet").num_rows == len(embedded.final(view))
        assert metrics["views"][view]["changes"] == metrics["views"][view]["delay"]["wall_time"]["count"] == expected.num_rows
    assert rows_in(metrics, "Expire") == rows_in(embedded.metrics(), "Expire") > 0
    assert in_order(pq.read_table(tmp_path / "out/conn.late.parquet")) == in_order(embedded.late("conn"))
    assert pq.read_table(tmp_path / "out/conn.dead.parquet").num_rows == embedded.dead("conn").num_rows == 3
    db.close()


def test_until_cuts_the_changes(spark: SparkSession, folder: Path, tmp_path: Path) -> None:
    until = 150_000_000
    embedded = EmbeddedDatabase(base=folder, until=until)
    embedded.execute(JOB)
    embedded.run()
    db = SparkDatabase(spark, output=tmp_path / "out", shards=2, batch_rows=100, base=folder, until=until)
    db.execute(JOB)
    db.run()
    for view in VIEWS:
        assert in_order(pq.read_table(tmp_path / f"out/{view}.changes.parquet")) == in_order(embedded.changes(view))
    db.close()


STREAM = """
CREATE STREAM conn (ts TIMESTAMP, src STRING, bytes BIGINT) TIMESTAMP BY ts DELAY 10 SECONDS;
CREATE MATERIALIZED VIEW talkers AS SELECT src, COUNT(*) AS n FROM conn [RANGE 20 SECONDS] GROUP BY src;
"""


def connections(spark: SparkSession, folder: Path) -> DataFrame:
    """Files as a user's own streaming DataFrame, a file a batch."""
    reader = spark.readStream.option("header", "true").option("maxFilesPerTrigger", 1)
    frame = reader.schema("ts double, src string, dst string, bytes bigint, load double").csv(str(folder / "conn"))
    return frame.withColumn("ts", timestamp_micros(round(col("ts") * 1_000_000).cast("bigint")))


def test_a_dataframe_is_a_stream(spark: SparkSession, folder: Path, tmp_path: Path) -> None:
    embedded = EmbeddedDatabase(base=folder)
    embedded.execute(STREAM.replace(";", " WITH (format = 'csv', path = 'conn', header = 'true');", 1))
    embedded.run()
    db = SparkDatabase(spark, output=tmp_path / "out", shards=2)
    db.execute(STREAM)
    db.stream("conn", connections(spark, folder).where("bytes IS NOT NULL"))  # the rows that are dead elsewhere
    db.run()
    assert in_order(pq.read_table(tmp_path / "out/talkers.changes.parquet")) == in_order(embedded.changes("talkers"))
    assert in_order(db.view("talkers").to_arrow()) == in_order(embedded.final("talkers").to_arrow())
    db.close()


def test_a_dataframe_declares_its_stream(spark: SparkSession, folder: Path) -> None:
    frame = connections(spark, folder).where("bytes IS NOT NULL")
    declared, db = SparkDatabase(spark, shards=2), SparkDatabase(spark, shards=2)
    view = STREAM[STREAM.index("CREATE MATERIALIZED") :]
    declared.execute(STREAM)
    declared.stream("conn", frame, timestamp="TS")
    db.stream("conn", frame, timestamp="ts", delay="10 SECONDS")
    db.execute(view)
    for one in (declared, db):
        one.run()
    assert db.catalog.streams["conn"].schema.names == ("ts", "src", "dst", "bytes", "load")
    assert in_order(db.view("talkers").to_arrow()) == in_order(declared.view("talkers").to_arrow()) != []
    for one in (declared, db):
        one.close()


def test_a_dataframe_must_say_its_time(spark: SparkSession, folder: Path) -> None:
    db, frame = SparkDatabase(spark), connections(spark, folder)
    with pytest.raises(SashError, match=r'nothing says which column.*timestamp="column"'):
        db.stream("conn", frame)
    with pytest.raises(SashError, match='"conn" has no column "at"; it has: ts, src, dst, bytes, load'):
        db.stream("conn", frame, timestamp="at")
    with pytest.raises(SashError, match='column "src" of stream "conn" is STRING, not a TIMESTAMP'):
        db.stream("conn", frame, timestamp="src")
    with pytest.raises(SashError, match=r'column "both" .* has the type struct<src:string,dst:string>, which Sash does not have'):
        db.stream("conn", frame.selectExpr("ts", "struct(src, dst) AS both"), timestamp="ts")
    db.stream("conn", frame, timestamp="ts", delay="10 SECONDS", idle_after="5 SECONDS")
    assert (db.catalog.streams["conn"].delay, db.catalog.streams["conn"].idle) == (10_000_000, 5_000_000)
    with pytest.raises(SashError, match='"conn" is declared with TIMESTAMP BY ts; declare it'):
        db.stream("conn", frame, timestamp="src")


def test_a_dataframe_without_a_column_is_refused(spark: SparkSession, folder: Path) -> None:
    db = SparkDatabase(spark)
    db.execute(STREAM)
    db.stream("conn", connections(spark, folder).drop("bytes"))
    with pytest.raises(SashError, match='"conn" has no column "bytes"; it has: ts, src, dst, load'):
        db.run()
    db.close()


def test_a_view_shows_rows_that_are_not_final_yet(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "conn").mkdir()
    (tmp_path / "conn/0.csv").write_text("1,ann,5\n2,bob,6\n3,ann,7\n")
    db = SparkDatabase(spark, shards=2, base=tmp_path)
    db.execute(STREAM.replace(";", " WITH (format = 'csv', path = 'conn');", 1))
    db.start()
    db.drain()
    assert in_order(db.view("talkers").to_arrow()) == [{"src": "ann", "n": 2}, {"src": "bob", "n": 1}]
    assert db.view("talkers").to_arrow().num_rows == 2
    db.advance(22_500_000)
    db.drain()
    assert in_order(db.view("talkers").to_arrow()) == [{"src": "ann", "n": 1}]
    db.close()


def test_a_silent_stream_does_not_hold_up_the_others(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,5\n2,5\n9,5\n")
    (tmp_path / "b.csv").write_text("1,5\n")
    db = SparkDatabase(spark, output=tmp_path / "out", shards=2, base=tmp_path)
    db.execute("""
        CREATE STREAM a (ts TIMESTAMP, k INT) TIMESTAMP BY ts WITH (format = 'csv', path = 'a.csv');
        CREATE STREAM b (ts TIMESTAMP, k INT) TIMESTAMP BY ts IDLE AFTER 1 SECOND WITH (format = 'csv', path = 'b.csv');
        CREATE MATERIALIZED VIEW v AS
          SELECT a.k, b.ts AS since FROM a [RANGE 3 SECONDS] a JOIN b [RANGE 30 SECONDS] b ON a.k = b.k;
    """)
    db.start()
    for _ in range(60):
        db.drain()
        if pq.read_table(tmp_path / "out/v.changes.parquet").num_rows:
            break
        time.sleep(0.5)
    db.close()
    changes = pq.read_table(tmp_path / "out/v.changes.parquet").sort_by("_ts")
    assert changes.column("_op").to_pylist() == [1, 1, -1, -1]
    assert [moment.second for moment in changes.column("_ts").to_pylist()] == [1, 2, 4, 5]


def test_code_of_the_user_runs_in_the_workers(spark: SparkSession, folder: Path, tmp_path: Path) -> None:
    class Longest:
        def create(self) -> str:
            return ""

        def accumulate(self, state: str, value: str) -> str:
            return max(state, value, key=lambda text: (len(text), text))

        def finish(self, state: str) -> str:
            return state

    db = SparkDatabase(spark, output=tmp_path / "out", shards=2, base=folder)
    db.register("longest", Longest, returns="STRING")
    db.register("loud", lambda text: pa.compute.utf8_upper(text), returns="STRING", parameters=["STRING"])
    db.execute(JOB.replace("AVG(load)", "LONGEST(loud(dst))"))
    db.run()
    db.write_answers()
    answer = pq.read_table(tmp_path / "out/talkers.parquet").to_pylist()
    assert answer and all(row["load"].startswith("H") for row in answer)
    db.close()
