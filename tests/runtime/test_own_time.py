"""A view lives in the time of the streams that it reads; those that only others read never move it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from sash.database.embedded import EmbeddedDatabase
from sash.testing.clock import FakeClock
from sash.testing.tables import from_arrow, show

EPOCH = datetime(1970, 1, 1)
DECLARED = """
CREATE STREAM s (ts TIMESTAMP, k INT) TIMESTAMP BY ts;
CREATE STREAM fast (ts TIMESTAMP, k INT) TIMESTAMP BY ts;
CREATE STREAM arrives (k INT);
CREATE STREAM also_arrives (k INT);
CREATE TABLE t (k INT, name STRING) RETROACTIVE;
"""
VIEW = "SELECT s.k, t.name FROM s [RANGE 10 SECONDS], t WHERE s.k = t.k"
NEIGHBOURS = (
    "SELECT COUNT(*) AS n FROM arrives [RANGE 1 SECOND]", "SELECT k FROM fast [RANGE 1 SECOND]",
    "SELECT s.k FROM s [RANGE 2 SECONDS], fast",
)


def at(second: float) -> datetime:
    return EPOCH + timedelta(seconds=second)


def database(*views: str) -> EmbeddedDatabase:
    db = EmbeddedDatabase(clock=FakeClock(1_000_000))
    db.execute(DECLARED)
    for place, view in enumerate(views):
        db.execute(f"CREATE MATERIALIZED VIEW v{place} AS {view}")
    return db


def changes(db: EmbeddedDatabase, view: str = "v0") -> list[str]:
    return show(from_arrow(db.changes(view))).splitlines()


def statements_between(db: EmbeddedDatabase) -> None:
    db.execute("INSERT INTO t VALUES (1, 'one')")
    db.push("s", [(at(1), 1), (at(3), 2)])
    db.push("fast", [(at(500), 1)])
    db.push("arrives", [(7,)])
    db.execute("INSERT INTO t VALUES (2, 'two')")
    db.execute("UPDATE t SET name = 'won' WHERE k = 1")
    db.push("s", [(at(5), 1)])


def test_an_unrelated_stream_does_not_stamp_the_statements_of_a_view() -> None:
    db = database(VIEW, *NEIGHBOURS)
    statements_between(db)
    db.end()
    assert changes(db) == ["+ 1 one @1", "- 1 one @3", "+ 1 won @3", "+ 2 two @3", "+ 1 won @5"]


def test_a_stream_stamped_on_arrival_does_not_empty_other_views_at_the_end() -> None:
    db = database("SELECT k FROM s [RANGE 10 SECONDS]", *NEIGHBOURS)
    db.push("s", [(at(1), 1)])
    db.push("arrives", [(7,)])
    db.push("fast", [(at(500), 1)])
    db.end()
    assert changes(db) == ["+ 1 @1"] and db.view("v0").to_pylist() == [{"k": 1}]


@pytest.mark.parametrize("statement", ["UPDATE t SET name = 'one'", "DELETE FROM t WHERE k = 9"])
def test_a_statement_that_changes_nothing_leaves_no_trace(statement: str) -> None:
    db = database("SELECT name FROM RSTREAM(SELECT t.name FROM s [RANGE 10 SECONDS], t WHERE s.k = t.k)")
    db.execute("INSERT INTO t VALUES (1, 'one')")
    db.push("s", [(at(1), 1), (at(2), 3)])
    db.execute(statement)
    db.push("s", [(at(4), 3)])
    db.end()
    assert changes(db) == ["+ one @1"]


def test_statements_at_one_position_are_netted() -> None:
    db = database(VIEW)
    db.push("s", [(at(1), 1)])
    for name in ("a", "b", "c"):
        db.execute("DELETE FROM t")
        db.execute(f"INSERT INTO t VALUES (1, '{name}')")
    db.push("s", [(at(2), 5)])
    db.end()
    assert changes(db) == ["+ 1 c @1"]


def test_a_view_that_another_reads_changes_in_it_at_its_own_instants() -> None:
    outer = "SELECT v0.k, v0.name FROM v0, fast [RANGE 1000 SECONDS] WHERE fast.k = v0.k"
    db = database(VIEW, outer, "SELECT t.name FROM s [RANGE 10 SECONDS], fast [RANGE 1000 SECONDS], t WHERE s.k = t.k")
    db.push("fast", [(at(0.5), 1), (at(2), 7), (at(900), 7)])
    db.push("s", [(at(1), 1), (at(3), 3)])
    db.execute("INSERT INTO t VALUES (1, 'one')")
    db.push("s", [(at(4), 3)])
    db.end()
    assert changes(db) == ["+ 1 one @3"]
    assert changes(db, "v1") == ["+ 1 one @3", "- 1 one @11"]  # it ends with fast
    assert changes(db, "v2") == []  # the table changed when s was over


def test_a_view_of_tables_alone_has_its_time_from_what_it_is_told() -> None:
    db = database("SELECT k FROM t", *NEIGHBOURS)
    db.push("s", [(at(1), 1)])
    db.push("fast", [(at(2), 1)])
    db.execute("INSERT INTO t VALUES (1, 'one')")
    db.push("s", [(at(5), 1)])
    assert changes(db) == [] and db.view("v0").to_pylist() == [{"k": 1}]
    db.advance(10_000_000)
    db.execute("INSERT INTO t VALUES (2, 'two')")
    db.end()
    assert changes(db) == ["+ 1 @0001-01-01T00:00:00", "+ 2 @10"]


def test_a_view_of_tables_alone_takes_the_time_of_its_reader() -> None:
    db = database("SELECT k, name FROM t", "SELECT v0.name FROM v0, s [RANGE 10 SECONDS] WHERE v0.k = s.k")
    db.push("s", [(at(1), 1)])
    db.execute("INSERT INTO t VALUES (1, 'one')")
    db.push("s", [(at(5), 2)])
    assert changes(db, "v1") == ["+ one @1"]


@pytest.mark.parametrize("how", ["", " EMIT EVERY 4 SECONDS"])
@pytest.mark.parametrize("expiry", ["auto", "input-triggered"])
def test_arrivals_of_another_stream_move_nothing(how: str, expiry: str) -> None:
    def played(*views: str) -> list[str]:
        clock = FakeClock(100)
        db = EmbeddedDatabase(clock=clock, expiry=expiry)
        db.execute(DECLARED)
        for place, view in enumerate(views):
            db.execute(f"CREATE MATERIALIZED VIEW v{place} AS {view}")
        for second in range(6):
            db.push("arrives" if second % 3 == 0 else "also_arrives", [(second,)])
            db.execute(f"INSERT INTO t VALUES ({second}, 'x')")
            clock.sleep(1)
        db.end()
        return changes(db)

    view = f"SELECT a.k, COUNT(*) AS n FROM arrives [RANGE 2 SECONDS] a, t GROUP BY a.k{how}"
    both = "SELECT a.k FROM arrives [RANGE 2 SECONDS] a, also_arrives [RANGE 2 SECONDS] b"
    assert played(view, both) == played(view) != []


def test_rows_that_come_after_the_end_are_late_for_everybody_or_nobody() -> None:
    """The end is that of the whole input, also of streams that nobody reads."""
    def late(*views: str) -> list[object]:
        db = database(*views)
        db.push("s", [(at(1), 1)])
        db.push("fast", [(at(50), 1)])
        db.end()
        db.push("s", [(at(20), 2), (at(60), 3)])
        return [db.late("s").to_pylist(), changes(db)]

    view = "SELECT k FROM s [RANGE 10 SECONDS]"
    assert late(view) == late(view, *NEIGHBOURS)


def shown(view: Callable[[EmbeddedDatabase], object], *views: str) -> object:
    db = database(*views)
    statements_between(db)
    return view(db)


def test_what_a_view_shows_before_the_end_is_its_own_too() -> None:
    assert shown(lambda db: db.view("v0").to_pylist(), VIEW) == shown(lambda db: db.view("v0").to_pylist(), VIEW, *NEIGHBOURS)
    assert shown(changes, VIEW) == shown(changes, VIEW, *NEIGHBOURS)
