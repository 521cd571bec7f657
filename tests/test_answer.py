"""Answers in the order that a query asks for."""

from __future__ import annotations

import pytest

import sash
from sash.database.embedded import EmbeddedDatabase

ROWS = [(1, "a", 3.0), (2, "b", 9.0), (3, "c", None), (4, "d", float("nan")), (5, "e", 9.0), (6, None, -1.0)]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("SELECT k, v FROM s ORDER BY v DESC LIMIT 9", ["d", "b", "e", "a", None, "c"]),
        ("SELECT k, v FROM s ORDER BY v DESC NULLS FIRST LIMIT 9", ["c", "d", "b", "e", "a", None]),
        ("SELECT k, v FROM s ORDER BY v LIMIT 9", ["c", None, "a", "b", "e", "d"]),
        ("SELECT k, v FROM s ORDER BY v NULLS LAST, k DESC LIMIT 3", [None, "a", "e"]),
        ("SELECT v, k FROM s ORDER BY k DESC NULLS LAST LIMIT 2 OFFSET 1", ["d", "c"]),
        ("SELECT k FROM (SELECT k, v FROM s ORDER BY k DESC NULLS LAST LIMIT 3) ORDER BY k LIMIT 2", ["c", "d"]),
    ],
)
def test_first_rows_come_in_their_order(query: str, names: list[str | None]) -> None:
    db = EmbeddedDatabase()
    db.execute("CREATE STREAM s (ts TIMESTAMP, k STRING, v DOUBLE) TIMESTAMP BY ts; CREATE MATERIALIZED VIEW t AS " + query)
    db.push("s", ROWS)
    assert [row["k"] for row in db.view("t").to_pylist()] == names
    db.advance(10_000_000)
    assert [row["k"] for row in db.final("t")] == names


def test_rows_of_arrays_alone_are_shown_as_they_are() -> None:
    db = sash.connect()
    db.execute("CREATE STREAM s (v INT); CREATE MATERIALIZED VIEW v AS SELECT ARRAY(v) AS c FROM s ORDER BY c DESC LIMIT 9")
    db.push("s", [{"v": 1}, {"v": 2}])
    assert sorted(db.view("v").to_arrow()["c"].to_pylist()) == [[1], [2]]
