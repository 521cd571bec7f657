"""PySpark 4.1 neither tells a source where the query is nor that what is there is all: batches and outputs are the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from without_spark import connected

from sash.spark import running_job
from sash.spark.changes_source import ChangesReader
from sash.spark.source import SashReader

SQL = """
    CREATE STREAM s (ts TIMESTAMP, k STRING) TIMESTAMP BY ts WITH (format = 'csv', path = 's');
    CREATE TABLE names (k STRING, name STRING) WITH (format = 'csv', path = 'names.csv');
    CREATE MATERIALIZED VIEW v AS SELECT name, COUNT(*) AS n FROM s [RANGE 5 SECONDS] JOIN names ON s.k = names.k GROUP BY name;
"""


def write_files(folder: Path) -> None:
    (folder / "s").mkdir(parents=True)
    (folder / "names.csv").write_text("a,Ann\nb,Bob\n")
    for number in range(3):
        lines = (f"1970-01-01 00:00:{number * 10 + second:02},{'ab'[second % 2]}\n" for second in range(10))
        (folder / f"s/{number}.csv").write_text("".join(lines))


def played(patch: pytest.MonkeyPatch, folder: Path) -> tuple[int, list[dict[str, Any]]]:
    """A run in steps, a restart, and a run to the end: how many batches it took, and all changes."""
    write_files(folder)
    with connected(patch, folder, SQL, batch_rows=4) as db:
        db.start()
        db.drain()
        db.stop()
    (folder / "s/9.csv").write_text("1970-01-01 00:00:31,a\n1970-01-01 00:00:32,b\n1970-01-01 00:00:33,a\n")
    with connected(patch, folder, SQL, batch_rows=2) as db:
        db.run()
        assert db.is_finished and db.view("v").is_final
        changes = [row for batch in db.subscribe("v", 0.01, since=0) for row in batch.to_pylist()]
        return db.progress.batch, changes


def test_a_source_that_is_told_nothing_plans_the_same_batches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    told = played(monkeypatch, tmp_path / "told")
    latest = SashReader.latestOffset
    monkeypatch.setattr(SashReader, "latestOffset", lambda self, start, limit: latest(self))
    monkeypatch.setattr(running_job, "IS_TOLD", False)
    assert played(monkeypatch, tmp_path / "not_told") == told and told[0] > 8 and told[1]


def test_a_reader_of_changes_that_is_told_nothing_takes_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    write_files(tmp_path)
    with connected(monkeypatch, tmp_path, SQL, batch_rows=4) as db:
        db.start()
        db.drain()
        changelog = db._running().ledger.changelog("v.changes.parquet")
        assert ChangesReader(changelog.to_text(), None).latestOffset() == {"batch": changelog.newest()}
