"""Views that are created while rows come: each begins with its creation, and owes nothing to what was before."""

from __future__ import annotations

import sash
from sash.testing import from_arrow, show

STREAM = "CREATE STREAM s (ts TIMESTAMP, k STRING) TIMESTAMP BY ts;"


def changes(db: object, view: str) -> list[str]:
    db.end()
    return show(from_arrow(db.changes(view))).splitlines()


def test_a_later_view_does_not_see_rows_leave_that_it_never_saw() -> None:
    db = sash.connect()
    db.execute(f"{STREAM} CREATE MATERIALIZED VIEW w AS SELECT k FROM s [ROWS 2]")
    db.push("s", [(1, "ann"), (2, "bob")])
    db.execute("CREATE MATERIALIZED VIEW v AS SELECT k FROM s [ROWS 2] WHERE k <> 'x'")
    db.push("s", [(3, "cid")])
    assert changes(db, "v") == ["+ cid @3"]
    assert changes(db, "w") == ["+ ann @1", "+ bob @2", "- ann @3", "+ cid @3"]


def test_a_later_total_does_not_begin_in_the_past() -> None:
    db = sash.connect()
    db.execute(STREAM + "CREATE MATERIALIZED VIEW a AS SELECT COUNT(*) AS n FROM s [RANGE 9 SECONDS]")
    db.push("s", [(1, "ann")])
    db.execute("CREATE MATERIALIZED VIEW b AS SELECT COUNT(*) AS n FROM s [RANGE 9 SECONDS]")
    db.push("s", [(5, "bob")])
    assert changes(db, "b") == ["+ 1 @5"]
    assert changes(db, "a") == ["+ 1 @1", "- 1 @5", "+ 2 @5"]


def test_views_of_one_moment_share_their_operators() -> None:
    db = sash.connect()
    db.execute(STREAM)
    for name in "abc":
        db.execute(f"CREATE MATERIALIZED VIEW {name} AS SELECT k, COUNT(*) AS n FROM s [RANGE 9 SECONDS] GROUP BY k")
    assert len({view.spec for view in db.job().views}) == 1


def test_a_later_view_of_a_table_finds_its_rows() -> None:
    db = sash.connect()
    db.execute(STREAM + "CREATE TABLE t (k STRING, v INT); CREATE MATERIALIZED VIEW a AS SELECT SUM(v) AS v FROM t")
    db.push("t", [("ann", 1), ("bob", 2)])
    db.push("s", [(1, "ann")])
    db.execute("CREATE MATERIALIZED VIEW b AS SELECT SUM(v) AS v FROM t")
    db.push("t", [("cid", 4)])
    assert db.view("a").to_pylist() == db.view("b").to_pylist() == [{"v": 7}]


def test_after_the_end_the_answer_is_that_at_the_last_row() -> None:
    db = sash.connect()
    db.execute(STREAM + "CREATE MATERIALIZED VIEW n AS SELECT k FROM s [NOW]")
    db.push("s", [(1, "ann"), (2, "bob")])
    db.end()
    assert db.view("n").to_pylist() == [{"k": "bob"}]
