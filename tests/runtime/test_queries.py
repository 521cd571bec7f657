"""Views that come and go while rows come."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest

import sash
from sash.errors import SashError
from sash.runtime.packets import Cargo, Packet, facts_body
from sash.runtime.shard import Shard
from sash.schema import SECOND
from sash.stores.arena import Arena
from sash.testing import from_arrow, show

STREAM = "CREATE STREAM s (ts TIMESTAMP, k STRING, v INT) TIMESTAMP BY ts;"
COUNTS = "SELECT k, COUNT(*) AS n FROM s [RANGE 9 SECONDS] GROUP BY k"
BEGINNING = datetime(1, 1, 1)


def connected(*queries: str) -> sash.Database:
    db = sash.connect()
    db.execute(STREAM)
    for name, query in zip("abc", queries, strict=False):
        db.execute(f"CREATE MATERIALIZED VIEW {name} AS {query}")
    return db


def changes(db: sash.Database, view: str) -> list[str]:
    return show(from_arrow(db.changes(view))).splitlines()


def test_a_later_view_begins_with_the_rows_in_memory() -> None:
    db = connected("SELECT k FROM s [ROWS 2]")
    db.push("s", [(1, "ann", 1), (2, "bob", 1)])
    db.execute("CREATE MATERIALIZED VIEW v AS SELECT k FROM s [ROWS 2] WHERE k <> 'x'")
    assert db.view("v").to_pylist() == [{"k": "ann"}, {"k": "bob"}]
    db.push("s", [(3, "cid", 1)])
    db.end()
    assert changes(db, "v") == ["+ ann @1.999999", "+ bob @2", "- ann @3", "+ cid @3"]
    assert changes(db, "a") == ["+ ann @1", "+ bob @2", "- ann @3", "+ cid @3"]


def test_a_larger_window_is_complete_when_all_of_it_has_been_seen() -> None:
    db = connected("SELECT COUNT(*) AS n FROM s [RANGE 5 SECONDS]")
    db.push("s", [(second, "ann", 1) for second in range(1, 21)])
    db.execute("CREATE MATERIALIZED VIEW v AS SELECT COUNT(*) AS n FROM s [RANGE 9 SECONDS]")
    db.execute("CREATE MATERIALIZED VIEW w AS SELECT COUNT(*) AS n FROM s [RANGE 3 SECONDS]")
    assert db.view("v").to_pylist() == [{"n": 6}]  # seconds 15 to 20, the fifteenth is just gone from the smaller window
    assert db.complete_since("v") == datetime(1970, 1, 1, 0, 0, 23, 1)
    assert db.view("w").to_pylist() == [{"n": 3}]
    assert db.complete_since("w") <= datetime(1970, 1, 1, 0, 0, 20)
    db.push("s", [(second, "ann", 1) for second in range(21, 25)])
    assert db.view("v").to_pylist() == [{"n": 9}]


def test_without_a_bound_a_later_view_says_that_it_has_not_seen_all() -> None:
    db = connected("SELECT COUNT(*) AS n FROM s")
    db.push("s", [(1, "ann", 1), (2, "ann", 1)])
    db.execute("CREATE MATERIALIZED VIEW v AS SELECT SUM(v) AS v FROM s")
    db.push("s", [(3, "ann", 1)])
    assert db.view("v").to_pylist() == [{"v": 2}]  # that of second 2 was not final, so it was in memory
    assert db.complete_since("v") is None
    assert db.complete_since("a") == BEGINNING


def test_equal_queries_are_one_and_begin_with_its_answer() -> None:
    db = connected("SELECT k, COUNT(*) AS n FROM s GROUP BY k")
    db.push("s", [(1, "ann", 1), (2, "ann", 1)])
    before = db.state_bytes
    db.execute("CREATE MATERIALIZED VIEW b AS SELECT k, COUNT(*) AS n FROM s GROUP BY k")
    assert db.state_bytes == before
    db.push("s", [(3, "ann", 1)])
    db.end()
    assert db.view("b").to_pylist() == db.view("a").to_pylist() == [{"k": "ann", "n": 3}]
    assert changes(db, "b") == ["+ ann 1 @1", "- ann 1 @2", "+ ann 2 @2", "- ann 2 @3", "+ ann 3 @3"]
    assert db.complete_since("b") == BEGINNING
    db.execute("DROP VIEW a")
    db.push("s", [(4, "bob", 1)])
    assert db.view("b").to_pylist() == [{"k": "ann", "n": 3}, {"k": "bob", "n": 1}]


def test_parts_are_shared() -> None:
    db = connected(COUNTS)
    db.push("s", [(1, "ann", 1), (2, "ann", 1), (3, "bob", 1)])
    db.execute(f"CREATE MATERIALIZED VIEW b AS {COUNTS} HAVING COUNT(*) > 1")
    db.push("s", [(4, "ann", 1)])
    assert db.view("b").to_pylist() == [{"k": "ann", "n": 3}]
    shown = db.execute("SHOW QUERIES").to_pylist()
    assert [(row["name"], row["shared_with"]) for row in shown] == [("a", "b"), ("b", "a")]
    assert shown[0]["own"] == 0 and 0 < shown[1]["own"] < shown[1]["operators"]
    plan = db.explain("b")
    assert "GroupBy  with: a" in plan and "Filter  with" not in plan
    assert "GroupBy  with: a, b" in db.explain(COUNTS)


def test_dropping_the_last_user_frees_the_state() -> None:
    db = connected("SELECT COUNT(*) AS n FROM s [RANGE 1 SECOND]")
    db.push("s", [(1, "ann", 1)])
    before, names = db.state_bytes, set(db._arena._entries)
    queries = (COUNTS, f"{COUNTS} HAVING COUNT(*) > 1", "SELECT a.k FROM s [RANGE 9 SECONDS] a JOIN s [ROWS 9] b ON a.k = b.k")
    for round_ in range(3):
        for name, query in zip("xyz", queries, strict=True):
            db.execute(f"CREATE MATERIALIZED VIEW {name} AS {query}")
        db.push("s", [(2 + round_, "bob", 2)])
        assert db.state_bytes > before
        db.execute("DROP VIEW x; DROP VIEW z; DROP VIEW y")
        assert set(db._arena._entries) == names
        assert db.state_bytes == before
    size = db._arena.size
    for name in "xyz":
        db.execute(f"CREATE MATERIALIZED VIEW {name} AS {COUNTS}; DROP VIEW {name}")
    assert db._arena.size == size


def test_a_dropped_view_can_come_again() -> None:
    db = connected(COUNTS)
    db.push("s", [(1, "ann", 1)])
    db.execute("DROP VIEW a")
    db.push("s", [(2, "bob", 1)])
    db.execute(f"CREATE MATERIALIZED VIEW a AS {COUNTS}")
    db.push("s", [(3, "cid", 1)])
    assert db.view("a").to_pylist() == [{"k": "cid", "n": 1}]
    assert db.complete_since("a") == datetime(1970, 1, 1, 0, 0, 11, 1)


def test_a_later_view_of_a_table_finds_its_rows() -> None:
    db = connected()
    db.execute("CREATE TABLE t (k STRING, v INT); CREATE TABLE u (k STRING); CREATE MATERIALIZED VIEW a AS SELECT SUM(v) AS v FROM t")
    db.push("t", [("ann", 1), ("bob", 2)])
    db.push("u", [("ann",), ("ann",)])
    db.push("s", [(1, "ann", 1)])
    db.execute("CREATE MATERIALIZED VIEW b AS SELECT SUM(v) AS v FROM t")
    db.execute("CREATE MATERIALIZED VIEW c AS SELECT t.v FROM t JOIN u ON t.k = u.k")
    db.push("t", [("cid", 4)])
    assert db.view("a").to_pylist() == db.view("b").to_pylist() == [{"v": 7}]
    assert db.view("c").to_pylist() == [{"v": 1}, {"v": 1}]
    db.execute("DELETE FROM t WHERE k = 'ann'")
    assert db.view("b").to_pylist() == [{"v": 6}]
    assert len(db.view("c")) == 0


def test_a_view_over_a_view_and_its_replacement() -> None:
    db = connected(COUNTS)
    db.push("s", [(1, "ann", 1), (2, "ann", 1), (3, "bob", 1), (3, "bob", 1)])
    db.execute("CREATE MATERIALIZED VIEW b AS SELECT n, COUNT(*) AS ks FROM a GROUP BY n")
    assert db.view("b").to_pylist() == [{"n": 2, "ks": 2}]
    db.execute("CREATE OR REPLACE MATERIALIZED VIEW b AS SELECT MAX(n) AS n FROM a")
    db.push("s", [(4, "bob", 1)])
    assert db.view("b").to_pylist() == [{"n": 3}]
    with pytest.raises(SashError, match='view "a" is read by: b'):
        db.execute("DROP VIEW a")


def test_a_view_that_cannot_run_changes_nothing() -> None:
    db = connected(COUNTS)
    db.push("s", [(1, "ann", 1)])
    with pytest.raises(SashError):
        db.execute("CREATE MATERIALIZED VIEW b AS SELECT nothing FROM s")
    assert list(db.materialized()) == ["a"]
    assert len(db.execute("SHOW QUERIES")) == 1


def test_jumps_by_rows_stay_in_step() -> None:
    """The rows before those in memory are not a multiple of the slide."""
    db, reference = connected("SELECT k FROM s [ROWS 3]"), connected("SELECT k FROM s [ROWS 4 SLIDE 2]")
    rows = [(second, f"k{second}", 1) for second in range(1, 40)]
    for run in (db, reference):
        for row in rows[:25]:
            run.push("s", [row])
    db.execute("CREATE MATERIALIZED VIEW b AS SELECT k FROM s [ROWS 4 SLIDE 2]")
    for run in (db, reference):
        run.push("s", rows[25:])
        run.end()
    assert changes(db, "b")[-8:] == changes(reference, "a")[-8:]


def test_after_the_end_the_answer_is_that_at_the_last_row() -> None:
    db = connected("SELECT k FROM s [NOW]")
    db.push("s", [(1, "ann", 1), (2, "bob", 1)])
    db.end()
    assert db.view("a").to_pylist() == [{"k": "bob"}]
    db.execute("CREATE MATERIALIZED VIEW b AS SELECT k AS other FROM s [NOW]")
    assert db.view("b").to_pylist() == [{"other": "bob"}]


def test_without_backfill_nothing_is_remembered() -> None:
    db = sash.connect(backfill=False)
    db.execute(STREAM + f"CREATE MATERIALIZED VIEW a AS {COUNTS}")
    db.push("s", [(1, "ann", 1), (2, "bob", 1)])
    assert not [name for name in db._arena._entries if "history" in name]
    db.execute(f"CREATE MATERIALIZED VIEW b AS {COUNTS} HAVING COUNT(*) > 0")
    db.push("s", [(3, "ann", 1)])
    db.end()
    assert changes(db, "b") == ["+ bob 1 @2", "+ ann 1 @3"]
    assert changes(db, "a")[-2:] == ["- ann 1 @3", "+ ann 2 @3"]


def rows_of(db: sash.Database, view: str) -> list[str]:
    return sorted(map(str, db.view(view).to_pylist()))


ROWS = [(second, "ab"[second % 2], second) for second in range(1, 9)]


def test_a_later_view_may_be_a_part_of_a_running_one() -> None:
    db, whole = connected(f"SELECT n, COUNT(*) AS groups FROM ({COUNTS}) GROUP BY n"), connected(COUNTS)
    for one in (db, whole):
        one.push("s", ROWS)
    db.execute(f"CREATE MATERIALIZED VIEW part AS {COUNTS}")
    assert rows_of(db, "part") == rows_of(whole, "a") != []


def test_what_takes_the_place_of_a_view_does_not_read_operators_that_know_more() -> None:
    """The counts of all rows cannot be made again, so the new view counts those that come."""
    counts = "SELECT k, COUNT(*) AS n FROM s GROUP BY k"
    db = connected(counts)
    db.push("s", ROWS)
    db.execute(f"CREATE OR REPLACE MATERIALIZED VIEW a AS SELECT n, COUNT(*) AS groups FROM ({counts}) GROUP BY n")
    db.push("s", [(9, "a", 1), (10, "b", 1), (11, "b", 1)])
    assert all(row["groups"] > 0 for row in db.view("a").to_pylist()) and db.complete_since("a") is None


def test_a_view_takes_the_place_of_another_and_the_query_of_a_third() -> None:
    db = connected(COUNTS, "SELECT MAX(v) AS m FROM s [RANGE 9 SECONDS]")
    db.push("s", ROWS[:4])
    db.execute("CREATE OR REPLACE MATERIALIZED VIEW a AS SELECT MAX(v) AS m FROM s [RANGE 9 SECONDS]")
    db.push("s", ROWS[4:])
    assert rows_of(db, "a") == rows_of(db, "b") == ["{'m': 8}"]
    db.execute("CREATE OR REPLACE MATERIALIZED VIEW A AS SELECT MAX(v) AS m FROM s [RANGE 9 SECONDS]")
    assert rows_of(db, "a") == ["{'m': 8}"]


def test_columns_that_one_view_names_are_not_those_of_the_next() -> None:
    db = connected()
    db.execute(f"CREATE MATERIALIZED VIEW named (x, y) AS {COUNTS}")
    db.execute(f"CREATE MATERIALIZED VIEW plain AS {COUNTS}")
    db.push("s", ROWS)
    assert db.view("plain").to_arrow().column_names == ["k", "n"]


def test_a_view_shows_every_change_of_a_table_at_once() -> None:
    db = connected()
    db.execute("CREATE TABLE t (k STRING, name STRING); INSERT INTO t VALUES ('a', 'Ann'), ('b', 'Bob')")
    db.execute("CREATE MATERIALIZED VIEW j AS SELECT t.name FROM s [RANGE 9 SECONDS] s JOIN t ON s.k = t.k")
    db.push("s", ROWS[:2])
    db.execute("DELETE FROM t WHERE k = 'a'")
    assert rows_of(db, "j") == ["{'name': 'Bob'}"]
    db.execute("DELETE FROM t WHERE k = 'b'")
    assert rows_of(db, "j") == []
    db.execute("INSERT INTO t VALUES ('b', 'Bea')")
    assert rows_of(db, "j") == ["{'name': 'Bea'}"]


def test_rows_that_came_while_nobody_read_their_stream_are_told_of() -> None:
    """As on Spark, where a DataFrame goes on when its last view is dropped."""
    db = connected(COUNTS)
    job = db.planned(1)
    shard = Shard(replace(job, remembers=True), 1, 0, Arena.anonymous())
    shard.change(replace(job.without_view("a"), remembers=True))
    shard.step([Packet(1, 0, Cargo.SPLIT, "s", -1, 0, facts_body({"rows": 2, "first": 4, "greatest": 7}))])
    shard.change(replace(job, remembers=True))
    assert shard.complete_since(job.views[0].spec) == 7 + 1 + 9 * SECOND


@pytest.mark.parametrize("has_stream", [False, True])
def test_a_view_that_is_a_table_begins_with_its_rows(has_stream: bool) -> None:
    """A bare table, filled before anybody read it, is what the same table through an operator is, at every step."""
    seen = []
    for columns in ("code, rate", "code, rate + 0 AS rate"):
        with sash.connect(history="all") as db:
            db.execute("CREATE STREAM s (ts TIMESTAMP, code STRING) TIMESTAMP BY ts; CREATE TABLE rates (code STRING, rate DOUBLE)")
            db.execute("INSERT INTO rates VALUES ('a', 1.5), ('a', 1.5), ('b', 2)")
            if has_stream:
                db.push("s", [("2026-01-01 00:00:00", "a")])
            db.execute(f"CREATE MATERIALIZED VIEW v AS SELECT {columns} FROM rates; CREATE MATERIALIZED VIEW w AS SELECT code FROM s [ROWS 2]")
            shown = []
            for statement in ("", "INSERT INTO rates VALUES ('c', 9)", "DELETE FROM rates WHERE code = 'b'", "ADVANCE TO '2026-01-01 00:01:00'", "DELETE FROM rates"):
                if statement:
                    db.execute(statement)
                shown.append([sorted(map(str, rows.to_pylist())) for rows in (db.view("v").to_arrow(), db.final("v").to_arrow(), db.changes("v"))])
            seen.append(shown)
    assert seen[0] == seen[1] and len(seen[0][0][0]) == 3 and not seen[0][-1][0]
