"""Answers in the order that a query asks for, and as people and other tools read them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import duckdb
import pandas
import polars
import pyarrow as pa
import pytest

from sash.database.answer import Answer
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
    db = EmbeddedDatabase()
    db.execute("CREATE STREAM s (v INT); CREATE MATERIALIZED VIEW v AS SELECT ARRAY(v) AS c FROM s ORDER BY c DESC LIMIT 9")
    db.push("s", [{"v": 1}, {"v": 2}])
    assert sorted(db.view("v").to_arrow()["c"].to_pylist()) == [[1], [2]]


def answer(table: pa.Table, **options: Any) -> Answer:
    return Answer("v", table, datetime(2024, 1, 1, 12), is_final=False, **options)


TABLE = pa.table({"k": ["ann", None, ""], "n": pa.array([1, None, 1000], pa.int64()), "x": [0.1 + 0.2, float("nan"), None]})


def test_an_answer_is_read_in_many_ways() -> None:
    shown = answer(TABLE)
    assert (len(shown), shown.columns, shown.schema) == (3, ["k", "n", "x"], TABLE.schema)
    assert shown.to_arrow() is TABLE and shown.to_pylist()[:1] == list(shown)[:1] == [{"k": "ann", "n": 1, "x": 0.1 + 0.2}]
    assert shown.to_pandas()["n"].sum() == 1001


def test_whatever_reads_arrow_reads_an_answer() -> None:
    shown = answer(TABLE)
    assert pa.table(shown).select(["k", "n"]).equals(TABLE.select(["k", "n"]))
    assert pa.RecordBatchReader.from_stream(shown).read_all().schema == TABLE.schema
    assert pa.table(shown, schema=TABLE.schema).num_rows == 3
    assert duckdb.sql("SELECT k, n FROM shown WHERE n = 1").fetchall() == [("ann", 1)]
    assert polars.DataFrame(shown)["n"].to_list() == [1, None, 1000]
    assert pandas.DataFrame.equals(shown.to_pandas(), TABLE.to_pandas())


def test_an_answer_shows_itself_as_aligned_text() -> None:
    assert repr(answer(TABLE)) == "\n".join(
        [
            "v: 3 rows at 2024-01-01 12:00:00, not final",
            "k        n                    x",
            "────  ────  ───────────────────",
            "ann      1  0.30000000000000004",
            "NULL  NULL                  nan",
            "''    1000                 NULL",
        ]
    )
    empty = Answer("v", TABLE.slice(0, 0), None, is_final=True)
    assert repr(empty).splitlines() == ["v: 0 rows before the first row, final", "k  n  x", "─  ─  ─"]
    assert repr(answer(TABLE.slice(0, 1))).startswith("v: 1 row at")


def test_long_and_wide_answers_are_cut_and_say_so() -> None:
    long = repr(answer(pa.table({"n": range(1234), "text": ["x" * 99] * 1234}))).splitlines()
    assert long[-1] == "… 1,214 more rows" and len(long) == 3 + 20 + 1
    assert long[3] == f"0  {'x' * 39}…".rjust(len(long[3]))
    wide = repr(answer(pa.table({f"column {n}": [n] for n in range(50)}))).splitlines()
    assert all(len(line) <= 120 for line in wide) and wide[-1].startswith("… 39 more columns: column 11, column 12, ")


def test_characters_that_take_two_places_are_aligned() -> None:
    lines = repr(answer(pa.table({"k": ["日本", "e\u0301a"], "n": [1, 2]}))).splitlines()
    assert lines[2:] == ["────  ─", "日本  1", "e\u0301a    2"]


HOSTILE = "<script>alert(1)</script>&\"'\x1b[2J\n\u202e"


def test_nothing_of_the_data_is_obeyed() -> None:
    shown = Answer(HOSTILE, pa.table({HOSTILE: [HOSTILE, None, "NULL", " "]}), None, is_final=False)
    text, html = repr(shown), shown._repr_html_()
    assert "\x1b" not in text + html and "\u202e" not in text + html and len(text.splitlines()) == 3 + 4
    assert "<script" not in html and "&lt;script&gt;" in html and html.count("<em>NULL</em>") == 1
    assert "'NULL'" in text and "' '" in text


def test_an_answer_in_html_is_a_table() -> None:
    html = answer(pa.table({"n": range(30), "k": ["a"] * 30}))._repr_html_()
    assert html.startswith("<p>v: 30 rows at 2024-01-01 12:00:00, not final</p><table>") and html.count("<tr>") == 21
    assert '<td style="text-align: right">7</td><td>a</td>' in html and html.endswith("<p>… 10 more rows</p>")
