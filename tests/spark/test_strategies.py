"""The law on Spark, for expiry strategies and schedules: none changes the changelog; input-triggered is late, and right."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from test_law import write_job

from sash.database.embedded import EmbeddedDatabase
from sash.database.on_spark import SparkDatabase
from sash.testing.comparing import assert_same
from sash.testing.tables import Change, from_arrow
from shapes import INPUTS, SHAPES, STREAMS

NAMES = ("slide", "partitioned", "join_group", "three_way", "table_join", "distinct_rows", "except_rows", "left_join")
VIEWS = "\n".join(shape.sql for shape in SHAPES if shape.name in NAMES)
ROWS = INPUTS["many"]

WAYS = (
    ("direct", "memory", {"Expire", "Join"}), ("negative", "dfs", {"SignedJoin"}),
    ("time-message", "rr", {"Announce", "MessageExpire", "MessageJoin"}),
    ("piggyback", "batch:3", {"Announce", "MessageExpire", "MessageJoin"}),
)  # fmt: skip


@pytest.fixture(scope="module")
def expected() -> dict[str, list[Change]]:
    db = EmbeddedDatabase()
    db.execute(STREAMS + VIEWS)
    for name in ("sellers", "bids", "asks", "quiet"):
        db.push(name, ROWS[name])
    db.end()
    return {name: from_arrow(db.changes(name)) for name in NAMES}


def run(spark: SparkSession, folder: Path, expiry: str, schedule: str) -> tuple[dict[str, list[Change]], dict[str, Any]]:
    db = SparkDatabase(spark, output=folder / "out", shards=2, batch_rows=30, base=folder, expiry=expiry, schedule=schedule)
    db.execute(write_job(folder, ROWS) + VIEWS)
    db.run()
    assert db._running().job.schedules == (("", schedule),)
    metrics = db.metrics()
    db.close()
    return {name: from_arrow(pq.read_table(folder / f"out/{name}.changes.parquet")) for name in NAMES}, metrics


def kinds(metrics: dict[str, Any]) -> set[str]:
    return {one["operator"] for one in metrics["operators"]}


@pytest.mark.parametrize(("expiry", "schedule", "operators"), WAYS, ids=[way[0] for way in WAYS])
def test_a_way_that_is_forced_changes_nothing(
    spark: SparkSession, tmp_path: Path, expected: dict[str, list[Change]], expiry: str, schedule: str, operators: set[str]
) -> None:
    found, metrics = run(spark, tmp_path, expiry, schedule)
    for name in NAMES:
        assert_same(expected[name], found[name])
    assert operators <= kinds(metrics)
    assert (sum(arc["messages"] for one in metrics["operators"] for arc in one["arcs"]) > 0) == ("Announce" in operators)


def test_input_triggered_comes_to_the_same_answers(
    spark: SparkSession, tmp_path: Path, expected: dict[str, list[Change]]
) -> None:
    found, metrics = run(spark, tmp_path, "input-triggered", "bfs")
    assert "InputExpire" in kinds(metrics)
    for name in NAMES:
        assert answer(found[name]) == answer(expected[name]), name
    assert max(view["delay"]["event_time"]["maximum"] for view in metrics["views"].values()) > 0


def answer(changes: list[Change]) -> Counter[str]:
    bag: Counter[str] = Counter()
    for change in changes:
        bag[repr(change.row)] += change.op
    return Counter({row: count for row, count in bag.items() if count})


def test_a_schedule_may_change_while_a_job_runs(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    db = SparkDatabase(spark, output=tmp_path / "out", shards=2, base=tmp_path, schedule="bfs")
    db.execute("""
        CREATE STREAM s (ts TIMESTAMP, k INT) TIMESTAMP BY ts WITH (format = 'csv', path = 's');
        CREATE MATERIALIZED VIEW a AS SELECT k, COUNT(*) AS n FROM s [RANGE 5 SECONDS] GROUP BY k;
        CREATE MATERIALIZED VIEW b AS SELECT DISTINCT k FROM s [RANGE 3 SECONDS];
    """)
    embedded = EmbeddedDatabase()
    embedded.execute("""
        CREATE STREAM s (ts TIMESTAMP, k INT) TIMESTAMP BY ts;
        CREATE MATERIALIZED VIEW a AS SELECT k, COUNT(*) AS n FROM s [RANGE 5 SECONDS] GROUP BY k;
        CREATE MATERIALIZED VIEW b AS SELECT DISTINCT k FROM s [RANGE 3 SECONDS];
    """)
    db.start()
    for number, schedule in enumerate(("dfs", "batch:2")):
        rows = [(10 * number + second, second % 3) for second in range(10)]
        embedded.push("s", rows)
        (tmp_path / "s/.new").write_text("".join(f"{ts},{k}\n" for ts, k in rows))
        (tmp_path / "s/.new").rename(tmp_path / f"s/{number}.csv")
        db.drain()
        db.schedule(schedule, "b" if number else "")
    assert db._running().job.schedules == (("", "dfs"), ("b", "batch:2"))
    for view in "ab":
        assert_same(from_arrow(embedded.changes(view)), from_arrow(pq.read_table(tmp_path / f"out/{view}.changes.parquet")))
    db.close()
