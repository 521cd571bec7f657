"""Late rows, dead letters and failures can be read and counted on Spark as they can be embedded. (Played without a JVM.)"""

from __future__ import annotations

import warnings
from pathlib import Path

import pyarrow as pa
import pytest
from without_spark import PlayedFrame, connected, query_of

import sash
from partitioned import COLUMNS, Row, table
from sash import LateRowsWarning

JOB = """
CREATE STREAM e (ts TIMESTAMP, k BIGINT, x DOUBLE) TIMESTAMP BY ts DELAY 1 SECONDS WITH (format = 'csv', path = 'e.csv');
CREATE MATERIALIZED VIEW v AS SELECT k, 10 % (k - 1) AS q FROM e [RANGE 5 SECONDS];
"""
LINES = "10,1,0.5\n11,2,oops\n8,1,1.5\n,3,1.5\n12,1,2\n9,4,1\n"


def test_late_dead_and_failed_rows_are_those_of_the_embedded_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "e.csv").write_text(LINES)
    one = sash.connect(base=tmp_path)
    one.execute(JOB)
    with pytest.warns(LateRowsWarning):
        one.run()
    db = connected(monkeypatch, tmp_path, JOB, batch_rows=2)
    with pytest.warns(LateRowsWarning, match='of stream "e" came too late') as told:
        db.run()
    assert sorted(one.category.__name__ for one in told) == ["LateRowsWarning", "UnreadableRowsWarning"]
    assert db.late("e").num_rows == 2
    assert db.late("e").sort_by("ts").equals(one.late("e").sort_by("ts"))
    assert db.dead("E").num_rows == 2
    assert db.dead("e").sort_by("line").equals(one.dead("e").sort_by("line"))
    assert db.failures() == one.failures()
    assert db.failures()
    assert db.metrics()["streams"] == one.metrics()["streams"] == {"e": {"late": 2, "dead": 2}}
    assert (db._running().progress.late, db._running().progress.dead) == (2, 2)
    db.close()


def test_what_was_lost_before_a_restart_is_still_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "e.csv").write_text(LINES)
    db = connected(monkeypatch, tmp_path, JOB, batch_rows=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        db.run()
    db.close()
    again = connected(monkeypatch, tmp_path, JOB, batch_rows=2)
    assert again.late("e").num_rows == 2
    assert again.dead("e").num_rows == 2
    again.close()


def test_the_warning_names_the_partition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sql = f"CREATE STREAM e ({COLUMNS}) TIMESTAMP BY ts; CREATE MATERIALIZED VIEW v AS SELECT k FROM e [RANGE 5 SECONDS];"
    batches = [[[Row(3, 0, 9.0, 0, "a"), Row(3, 1, 8.0, 0, "b"), Row(4, 0, 1.0, 0, "c")]], [[Row(4, 1, 0.0, 0, "d")]]]
    frame = PlayedFrame(*([table(rows) for rows in tasks] for tasks in batches))
    db = connected(monkeypatch, tmp_path, sql)
    db.stream("e", frame, partition="partition", position="offset")  # type: ignore[arg-type]
    db.start()
    with pytest.warns(LateRowsWarning, match="when the clock of its partition 3 was at 1970-01-01 00:00:09; declare") as told:
        query_of(db).processAllAvailable()
    assert len(told) == 1
    assert sorted(db.late("e").column("name").to_pylist()) == ["b", "d"]
    db.close()


def test_the_warning_of_a_unit_says_how_to_name_partitions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sql = f"CREATE STREAM e ({COLUMNS}) TIMESTAMP BY ts; CREATE MATERIALIZED VIEW v AS SELECT k FROM e [RANGE 5 SECONDS];"
    frame = PlayedFrame([table([Row(0, 0, 9.0, 0, "a")])], [table([Row(0, 1, 8.0, 0, "b")])])
    db = connected(monkeypatch, tmp_path, sql)
    db.stream("e", frame)  # type: ignore[arg-type]
    with pytest.warns(LateRowsWarning, match=r"name them in stream\(…, partition=…, position=…\)"):
        db.run()
    assert isinstance(db.late("e"), pa.Table)
    db.close()
