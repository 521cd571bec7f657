"""NOW() over tables alone, which have no clock of their own, and rows that are taken back before their time."""

from __future__ import annotations

import sash
from sash.database.embedded import EmbeddedDatabase
from sash.testing.clock import FakeClock

TABLE = "CREATE TABLE t (k STRING, until TIMESTAMP)"
VIEW = "CREATE MATERIALIZED VIEW v AS SELECT k FROM t WHERE until > NOW()"


def keys(db: EmbeddedDatabase) -> list[str]:
    return [row["k"] for row in db.view("v").to_pylist()]


def test_time_is_told_by_advance() -> None:
    db = sash.connect()
    db.execute(TABLE)
    db.execute(VIEW)
    db.advance("2024-05-01 12:00:00")
    db.push("t", [("gone", "2024-05-01 11:00:00"), ("soon", "2024-05-01 12:30:00")])
    db.push("t", [("later", "2024-05-01 13:00:00"), ("never", None)])
    assert keys(db) == ["later", "soon"]
    db.advance("2024-05-01 12:30:00")
    assert keys(db) == ["later"]
    db.delete("t", [("later", "2024-05-01 13:00:00")])
    assert keys(db) == []
    db.push("t", [("later", "2024-05-01 13:00:00")])
    db.advance("2024-05-02 00:00:00")
    assert keys(db) == []


def test_time_is_the_wall_clock_of_the_last_change() -> None:
    clock = FakeClock(0)
    db = EmbeddedDatabase(clock=clock)
    db.execute(TABLE)
    db.execute(VIEW)
    clock.now = 10_000_000
    db.push("t", [("short", "1970-01-01 00:00:15"), ("long", "1970-01-01 01:00:00")])
    assert keys(db) == ["long", "short"]
    clock.now = 20_000_000
    db.push("t", [("other", "1970-01-01 01:00:00")])
    assert keys(db) == ["long", "other"]


def test_a_view_made_later_knows_the_time() -> None:
    db = sash.connect()
    db.execute(TABLE)
    db.execute("CREATE MATERIALIZED VIEW w AS SELECT k FROM t WHERE until <= NOW()")
    db.advance("2024-05-01 12:00:00")
    db.push("t", [("past", "2024-05-01 11:00:00"), ("soon", "2024-05-01 12:30:00")])
    db.execute(VIEW)
    assert keys(db) == ["soon"]
    db.advance("2024-05-01 12:30:00")
    assert keys(db) == [] and len(db.view("w")) == 2


def test_tables_wait_for_the_streams() -> None:
    db = sash.connect()
    db.execute(TABLE)
    db.execute("CREATE STREAM s (ts TIMESTAMP, k STRING) TIMESTAMP BY ts")
    db.execute("CREATE MATERIALIZED VIEW v AS SELECT s.k FROM s JOIN t ON s.k = t.k WHERE t.until > NOW()")
    db.push("t", [("ann", "1970-01-01 00:00:05")])
    db.push("s", [(1, "ann")])
    assert keys(db) == ["ann"]
    db.push("s", [(5, "bob")])
    assert keys(db) == []
