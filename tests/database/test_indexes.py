"""CREATE INDEX, DROP INDEX, SHOW INDEXES, and what EXPLAIN says of a question."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

import sash
from sash.database.database import Database
from sash.stores.bag import AnswerBag

JOB = """
    CREATE STREAM conn (ts TIMESTAMP, src STRING, bytes BIGINT, tags ARRAY<STRING>) TIMESTAMP BY ts;
    CREATE TABLE names (src STRING, name STRING);
    CREATE MATERIALIZED VIEW recent AS SELECT src, bytes, tags FROM conn [RANGE 1 MINUTE];
    CREATE VIEW text AS SELECT src FROM recent;
"""


@pytest.fixture
def db() -> Iterator[Database]:
    with sash.connect() as db:
        db.execute(JOB)
        rows = [(f"2026-01-01 12:00:{second:02}", f"10.0.0.{second % 4}", 10 * second, []) for second in range(20)]
        db.push("conn", rows)
        yield db


def found(db: Database, sql: str) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in db.query(sql)]


def how(db: Database, sql: str) -> str:
    return str(db.explain(sql)).splitlines()[-1]


def indexes(db: Database) -> list[tuple[object, ...]]:
    shown = db.execute("SHOW INDEXES")
    assert shown is not None
    return [tuple(row.values()) for row in shown]


@pytest.fixture
def no_look_at_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(bag: AnswerBag) -> None:
        raise AssertionError("all rows are read")

    monkeypatch.setattr(AnswerBag, "rows", refuse)


@pytest.mark.usefixtures("no_look_at_all_rows")
def test_the_rest_of_the_answer_is_not_touched(db: Database) -> None:
    db.execute("CREATE INDEX by_src ON recent (src); CREATE INDEX by_bytes ON recent (bytes) USING TREE")
    assert found(db, "SELECT bytes FROM recent WHERE src = '10.0.0.3'") == [(30,), (70,), (110,), (150,), (190,)]
    assert found(db, "SELECT bytes FROM recent WHERE src IN ('10.0.0.3', '7') AND bytes > 100") == [(110,), (150,), (190,)]
    assert found(db, "SELECT src FROM recent WHERE bytes BETWEEN 40 AND 55") == [("10.0.0.0",), ("10.0.0.1",)]
    assert found(db, "SELECT bytes FROM recent ORDER BY bytes DESC LIMIT 2 OFFSET 1") == [(180,), (170,)]
    with pytest.raises(AssertionError, match="all rows are read"):
        db.query("SELECT bytes FROM recent WHERE bytes + 0 = 10")


def test_explain_says_how_rows_are_found(db: Database) -> None:
    assert how(db, "SELECT * FROM recent WHERE src = 'a'") == "all rows of recent: it has no index"
    db.execute("CREATE INDEX by_src ON recent (src)")
    assert how(db, "SELECT * FROM recent WHERE src = 'a'") == "index by_src of recent, HASH (src): src = one value"
    assert how(db, "SELECT * FROM recent WHERE bytes = 7") == "all rows of recent: no index of it serves"
    db.execute("CREATE INDEX both ON recent (src, bytes) USING TREE")
    assert how(db, "SELECT * FROM recent WHERE src IN ('a', 'b')") == "index by_src of recent, HASH (src): src = 2 values"
    text = how(db, "SELECT * FROM recent WHERE src = 'a' AND bytes > 7")
    assert text == "index by_src of recent, HASH (src): src = one value; if that finds many rows, perhaps index both of recent, TREE (src, bytes): src = one value, bytes in a range"
    text = how(db, "SELECT * FROM recent WHERE src = 'a' ORDER BY bytes DESC LIMIT 10")
    assert text.startswith("index by_src of recent, HASH") and text.endswith("TREE (src, bytes): src = one value, the first 10 of its order")
    shown = db.execute("EXPLAIN SELECT * FROM recent WHERE src = 'a'")
    assert shown is not None and shown.to_pylist()[-2:] == [
        {"plan": "asked now"}, {"plan": "index by_src of recent, HASH (src): src = one value"},
    ]  # fmt: skip


def test_explain_of_what_is_not_asked_of_one_view_says_nothing_of_indexes(db: Database) -> None:
    for query in ("SELECT * FROM conn [ROWS 1]", "SELECT COUNT(*) AS n FROM recent", "SELECT src FROM recent EMIT EVERY 1 SECOND"):
        assert "asked now" not in str(db.explain(query))


def test_indexes_are_shown_and_dropped(db: Database) -> None:
    db.execute("CREATE INDEX a ON recent (SRC); CREATE INDEX IF NOT EXISTS a ON recent (bytes); CREATE INDEX b ON recent (bytes, src) USING TREE")
    assert indexes(db) == [("a", "recent", "src", "HASH", False), ("b", "recent", "bytes, src", "TREE", False)]
    db.execute("DROP INDEX A; DROP INDEX IF EXISTS a")
    assert indexes(db) == [("b", "recent", "bytes, src", "TREE", False)]
    assert how(db, "SELECT * FROM recent WHERE src = 'a'") == "all rows of recent: no index of it serves"
    assert len(db.query("SELECT * FROM recent WHERE src = '10.0.0.1'")) == 5


def test_a_view_that_goes_takes_its_indexes_along(db: Database) -> None:
    db.execute("CREATE MATERIALIZED VIEW twin AS SELECT src, bytes, tags FROM conn [RANGE 1 MINUTE]")
    db.execute("CREATE INDEX a ON recent (src); CREATE INDEX b ON twin (src); CREATE INDEX c ON twin (bytes) USING TREE")
    db.execute("DROP VIEW twin")
    assert indexes(db) == [("a", "recent", "src", "HASH", False)]
    assert len(db.query("SELECT * FROM recent WHERE src = '10.0.0.1'")) == 5
    db.execute("DROP VIEW text; DROP VIEW recent; CREATE MATERIALIZED VIEW recent AS SELECT src FROM conn [ROWS 3]")
    assert indexes(db) == []
    assert how(db, "SELECT * FROM recent WHERE src = 'a'") == "all rows of recent: it has no index"


def test_state_is_as_before_when_indexes_have_gone(db: Database) -> None:
    db.query("SELECT * FROM recent")
    before = db.state_bytes
    db.execute("CREATE INDEX a ON recent (src); CREATE INDEX b ON recent (bytes) USING TREE")
    assert db.state_bytes > before
    db.execute("DROP INDEX a; DROP INDEX b")
    assert db.state_bytes == before


def test_a_view_that_is_replaced_keeps_indexes_whose_columns_it_has(db: Database) -> None:
    db.execute("DROP VIEW text; CREATE INDEX a ON recent (src)")
    db.execute("CREATE OR REPLACE MATERIALIZED VIEW recent AS SELECT bytes, src FROM conn [RANGE 10 SECONDS]")
    assert how(db, "SELECT * FROM recent WHERE src = 'a'") == "index a of recent, HASH (src): src = one value"
    db.push("conn", [("2026-01-01 12:00:19", "10.0.0.1", 5, [])])
    assert found(db, "SELECT bytes FROM recent WHERE src = '10.0.0.1'") == [(5,), (130,), (170,)]
    for query in ("SELECT bytes FROM conn [ROWS 1]", "SELECT tags AS src FROM conn [ROWS 1]"):
        with pytest.raises(sash.SashError, match='index "a" needs a materialized view "recent" with: src; drop the index first'):
            db.execute(f"CREATE OR REPLACE MATERIALIZED VIEW recent AS {query}")
    with pytest.raises(sash.SashError, match='index "a" needs a materialized view'):
        db.execute("CREATE OR REPLACE VIEW recent AS SELECT src FROM conn [ROWS 1]")
    assert indexes(db) == [("a", "recent", "src", "HASH", False)]


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("CREATE INDEX a ON recent (bytes)", 'there is an index "a" already, on "recent"; drop it first'),
        (
            "CREATE INDEX b ON nothing (src)",
            'unknown view or stream "nothing"; an index is of a window of a stream, or of a materialized view: recent',
        ),
        ("CREATE INDEX b ON names (src)", '"names" is a table, not a view'),
        (
            "CREATE INDEX b ON conn (src)",
            '"conn" is a stream, and an index is of a window of it; write the window that is to be kept: CREATE INDEX … ON conn [RANGE',
        ),
        ("CREATE INDEX b ON nothing [ROWS 3] (src)", 'unknown stream "nothing"; an index of a window is of a stream: conn'),
        ("CREATE INDEX b ON names [ROWS 3] (src)", '"names" is a table, and only a stream has windows with indexes'),
        ("CREATE INDEX b ON recent [ROWS 3] (src)", '"recent" is a view, and only a stream has windows with indexes; leave the'),
        ("CREATE INDEX b ON conn [ROWS 3] (dst)", 'unknown column "dst" in "conn [ROWS 3]"; columns are: ts, src, bytes, tags'),
        ("CREATE INDEX b ON conn [ROWS 3] (tags)", 'column "tags" is an array, which has no index'),
        ("CREATE INDEX b ON conn [ROWS 0] (src)", "a number of rows must be a whole number above zero"),
        ("CREATE INDEX b ON conn [PARTITION BY dst ROWS 1] (src)", 'unknown column "dst" in stream "conn"'),
        ("CREATE INDEX b ON conn [UNBOUNDED] (src)", "a window without an end holds ever more rows; write one that rows leave"),
        ("CREATE INDEX b ON conn [SOME TIME] (src)", "this is not a window; windows are: [RANGE 5 MINUTES]"),
        ("CREATE INDEX b ON conn [ROWS 3] (bytes) USING GROUP(0)", "GROUP counts 1 to 100,000 ranges; write USING GROUP(100)"),
        ("CREATE INDEX b ON conn [ROWS 3] (bytes) USING GROUP", "expected ("),
        ("CREATE INDEX b ON conn [ROWS 3] (src) USING GROUP(9)", 'GROUP counts ranges of numbers, and "src" is STRING'),
        ("CREATE INDEX b ON conn [ROWS 3] (bytes, src) USING GROUP(9)", "GROUP counts ranges of one column"),
        ("CREATE INDEX a ON conn [ROWS 3] (src)", 'there is an index "a" already, on "recent"; drop it first'),
        ("CREATE INDEX b ON text (src)", 'view "text" is not kept, so it has no rows; create it with CREATE MATERIALIZED VIEW'),
        ("CREATE INDEX b ON recent (dst)", 'unknown column "dst" in view "recent"; columns are: src, bytes, tags'),
        ("CREATE INDEX b ON recent (src, SRC)", 'column "src" is named twice'),
        ("CREATE INDEX b ON recent (tags)", 'column "tags" is an array, which has no index'),
        ("CREATE INDEX b ON recent", "expected columns in parentheses"),
        ("CREATE INDEX b ON recent (src) USING BRIN", 'expected HASH, TREE, LIST or GROUP, found "BRIN"'),
        ("DROP INDEX b", 'there is no index "b"; indexes are: a'),
    ],
)
def test_what_is_wrong_is_said(db: Database, statement: str, error: str) -> None:
    db.execute("CREATE INDEX a ON recent (src)")
    with pytest.raises(sash.SashError) as caught:
        db.execute(statement)
    assert error in str(caught.value)
    assert [name for name, *_ in indexes(db)] == ["a"]


def test_a_window_is_whole_at_every_instant_while_another_thread_writes() -> None:
    """Every instant brings as much as it takes from a key, so whatever a question finds adds up to nothing."""
    with sash.connect() as db:
        db.execute("CREATE STREAM s (ts TIMESTAMP, k BIGINT, v BIGINT) TIMESTAMP BY ts DELAY 1 SECOND")
        db.execute("CREATE INDEX by_k ON s [RANGE 20 SECONDS] (k); CREATE INDEX by_v ON s [RANGE 20 SECONDS] (v) USING TREE")
        is_over = threading.Event()

        def write() -> None:
            for second in range(300):
                db.push("s", [(second, k, sign * (second + k)) for k in range(5) for sign in (1, -1)])
            is_over.set()

        writer = threading.Thread(target=write)
        writer.start()
        asked, met = db.prepare("SELECT v FROM s [RANGE 20 SECONDS] WHERE k = ?"), 0
        while not is_over.is_set():
            values = [row["v"] for row in asked.query(met % 5)]
            ends = [found(db, f"SELECT v FROM s [RANGE 20 SECONDS] ORDER BY v {way} LIMIT 1") for way in ("", "DESC")]
            assert sum(values) == 0 and len(values) <= 40 and all(len(rows) <= 1 for rows in ends)
            met += 1
        writer.join()
        expected = sorted(sign * (second + 4) for second in range(280, 300) for sign in (1, -1))
        assert met > 0 and [row["v"] for row in asked.query(4)] == expected
