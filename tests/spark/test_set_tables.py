"""A table that is set to rows before the start holds them after a restart too, whatever it held before."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from without_spark import connected

from sash.errors import SashError

SQL = """
    CREATE STREAM s (ts TIMESTAMP, k STRING) TIMESTAMP BY ts WITH (format = 'csv', path = 's');
    CREATE TABLE names (k STRING, name STRING);
    CREATE TABLE filed (k STRING) WITH (format = 'csv', path = 'k.csv');
    CREATE MATERIALIZED VIEW v AS SELECT s.k, name FROM s [RANGE 60 SECONDS] JOIN names ON s.k = names.k;
"""
NAMES = pa.table({"k": ["a", "b", None], "name": ["Ann", "Bob", None]})


def test_a_restart_takes_what_has_changed_meanwhile(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s/1.csv").write_text("1970-01-01 00:00:01,a\n1970-01-01 00:00:02,b\n")
    (tmp_path / "k.csv").write_text("a\n")
    answers = []
    for rows in (NAMES, NAMES, NAMES.slice(1), [("a", "Anna")], None):
        with connected(monkeypatch, tmp_path, SQL) as db:
            if rows is not None:
                db.table("names", rows)
            db.start()
            db.drain()
            answers.append(sorted((row["k"], row["name"]) for row in db.view("v")))
            events = len(list((tmp_path / "point/control").glob("*")))
            answers.append(events)  # type: ignore[arg-type]
    held = answers[::2]
    assert held == [[("a", "Ann"), ("b", "Bob")], [("a", "Ann"), ("b", "Bob")], [("b", "Bob")], [("a", "Anna")], [("a", "Anna")]]
    assert answers[1] == answers[3]  # nothing was asked for that is there already


def test_a_table_that_only_grows_is_not_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "k.csv").write_text("a\n")
    with connected(monkeypatch, tmp_path, SQL) as db, pytest.raises(SashError, match='table "filed" is a file and only grows'):
        db.table("filed", [("b",)])
