"""The handle that `start()` gives: Spark's StreamingQuery as people know it, for as long as the job runs."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from uuid import UUID

import pytest
from pyspark.sql import SparkSession
from without_spark import connected

import sash
from sash.errors import SashError

SQL = """
    CREATE STREAM s (ts TIMESTAMP, k STRING, n BIGINT) TIMESTAMP BY ts WITH (format = 'csv', path = 's');
    CREATE MATERIALIZED VIEW v AS SELECT k, SUM(n) AS n FROM s [RANGE 60 SECONDS] GROUP BY k;
"""
DEEPER = "CREATE MATERIALIZED VIEW deeper AS SELECT n, COUNT(*) AS times FROM v GROUP BY n"  # one more exchange


def put(folder: Path, number: int, *lines: str) -> None:
    (folder / "s").mkdir(exist_ok=True)
    (folder / f"s/{number}.csv").write_text("".join(f"{line}\n" for line in lines))


def test_a_query_from_its_start_to_its_stop(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path, 1, "1970-01-01 00:00:01,a,1", "1970-01-01 00:00:02,b,2")
    with sash.connect(spark, base=tmp_path, shards=2) as db:
        db.execute(SQL)
        query = db.start()
        assert query.isActive and query.exception() is None and query.name == "sash" and "active" in repr(query)
        query.processAllAvailable()
        assert not query.awaitTermination(0.1) and not query.awaitTermination(0)
        assert {row["k"]: row["n"] for row in db.view("v")} == {"a": 1, "b": 2}
        first = UUID(query.runId)
        assert query.recentProgress[0].runId == first and query.lastProgress is not None
        assert query.lastProgress.batchId >= 0 and "isTriggerActive" in query.status
        db.execute(DEEPER)  # another query of Spark's takes over
        assert query.isActive and UUID(query.runId) != first
        ended: list[bool] = []
        waiting = threading.Thread(target=lambda: ended.append(query.awaitTermination()))
        waiting.start()
        query.stop()
        waiting.join(30)
        assert ended == [True] and not query.isActive and query.exception() is None and "ended" in repr(query)
        again = db.start()
        assert again.isActive and not query.isActive and again.id == query.id
    assert not again.isActive and again.awaitTermination()


@pytest.mark.parametrize("is_stopped", [False, True])
def test_between_two_queries_it_is_active(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, is_stopped: bool) -> None:
    put(tmp_path, 1, "1970-01-01 00:00:01,a,1")
    db = connected(monkeypatch, tmp_path, SQL)
    query, host = db.start(), db._running()
    seen: list[bool] = []

    def begin() -> object:
        seen.append(query.isActive)
        if is_stopped:
            raise SashError("no room")
        return None

    real = host.start
    monkeypatch.setattr(host, "start", lambda: (begin(), real())[1])
    if not is_stopped:
        db.execute(DEEPER)
        assert seen == [True] and query.isActive
        return
    with pytest.raises(SashError, match="no room"):
        db.execute(DEEPER)
    db.stop()
    began = time.monotonic()
    assert seen == [True] and not query.isActive and query.awaitTermination(5) and time.monotonic() - began < 2
