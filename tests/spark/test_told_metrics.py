"""What a job on Spark did is told where users of Spark look: in the progress of its query, and by a listener."""

from __future__ import annotations

import json
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from jobs import JOB, VIEWS, write_files
from pyspark.sql import Row, SparkSession
from pyspark.sql.streaming.listener import StreamingQueryProgress

import sash.cli.main
from sash.database.embedded import EmbeddedDatabase
from sash.database.on_spark import SparkDatabase
from sash.spark.listener import MetricsListener

SPREAD = ("total", "owners")  # are counted in two steps where there are several shards
SLOW = """CREATE MATERIALIZED VIEW slow AS
  SELECT src, dst, bytes FROM conn [RANGE 20 SECONDS] WHERE bytes > 50 EMIT EVERY 7 SECONDS;"""


def by_kind(metrics: dict[str, Any]) -> dict[str, list[int]]:
    """Rows in and out by sign, of all operators of a kind together."""
    found: dict[str, list[int]] = {}
    for one in metrics["operators"]:
        counts = found.setdefault(one["operator"], [0] * 4)
        for arc, place in [(arc, 0) for arc in one["arcs"]] + [(one["out"], 2)]:
            counts[place] += arc["positive"]
            counts[place + 1] += arc["negative"]
    return found


def analyzed(db: EmbeddedDatabase | SparkDatabase, view: str) -> tuple[list[tuple[str, str]], list[str]]:
    """Of EXPLAIN ANALYZE: rates and rows kept that were counted, and what is known of the streams."""
    _, table, streams = "\n".join(row["plan"] for row in db.execute(f"EXPLAIN ANALYZE VIEW {view}") or ()).split("\n\n")
    heads, *lines = table.splitlines()
    places = [heads.index(head) + len(head) for head in ("real rate/s", "real kept")]
    counts = [tuple(line[:place].split()[-1] if len(line) >= place else "" for place in places) for line in lines]
    return counts, streams.splitlines()  # type: ignore[return-value]


def test_progress_and_listener_tell_what_was_done(spark: SparkSession, tmp_path: Path) -> None:
    write_files(tmp_path)
    embedded = EmbeddedDatabase(base=tmp_path)
    embedded.execute(JOB + SLOW)
    embedded.run()
    told: dict[int, tuple[Row, dict[str, Any]]] = {}

    def tell(progress: StreamingQueryProgress, metrics: dict[str, Any]) -> None:
        told[progress.batchId] = (progress.observedMetrics["sash"], metrics)

    db = SparkDatabase(spark, shards=2, batch_rows=200, base=tmp_path, on_metrics=tell)
    db.execute(JOB + SLOW)
    db.run()
    last = db._running().progress.batch
    for _ in range(100):  # Spark tells in its own time
        if last in told:
            break
        time.sleep(0.1)
    plans = {name: analyzed(db, name) for name in VIEWS}
    db.close()
    for name, (counts, streams) in plans.items():
        assert (counts, streams) == analyzed(embedded, name) or (name in SPREAD and streams == analyzed(embedded, name)[1])
        assert counts and any(rate for rate, _ in counts)
    mine, theirs = told[last][1], embedded.metrics()
    observed = [row for row, _ in told.values()]
    assert sum(row.rows for row in observed) == embedded._running().progress.rows
    assert sum(row.changes for row in observed) == sum(view["changes"] for view in theirs["views"].values())
    assert sum(row.positive for row in observed) == sum(a["positive"] for one in mine["operators"] for a in one["arcs"]) > 0
    assert sum(row.probes for row in observed) == sum(one.get("probes", 0) for one in mine["operators"]) > 0
    assert max(row.event_time for row in observed if row.event_time) == "1970-01-01 00:04:59.333333"
    assert max(row.join_capacity for row in observed) > 0 and observed[-1].state_bytes > 0
    assert observed[-1].state_rows == sum(one["state_rows"] for one in mine["operators"])
    slow = theirs["views"]["slow"]["delay"]["event_time"]
    assert mine["views"]["slow"]["delay"]["event_time"] == slow and 0 < slow["p50"] < slow["p99"]
    assert max(row.delay_maximum for row in observed) == slow["maximum"]
    for kind in ("Expire", "LeavingJoin", "Emit"):
        assert by_kind(mine)[kind] == by_kind(theirs)[kind], kind


def test_a_run_on_spark_writes_its_metrics(spark: SparkSession, tmp_path: Path) -> None:
    write_files(tmp_path)
    (tmp_path / "job.sql").write_text(JOB)
    command = ["run", str(tmp_path / "job.sql"), "--engine", "spark", "--shards", "2", "--expiry", "time-message"]
    sash.cli.main.main([*command, "--schedule", "bfs", "--metrics", str(tmp_path / "m.json")], standalone_mode=False)
    found = json.loads((tmp_path / "m.json").read_text())
    assert found["run"]["changes"] == sum(view["changes"] for view in found["views"].values()) > 0
    assert sum(arc["messages"] for one in found["operators"] for arc in one["arcs"]) > 0


def test_that_a_listener_failed_is_told(caplog: pytest.LogCaptureFixture) -> None:
    def tell(progress: StreamingQueryProgress, metrics: dict[str, Any]) -> None:
        raise ValueError("no room")

    listener, run = MetricsListener(tell), uuid4()
    listener.runs.add(run)
    listener.keep(3, {})
    listener.onQueryProgress(SimpleNamespace(progress=SimpleNamespace(batchId=3, runId=run)))
    assert "on_metrics failed after batch 3" in caplog.text and "ValueError: no room" in caplog.text
