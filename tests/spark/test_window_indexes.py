"""Indexes of windows on Spark: their window is a part of the job, so a session that goes on has it without a word."""

from __future__ import annotations

from pathlib import Path

import pytest
from without_spark import connected

import sash
from sash.database.on_spark import SparkDatabase

JOB = """
    CREATE STREAM s (ts TIMESTAMP, k STRING, n BIGINT) TIMESTAMP BY ts WITH (format = 'csv', path = 's');
    CREATE MATERIALIZED VIEW v AS SELECT k, SUM(n) AS n FROM s [RANGE 60 SECONDS] GROUP BY k;
"""
FIRST = "CREATE INDEX first ON s [RANGE 20 SECONDS] (k);"
ASKED = "SELECT n FROM s [RANGE 20 SECONDS] WHERE k = 'a' ORDER BY n"


def put(db: SparkDatabase, folder: Path, seconds: range) -> None:
    (folder / "s").mkdir(exist_ok=True)
    (folder / f"s/{seconds.start:03}.csv").write_text("".join(f"{one},{'ab'[one % 2]},{one}\n" for one in seconds))
    db.drain()


def started(patch: pytest.MonkeyPatch, folder: Path, sql: str) -> SparkDatabase:
    (folder / "s").mkdir(exist_ok=True)
    db = connected(patch, folder, sql)
    db.start()
    return db


def asked(db: SparkDatabase, sql: str = ASKED) -> list[object]:
    return [row["n"] for row in db.query(sql)]


def indexes(db: SparkDatabase) -> list[object]:
    shown = db.execute("SHOW INDEXES")
    assert shown is not None
    return [row["name"] for row in shown]


def test_a_window_goes_on_after_a_restart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with started(monkeypatch, tmp_path, JOB + FIRST) as db:
        put(db, tmp_path, range(10))
        assert asked(db) == [0, 2, 4, 6, 8]
    with started(monkeypatch, tmp_path, JOB + FIRST) as db:
        db.drain()
        assert asked(db) == [0, 2, 4, 6, 8]
        put(db, tmp_path, range(10, 26))
        assert asked(db) == list(range(6, 26, 2))
        assert str(db.explain(ASKED)).endswith("index first of s [RANGE 20 SECONDS], HASH (k): k = one value")


def test_what_was_said_of_indexes_while_it_ran_is_on_record(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with started(monkeypatch, tmp_path, JOB) as db:
        put(db, tmp_path, range(5))
        db.execute(FIRST + "CREATE INDEX second ON s [RANGE 20 SECONDS] (n) USING TREE; DROP INDEX first")
        db.execute("CREATE INDEX of_few ON s [RANGE 3 SECONDS] (n); CREATE INDEX of_view ON v (k)")
        put(db, tmp_path, range(5, 40))
        assert asked(db) == list(range(20, 40, 2))
    with started(monkeypatch, tmp_path, JOB) as db:
        db.drain()
        assert indexes(db) == ["second", "of_few"]  # that of a view is no part of the job
        assert asked(db) == list(range(20, 40, 2))
        assert asked(db, "SELECT n FROM s [RANGE 3 SECONDS]") == [37, 38, 39]
        db.execute("DROP INDEX second")
        put(db, tmp_path, range(40, 44))
        with pytest.raises(sash.SashError, match="cannot be asked here"):
            asked(db)
    with started(monkeypatch, tmp_path, JOB) as db:
        assert indexes(db) == ["of_few"]


def test_a_window_is_no_view(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with started(monkeypatch, tmp_path, JOB + FIRST) as db:
        put(db, tmp_path, range(10))
        db.write_answers(tmp_path / "answers")
        assert [path.name for path in (tmp_path / "answers").iterdir()] == ["v.parquet"]
        assert list(db.materialized()) == ["v"]
        with pytest.raises(sash.SashError, match=r'"s .RANGE 20 SECONDS." is a window of a stream, which has indexes'):
            db.execute("CREATE MATERIALIZED VIEW `s [RANGE 20 SECONDS]` AS SELECT k FROM s [ROWS 1]")
