"""SELECT on what runs, in this process."""

from __future__ import annotations

import pytest

import sash
from sash.database.database import Database

JOB = """
    CREATE STREAM conn (ts TIMESTAMP, src STRING, bytes BIGINT) TIMESTAMP BY ts DELAY 10 SECONDS;
    CREATE STREAM other (ts TIMESTAMP, src STRING) TIMESTAMP BY ts;
    CREATE TABLE names (src STRING, name STRING) NON RETROACTIVE;
    CREATE MATERIALIZED VIEW volume AS SELECT src, SUM(bytes) AS bytes FROM conn [RANGE 1 MINUTE] GROUP BY src;
    CREATE MATERIALIZED VIEW met AS SELECT src, COUNT(*) AS n FROM other [RANGE 1 MINUTE] GROUP BY src;
    CREATE VIEW large AS SELECT src, bytes * 2 AS twice FROM volume WHERE bytes > 5;
    INSERT INTO names VALUES ('ann', 'Anna'), ('bob', 'Robert');
"""


@pytest.fixture
def db() -> Database:
    db = sash.connect()
    db.execute(JOB)
    db.push("conn", [("2024-01-01 12:00:00", "ann", 10), ("2024-01-01 12:00:30", None, 5), ("2024-01-01 12:00:30", "bob", 50)])
    return db


def rows(db: Database, sql: str) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in db.query(sql)]


def test_a_view_has_its_rows_and_their_instant(db: Database) -> None:
    answer = db.query("SELECT * FROM volume")
    assert answer.to_arrow() == db.view("volume").to_arrow()
    assert (str(answer.as_of), answer.is_final) == ("2024-01-01 12:00:30", False)


def test_order_by_without_limit_orders_the_answer_by_what_is_not_shown_too(db: Database) -> None:
    assert rows(db, "SELECT src FROM volume ORDER BY bytes DESC") == [("bob",), ("ann",), (None,)]
    assert rows(db, "SELECT src FROM volume ORDER BY bytes OFFSET 1") == [("ann",), ("bob",)]
    assert rows(db, "(SELECT src FROM volume) ORDER BY src NULLS LAST") == [("ann",), ("bob",), (None,)]
    assert rows(db, "SELECT bytes FROM volume UNION ALL SELECT 7 ORDER BY 1") == [(5,), (7,), (10,), (50,)]


def test_a_plain_view_is_text(db: Database) -> None:
    assert rows(db, "SELECT * FROM large") == [("ann", 20), ("bob", 100)]


def test_tables_and_views_are_joined(db: Database) -> None:
    assert rows(db, "SELECT name, bytes FROM volume v JOIN names n ON v.src = n.src ORDER BY 2 DESC LIMIT 1") == [("Robert", 50)]
    assert rows(db, "SELECT * FROM names WHERE src = 'ann'") == [("ann", "Anna")]


def test_views_of_different_streams_are_read_at_one_instant(db: Database) -> None:
    db.push("other", [("2024-01-01 12:01:10", "bob")])
    answer = db.query("SELECT v.src, bytes, n FROM volume v LEFT JOIN met m ON v.src = m.src")
    assert [tuple(row.values()) for row in answer] == [("bob", 50, 1), (None, 5, None)]  # of ann nothing is left by then
    assert (str(answer.as_of), answer.is_final) == ("2024-01-01 12:01:10", False)
    db.advance("12:01:30")
    assert db.query("SELECT bytes, n FROM volume, met").is_final is False  # the next instant is not over
    assert [row["n"] for row in db.query("SELECT COUNT(*) AS n FROM volume")] == [0]


def test_before_the_first_row_there_is_nothing() -> None:
    db = sash.connect()
    db.execute(JOB)
    assert (rows(db, "SELECT COUNT(*) AS n FROM volume"), db.query("SELECT * FROM volume").as_of) == ([], None)
    assert rows(db, "SELECT COUNT(*) AS n FROM names") == [(2,)]


def test_execute_gives_the_same_answer(db: Database) -> None:
    last = db.execute("SHOW VIEWS; SELECT src FROM volume ORDER BY bytes;")
    assert isinstance(last, sash.Answer)
    assert last.to_pylist() == db.query("SELECT src FROM volume ORDER BY bytes;").to_pylist()


def test_a_text_means_what_is_declared_now(db: Database) -> None:
    asked = "SELECT * FROM large"
    db.query(asked)
    db.execute("CREATE OR REPLACE VIEW large AS SELECT src FROM volume WHERE bytes > 20")
    assert rows(db, asked) == [("bob",)]
    db.execute("DROP VIEW large")
    with pytest.raises(sash.SashError, match='unknown stream, table or view "large"'):
        db.query(asked)


def test_time_is_that_of_the_views(db: Database) -> None:
    assert [str(when) for (when,) in rows(db, "SELECT DATE_TRUNC('minute', NOW()) AS t FROM met, volume")] == []
    found = rows(db, "SELECT DISTINCT DATE_TRUNC('minute', NOW()) AS t FROM volume")
    assert [str(when) for (when,) in found] == ["2024-01-01 12:00:00"]


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT * FROM volume [RANGE 5 MINUTES]", "reads the changes of view"),
        ("SELECT * FROM volume EMIT EVERY 1 MINUTE", "EMIT EVERY says when changes come"),
        ("SHOW VIEWS", "expected one query"),
        ("SELECT src, src FROM volume", "two columns of the answer"),
    ],
)
def test_what_cannot_be_asked(db: Database, sql: str, message: str) -> None:
    with pytest.raises(sash.SashError, match=message):
        db.query(sql)


def test_a_live_window_is_asked_like_the_view_of_the_same_text(db: Database) -> None:
    for window in ("[RANGE 1 MINUTE]", "[RANGE 20 SECONDS]", "[RANGE 1 MINUTE SLIDE 10 SECONDS]", "[NOW]", "[ROWS 1]", ""):
        text = f"SELECT COUNT(*) AS n, SUM(bytes) AS bytes, MAX(src) AS last FROM conn {window}"
        db.execute(f"CREATE OR REPLACE MATERIALIZED VIEW same AS {text}")
        assert db.query(text).to_pylist() == db.view("same").to_pylist(), window
        assert db.query(text).as_of == db.view("same").as_of


def test_windows_views_and_tables_are_asked_at_one_instant(db: Database) -> None:
    db.push("other", [("2024-01-01 12:01:10", "bob")])
    text = "SELECT c.src, c.bytes, n, name FROM conn [RANGE 1 MINUTE] c JOIN met m ON c.src = m.src JOIN names t ON c.src = t.src"
    assert rows(db, text) == [("bob", 50, 1, "Robert")]
    assert rows(db, text.replace("1 MINUTE", "40 SECONDS")) == []
    assert str(db.query(text).as_of) == "2024-01-01 12:01:10"


def test_a_view_is_asked_at_the_instant_of_a_window_that_is_further(db: Database) -> None:
    db.push("other", [("2024-01-01 12:00:00", "bob")])
    db.push("conn", [("2024-01-01 12:01:00", "bob", 7)])
    text = "SELECT c.src, c.bytes, n FROM conn [RANGE 1 MINUTE] c JOIN met m ON c.src = m.src"
    answer = db.query(text)
    assert (str(answer.as_of), answer.to_pylist()) == ("2024-01-01 12:01:00", [])  # what met has at 12:00 is gone by then
    db.execute(f"CREATE MATERIALIZED VIEW same AS {text}")
    assert db.view("same").to_pylist() == []


def test_an_arrival_is_asked_at_its_own_instant_beside_a_stream_that_is_behind() -> None:
    db = sash.connect()
    db.execute("""
        CREATE STREAM here (v INT);
        CREATE STREAM behind (ts TIMESTAMP, v INT) TIMESTAMP BY ts;
        CREATE MATERIALIZED VIEW now AS SELECT v FROM here [NOW];
        CREATE MATERIALIZED VIEW seen AS SELECT v FROM behind [RANGE 1 MINUTE];
        CREATE MATERIALIZED VIEW both AS SELECT v FROM now EXCEPT SELECT v FROM seen;
    """)
    db.push("here", [(1,)])
    text = "SELECT v FROM now EXCEPT SELECT v FROM seen"
    for question in (text, text.replace("now", "here [NOW]")):
        answer, view = db.query(question), db.view("both")
        assert (answer.to_pylist(), answer.as_of, answer.is_final) == (view.to_pylist(), view.as_of, view.is_final) == ([{"v": 1}], view.as_of, False)


def test_what_is_final_in_a_view_is_not_taken_back_for_another(db: Database) -> None:
    db.push("other", [("2024-01-01 12:00:20", "bob")])
    db.advance("12:02:00", "other")
    answer = db.query("SELECT v.src, n FROM volume v, met m")
    assert (str(answer.as_of), answer.to_pylist()) == ("2024-01-01 12:01:59.999999", [])


def test_rows_that_are_forgotten_are_no_answer(db: Database) -> None:
    db.push("conn", [("2024-01-01 12:03:00", "cid", 1)])
    assert len(db.query("SELECT src FROM conn")) == 4  # stream "other" may still be early, so nothing is forgotten
    db.push("other", [("2024-01-01 12:03:00", "bob")])
    assert rows(db, "SELECT src FROM conn [RANGE 1 MINUTE]") == [("cid",)]
    for text in ("SELECT src FROM conn [RANGE 1 HOUR]", "SELECT src FROM conn", "SELECT src FROM conn [ROWS 3]"):
        with pytest.raises(sash.SashError, match=r'of stream "conn" this needs .* create a materialized view'):
            db.query(text)


def test_a_stream_that_no_view_reads_has_no_rows_here() -> None:
    db = sash.connect()
    db.execute("CREATE STREAM s (ts TIMESTAMP, v INT) TIMESTAMP BY ts")
    assert rows(db, "SELECT * FROM s [RANGE 1 MINUTE]") == []
    db.push("s", [("2024-01-01 12:00:00", 1)])
    with pytest.raises(sash.SashError, match='of stream "s" this needs'):
        db.query("SELECT * FROM s [RANGE 1 MINUTE]")
