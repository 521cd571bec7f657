"""TIMESTAMP AS OF: views as they were, from their changes."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hosts import Played, as_set

import sash
from sash.database.database import Database

JOB = """
    CREATE STREAM s (ts TIMESTAMP, k STRING, v DOUBLE) TIMESTAMP BY ts DELAY 5 SECONDS;
    CREATE STREAM other (ts TIMESTAMP, k STRING) TIMESTAMP BY ts;
    CREATE TABLE names (k STRING, name STRING);
    CREATE MATERIALIZED VIEW sums {history}AS SELECT k, SUM(v) AS v, COUNT(*) AS n FROM s [RANGE 10 SECONDS] GROUP BY k;
    CREATE MATERIALIZED VIEW met AS SELECT k, COUNT(*) AS n FROM other [RANGE 10 SECONDS] GROUP BY k;
"""


def when(second: int) -> str:
    return f"2024-01-01 12:{second // 60:02d}:{second % 60:02d}"


def filled(said: str = "", **options: object) -> Database:
    db = sash.connect(**options)  # type: ignore[arg-type]
    db.execute(JOB.format(history=said))
    for second in range(60):
        db.push("s", [(when(second), "ab"[second % 2], 0.1 * second), (when(second), None, 1.0)])
        if second % 7 == 0:
            db.push("other", [(when(second), "a")])
    return db


def test_every_instant_is_what_it_was() -> None:
    db = sash.connect(history="all")
    db.execute(JOB.format(history=""))
    seen = {}
    for second in range(40):
        db.push("s", [(when(second), "ab"[second % 2], 0.1 * second)])
        seen[second] = db.query("SELECT * FROM sums").to_arrow()
    for second, table in seen.items():
        answer = db.query(f"SELECT * FROM sums TIMESTAMP AS OF '{when(second)}'")
        assert answer.to_arrow() == table, second
        assert (str(answer.as_of), answer.is_final) == (when(second), second < 34)
    counted = db.query(f"SELECT COUNT(*) AS n, SUM(v) AS v FROM sums TIMESTAMP AS OF '{when(20)}' WHERE k = 'a'")
    assert counted.to_pylist() == [{"n": 1, "v": sum(seen[20].filter(pa.compute.equal(seen[20]["k"], "a"))["v"].to_pylist())}]


def test_one_as_of_is_that_of_all_views() -> None:
    db = filled()
    text = "SELECT a.k, a.n, b.n AS met FROM sums{one} a JOIN met{two} b ON a.k = b.k"
    as_of = f" TIMESTAMP AS OF '{when(30)}'"
    expected = [{"k": "a", "n": 5, "met": 2}]
    for one, two in ((as_of, ""), ("", as_of), (as_of, as_of)):
        assert db.query(text.format(one=one, two=two)).to_pylist() == expected
    with pytest.raises(sash.SashError, match="answered at one instant, and this names another"):
        db.query(text.format(one=as_of, two=f" TIMESTAMP AS OF '{when(31)}'"))


def test_what_is_older_than_the_history_is_told() -> None:
    db = filled("WITH (history = '20 SECONDS') ")
    assert len(db.query(f"SELECT * FROM sums TIMESTAMP AS OF '{when(45)}'")) == 3
    with pytest.raises(sash.SashError, match=r'the history of view "sums" is kept since 2024-01-01 12:00:3.*AS OF 2024-01-01 12:00:20'):
        db.query(f"SELECT * FROM sums TIMESTAMP AS OF '{when(20)}'")
    assert len(db.query(f"SELECT * FROM met TIMESTAMP AS OF '{when(5)}'")) == 1  # its history is its own


def test_a_history_of_a_view_may_be_longer_than_that_of_the_database() -> None:
    db = filled("WITH (history = 'all') ", history="none")
    assert len(db.query(f"SELECT * FROM sums TIMESTAMP AS OF '{when(5)}'")) == 3
    with pytest.raises(sash.SashError, match='the history of view "met" is kept since'):
        db.query(f"SELECT * FROM met TIMESTAMP AS OF '{when(5)}'")


def test_before_the_first_row_there_was_nothing_and_the_future_has_not_come() -> None:
    db = filled()
    assert db.query("SELECT COUNT(*) AS n FROM sums TIMESTAMP AS OF '2023-01-01 00:00:00'").to_pylist() == []
    with pytest.raises(sash.SashError, match="2025-01-01 00:00:00 has not come"):
        db.query("SELECT * FROM sums TIMESTAMP AS OF '2025-01-01 00:00:00'")


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT * FROM s [RANGE 1 SECOND] TIMESTAMP AS OF '2024-01-01 12:00:00'", "no history is kept|unexpected|Invalid|expected"),
        ("SELECT * FROM names TIMESTAMP AS OF '2024-01-01 12:00:00'", 'of table "names" no history is kept'),
        ("SELECT * FROM sums TIMESTAMP AS OF 'noon'", '"noon" is not a timestamp'),
        ("SELECT * FROM sums VERSION AS OF 3", 'this version of "sums" cannot be asked for'),
        ("CREATE MATERIALIZED VIEW x AS SELECT * FROM sums TIMESTAMP AS OF '2024-01-01 12:00:00'", "not supported"),
        ("CREATE MATERIALIZED VIEW x WITH (shards = '2') AS SELECT * FROM sums", 'a view has no option "shards"'),
        ("CREATE MATERIALIZED VIEW x WITH (history = 'long') AS SELECT k FROM sums", "does not say how much history"),
        ("CREATE VIEW x WITH (history = '7 DAYS') AS SELECT k FROM sums", "a view that is not kept has no history"),
    ],
)
def test_what_cannot_be_asked_as_of(sql: str, message: str) -> None:
    db = filled()
    with pytest.raises(sash.SashError, match=message):
        db.execute(sql)


@pytest.mark.parametrize("host", ["embedded", "spark"])
def test_both_hosts_know_what_was(host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played = Played(host, tmp_path, monkeypatch)
    db = played.db
    seen = {}
    for second in range(10, 90, 10):
        played.put((second, "ab"[second // 10 % 2], second))
        seen[second] = as_set(db.view("v"))
    for second in range(10, 70, 10):
        text = f"SELECT * FROM v TIMESTAMP AS OF '1970-01-01 00:{second // 60:02d}:{second % 60:02d}'"
        assert as_set(db.query(text)) == seen[second], second
    db.close()
