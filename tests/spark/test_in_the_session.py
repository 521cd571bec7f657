"""Sash within the session of its user: spark.sql sees the views, static DataFrames are tables, timestamps are instants."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

import sash
from sash.errors import SashError, SessionNameWarning

NOON = datetime(2024, 7, 1, 10, 0)  # in UTC; in Berlin it is noon


@pytest.fixture
def berlin(spark: SparkSession) -> Iterator[SparkSession]:
    """A session of its own settings and temporary views, on the same Spark."""
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    yield session


def put(folder: Path, number: int, *rows: tuple[int, str]) -> None:
    (folder / "in").mkdir(exist_ok=True)
    instants = pa.array([NOON.replace(second=second) for second, _ in rows], pa.timestamp("us", "UTC"))
    walls = pa.array([datetime(2024, 7, 1, 12)] * len(rows), pa.timestamp("us"))
    pq.write_table(pa.table({"ts": instants, "wall": walls, "k": [key for _, key in rows]}), folder / f"in/{number}.parquet")


def test_views_tables_and_times_of_a_session(berlin: SparkSession, tmp_path: Path) -> None:
    put(tmp_path, 1, (0, "a"), (10, "b"))
    frame = berlin.readStream.schema("ts timestamp, wall timestamp_ntz, k string").parquet(str(tmp_path / "in"))
    berlin.sql("SELECT * FROM VALUES ('a', TIMESTAMP '2024-07-01 12:00:00', 1S) AS t (`K`, since, other)").createOrReplaceTempView("known")
    berlin.sql("SELECT 1 AS x").createOrReplaceTempView("taken")
    with sash.connect(berlin, checkpoint=tmp_path / "point", shards=2) as db:
        db.stream("s", frame, timestamp="ts")
        db.table("since", berlin.table("known"))
        db.execute("""
            CREATE MATERIALIZED VIEW v AS SELECT s.k, ts, wall, since FROM s [RANGE 60 SECONDS] LEFT JOIN since ON s.k = since.k;
            CREATE MATERIALIZED VIEW taken AS SELECT COUNT(*) AS n FROM s;
        """)
        with pytest.warns(SessionNameWarning, match='does not see view "taken": the session has another table "taken"'):
            db.start()
        assert [row.x for row in berlin.sql("SELECT x FROM taken").collect()] == [1]
        db.drain()
        db.advance("10:00:20")
        db.drain()

        seen = berlin.sql("SELECT k, ts, wall, since, CAST(ts AS STRING) AS shown FROM v ORDER BY k")
        types = dict(seen.dtypes)
        assert (types["ts"], types["wall"], types["since"]) == ("timestamp",) * 3
        # An instant is the same instant, shown at the session's place; a wall time without a zone was taken for UTC.
        assert [(row.k, row.shown) for row in seen.collect()] == [("a", "2024-07-01 12:00:00"), ("b", "2024-07-01 12:00:10")]
        assert seen.filter("since = ts AND ts = TIMESTAMP '2024-07-01 12:00:00' AND wall = TIMESTAMP '2024-07-01 14:00:00'").count() == 1
        assert next((row["k"], row["ts"], row["since"]) for row in db.final("v")) == ("a", NOON, NOON)
        changes = db.changes("v").filter(f.col("_op") == 1).writeStream.format("memory").queryName("log").trigger(availableNow=True).start()
        assert changes.awaitTermination(60)
        assert berlin.sql("SELECT 1 FROM log WHERE _ts = ts AND _ts = TIMESTAMP '2024-07-01 12:00:10'").count() == 1

        put(tmp_path, 2, (30, "a"))
        db.table("since", [("a", NOON.replace(second=1), 2)])
        db.drain()
        db.advance("10:00:40")
        db.drain()
        found = berlin.sql("SELECT k, COUNT(*) AS n, MAX(since) = TIMESTAMP '2024-07-01 12:00:01' AS moved FROM v GROUP BY k ORDER BY k")
        assert [tuple(row) for row in found.collect()] == [("a", 2, True), ("b", 1, None)]

        db.execute("CREATE MATERIALIZED VIEW late_one AS SELECT k FROM s [RANGE 60 SECONDS]")
        assert berlin.table("late_one").count() == 3
        db.execute("DROP VIEW late_one")
        assert not berlin.catalog.tableExists("late_one")
        berlin.conf.set("spark.sql.timestampType", "TIMESTAMP_NTZ")
        assert dict(db.changes("v").dtypes)["_ts"] == "timestamp_ntz"
        berlin.conf.unset("spark.sql.timestampType")
        refused = [
            ("since", berlin.readStream.format("rate").load(), "the DataFrame of table \"since\" is a streaming one; connect a stream"),
            ("since", berlin.range(1), 'the DataFrame of table "since" has no column "K"; it has: id'),
            ("maps", berlin.sql("SELECT MAP('a', 1) AS m"), 'column "m" .* has the type map<string,int>, which Sash does not have'),
        ]
        for name, rows, message in refused:
            with pytest.raises(SashError, match=message):
                db.table(name, rows)
    assert not berlin.catalog.tableExists("v") and berlin.catalog.tableExists("taken")
    with sash.connect(berlin, checkpoint=tmp_path / "point", shards=2, temp_views=False) as db, warnings.catch_warnings():
        warnings.simplefilter("error", SessionNameWarning)
        db.stream("s", frame, timestamp="ts")
        db.table("since", berlin.table("known").filter("false"))
        db.execute("CREATE MATERIALIZED VIEW v AS SELECT s.k, ts, wall, since FROM s [RANGE 60 SECONDS] LEFT JOIN since ON s.k = since.k; CREATE MATERIALIZED VIEW taken AS SELECT COUNT(*) AS n FROM s;")
        db.start()
        db.drain()
        assert not berlin.catalog.tableExists("v") and {row["since"] for row in db.view("v")} == {None}
