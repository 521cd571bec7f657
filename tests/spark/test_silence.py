"""Nothing comes any more, and yet rows leave their windows on time: silence is a normal state."""

from __future__ import annotations

import time
from datetime import datetime
from math import inf
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from sash.database.on_spark import SparkDatabase
from sash.runtime.progress import Progress

STAMPED = """
CREATE STREAM stamped (k INT) WITH (format = 'csv', path = 'stamped.csv');
CREATE STREAM mute (k INT) WITH (format = 'csv', path = 'mute');
CREATE MATERIALIZED VIEW s AS SELECT k, COUNT(*) AS n FROM stamped [RANGE 3 SECONDS] GROUP BY k;
CREATE MATERIALIZED VIEW u AS SELECT k FROM stamped [RANGE 3 SECONDS] UNION ALL SELECT k FROM mute [RANGE 2 SECONDS];
"""
TIMED = """
CREATE STREAM timed (ts TIMESTAMP, k INT) TIMESTAMP BY ts IDLE AFTER 1 SECOND WITH (format = 'csv', path = 'timed.csv');
CREATE MATERIALIZED VIEW t AS SELECT k FROM timed [RANGE 3 SECONDS];
"""
WINDOW = 3.0
TRIGGERS = 2  # the first after the instant at which a row is to leave may have been asked for before it


@pytest.mark.parametrize(("job", "views"), [(STAMPED, "su"), (TIMED, "t")], ids=["stamped", "idle"])
def test_rows_leave_while_nothing_comes(spark: SparkSession, tmp_path: Path, job: str, views: str) -> None:
    (tmp_path / "timed.csv").write_text("100,1\n101,2\n")
    (tmp_path / "stamped.csv").write_text("1\n1\n")
    (tmp_path / "mute").mkdir()
    seen: list[tuple[float, int, dict[str, int]]] = []

    def look(progress: Progress) -> None:
        seen.append((time.time(), progress.batch, {view: db._running().final(view).num_rows for view in views}))

    db = SparkDatabase(spark, output=tmp_path / "out", shards=2, base=tmp_path, on_progress=look)
    db.execute(job)
    db.start()
    for _ in range(240):
        if seen and not any(seen[-1][2].values()) and all(max(held[view] for *_, held in seen) for view in views):
            break
        time.sleep(0.25)
    host = db._running()
    assert host._query is not None
    triggers = {p.batchId: datetime.fromisoformat(p.timestamp).timestamp() for p in reversed(host._query.recentProgress)}
    came = min(pq.read_table(tmp_path / f"out/{views[0]}.changes.parquet").column("_ts").to_pylist())
    # The time of a stream that is idle goes on from its last row, as fast as on the wall.
    due = WINDOW + (seen[0][0] if job is TIMED else (came - datetime(1970, 1, 1)).total_seconds())
    for view in views:
        after = [held[view] for _, batch, held in seen if triggers.get(batch, inf) > due]
        assert max(held[view] for *_, held in seen) > 0 and seen[-1][2][view] == 0, (view, seen)
        assert not any(after[TRIGGERS - 1 :]), (view, due, seen, triggers)
    control = Path(host._settings.checkpoint.place) / "control"
    events = len(list(control.iterdir()))
    time.sleep(2)
    assert len(list(control.iterdir())) <= events + 2  # then all is quiet
    db.close()


def test_streams_are_not_idle_while_nobody_reads_them(spark: SparkSession, tmp_path: Path) -> None:
    """Rows wait in a file while the query is held up between two batches, for longer than IDLE AFTER."""
    (tmp_path / "timed.csv").write_text("100,1\n101,2\n102,3\n103,4\n")
    held_up: list[int] = []

    def hold_up(progress: Progress) -> None:
        if progress.rows and not held_up:
            held_up.append(progress.batch)
            time.sleep(4)

    db = SparkDatabase(spark, checkpoint=tmp_path / "point", shards=2, base=tmp_path, batch_rows=1, on_progress=hold_up)
    db.execute(TIMED)
    db.start()
    db.drain()
    assert held_up and db.late("timed").num_rows == 0
    assert db.progress.rows == 4
    db.close()
