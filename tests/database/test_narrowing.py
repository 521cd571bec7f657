"""Questions that are planned read of views only the rows that conditions and figures need, by indexes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import sash
from sash.database.database import Database

ROWS = 3_000
JOB = """
    CREATE STREAM s (ts TIMESTAMP, k BIGINT, g STRING, v DOUBLE) TIMESTAMP BY ts;
    CREATE TABLE t (k BIGINT, name STRING);
    CREATE TABLE `sums 0` (k BIGINT);
    CREATE MATERIALIZED VIEW sums AS SELECT k, SUM(v) AS v FROM s [RANGE 1 HOUR] GROUP BY k;
"""
INDEXES = """
    CREATE INDEX by_k ON s [RANGE 1 HOUR] (k);
    CREATE INDEX by_v ON s [RANGE 1 HOUR] (v) USING TREE;
    CREATE INDEX by_g ON s [RANGE 1 HOUR] (g, v) USING TREE;
"""
WINDOW = "s [RANGE 1 HOUR]"


@pytest.fixture(scope="module")
def db() -> Iterator[Database]:
    with sash.connect(indexes="asked") as database:
        fill(database, INDEXES)
        yield database


def fill(database: Database, sql: str) -> None:
    database.execute(JOB + sql)
    values = ((number, None if number % 10 == 9 else number / 4) for number in range(ROWS))
    database.push("s", [(number, number % 1_000, f"g{number % 3}", value) for number, value in values])
    database.push("t", [(7, "seven"), (8, "eight"), (None, "none")])
    database.push("sums 0", [(7,), (9,)])


def looked_at(db: Database, sql: str) -> dict[str, int]:
    """How many rows of what."""
    narrow = db.questions.narrowed(db.questions.asked(sql, db.catalog), db.catalog)
    assert narrow is not None
    return {narrow.rows[name].view: wanted.looked_at for name, wanted in narrow.wanted.items()}


@pytest.mark.parametrize(
    ("sql", "most", "said"),
    [
        (f"SELECT COUNT(*) AS n, SUM(v) AS v FROM {WINDOW} WHERE k = 8", 3, "by_k of s [RANGE 1 HOUR], HASH (k): k = one value"),
        (f"SELECT g, COUNT(*) AS n FROM {WINDOW} WHERE k IN (8, 9) GROUP BY g", 6, "k = 2 values"),
        (f"SELECT MIN(v) AS least, MAX(v) AS most FROM {WINDOW}", 20, "TREE (v): values beside its figures"),
        (f"SELECT MEDIAN(v) AS m, COUNT(*) AS n, COUNT(v) AS vs FROM {WINDOW}", 20, "values beside its figures"),
        (f"SELECT PERCENTILE(v, 0.99) AS p FROM {WINDOW} WHERE g = 'g1'", 20, "TREE (g, v): values beside its figures"),
        (f"SELECT COUNT(*) AS n FROM {WINDOW} WHERE v >= 500 AND v < 600", 1, "TREE (v): rows are counted"),
        (f"SELECT DISTINCT g FROM {WINDOW}", 3, "TREE (g, v): each g once"),
        (f"SELECT g, COUNT(*) AS n FROM {WINDOW} GROUP BY g", 3, "each g once"),
        (f"SELECT name, v FROM {WINDOW} x JOIN t USING (k) WHERE v < 10", 50, "v in a range"),
        (f"SELECT name, COUNT(*) AS n FROM {WINDOW} x JOIN t USING (k) GROUP BY name", 6, "HASH (k): k of t, if these are few"),
        (f"SELECT k FROM t EXCEPT SELECT k FROM {WINDOW}", 6, "HASH (k): k of t, if these are few"),
        (f"SELECT k FROM t INTERSECT SELECT k FROM {WINDOW}", 6, "HASH (k): k of t, if these are few"),
        (f"SELECT k, ROW_NUMBER() OVER (ORDER BY v) AS place FROM {WINDOW} WHERE k = 7", 3, "k = one value"),
    ],
)  # fmt: skip
def test_few_rows_are_looked_at(db: Database, sql: str, most: int, said: str) -> None:
    with sash.connect() as other:
        fill(other, f"CREATE MATERIALIZED VIEW held AS {sql}")
        assert db.query(sql).to_pylist() == other.view("held").to_pylist() != []
    assert looked_at(db, sql)[WINDOW] <= most
    assert said in str(db.explain(sql)).splitlines()[-1]


def test_views_are_looked_up_by_their_key_where_they_are_a_part_of_a_question(db: Database) -> None:
    sql = "SELECT name, v FROM sums JOIN t USING (k) WHERE k = 7"
    assert db.query(sql).to_pylist() == [{"name": "seven", "v": 755.25}]
    assert looked_at(db, sql) == {"sums": 1}
    assert str(db.explain(sql)).splitlines()[-1] == "the row of sums by its key (k)"
    assert str(db.explain("SELECT v FROM sums WHERE k = 7")).splitlines()[-1] == "the row of sums by its key (k)"
    assert str(db.explain("SELECT v FROM sums WHERE k > 7")).splitlines()[-1] == "all rows of sums: it has no index"


def test_a_table_may_be_called_as_a_relation_would_be(db: Database) -> None:
    asked = "SELECT x.k FROM sums x JOIN `sums 0` y ON x.k = y.k WHERE x.k < 9"
    assert db.query(asked).to_pylist() == [{"k": 7}]


def test_a_question_of_all_rows_reads_them_as_they_are(db: Database) -> None:
    question = db.questions.asked("SELECT g, AVG(v) AS v FROM s [RANGE 1 HOUR] GROUP BY g", db.catalog)
    assert db.questions.narrowed(question, db.catalog) is not None  # by g and v, each once
    question = db.questions.asked("SELECT k, AVG(v) AS v FROM s [RANGE 1 HOUR] GROUP BY k", db.catalog)
    assert db.questions.narrowed(question, db.catalog) is None
    assert len(db.query("SELECT k, AVG(v) AS v FROM s [RANGE 1 HOUR] GROUP BY k").to_pylist()) == 1_000


def test_figures_at_an_instant_that_is_not_final() -> None:
    """Rows that may still come or go move figures; those beside them are told apart."""
    with sash.connect() as db:
        db.execute("CREATE STREAM s (ts TIMESTAMP, v BIGINT) TIMESTAMP BY ts DELAY 10 SECONDS")
        db.execute("CREATE INDEX by_v ON s [ROWS 30] (v) USING TREE")
        db.execute("CREATE MATERIALIZED VIEW held AS SELECT MEDIAN(v) AS m, COUNT(v) AS n, MAX(v) AS x FROM s [ROWS 30]")
        for number in range(90):
            db.push("s", [(number, None if number % 7 == 0 else number * 37 % 101)])
            asked = db.query("SELECT MEDIAN(v) AS m, COUNT(v) AS n, MAX(v) AS x FROM s [ROWS 30]")
            assert asked.to_pylist() == db.view("held").to_pylist(), number
        assert "values beside its figures" in str(db.explain("SELECT MEDIAN(v) AS m FROM s [ROWS 30]"))


def test_an_index_is_made_for_figures_that_are_asked_again_and_again() -> None:
    with sash.connect() as db:
        db.execute("CREATE STREAM s (ts TIMESTAMP, v BIGINT) TIMESTAMP BY ts; CREATE MATERIALIZED VIEW held AS SELECT v FROM s [ROWS 1200]")
        db.push("s", [(number, number) for number in range(1_200)])
        for _ in range(210):
            assert db.query("SELECT MEDIAN(v) AS m FROM held").to_pylist() == [{"m": 599.5}]
        shown = db.execute("SHOW INDEXES")
        assert shown is not None and [row["using"] for row in shown] == ["TREE"]
        assert str(db.explain("SELECT MEDIAN(v) AS m FROM held")).splitlines()[-1] == (
            "automatic index of held, TREE (v): values beside its figures"
        )


SKEWED = """
    CREATE STREAM s (ts TIMESTAMP, k BIGINT, g BIGINT, v DOUBLE) TIMESTAMP BY ts;
    CREATE INDEX by_g ON s [RANGE 1 HOUR] (g);
    CREATE INDEX by_v ON s [RANGE 1 HOUR] (v) USING TREE;
    CREATE INDEX by_gv ON s [RANGE 1 HOUR] (g, v) USING TREE;
    CREATE INDEX by_k ON s [RANGE 1 HOUR] (k);
"""


@pytest.mark.parametrize(
    ("sql", "dropped", "most", "used"),
    [
        ("SELECT k FROM {w} WHERE g = 1 AND v > 100 AND v < 102", "by_gv", 20, (3,)),  # half of the rows have this g
        ("SELECT k FROM {w} WHERE k = 7 AND g = 1 AND v > 0", "", 3, (1,)),
        ("SELECT k FROM {w} WHERE g = 7 AND v > 100", "by_gv", 1, (2,)),  # one row has
        ("SELECT SUM(v) AS v FROM {w} WHERE g = 1 AND v > 100 AND v < 102", "by_gv", 20, (3,)),
    ],
)  # fmt: skip
def test_an_index_that_finds_many_rows_gives_way_to_another(sql: str, dropped: str, most: int, used: tuple[int, ...]) -> None:
    """Which of them finds fewer no condition tells: it is seen when they are asked."""
    with sash.connect(indexes="asked") as db:
        db.execute(SKEWED + (f"DROP INDEX {dropped}" if dropped else ""))
        db.push("s", [(number, number % 1_000, 7 if number == 500 else number % 2, number / 4) for number in range(ROWS)])
        text, everything = sql.format(w=WINDOW), sql.format(w="s [RANGE 2 HOURS]")
        db.execute("CREATE MATERIALIZED VIEW held AS " + everything)
        for _ in range(3):
            assert sorted(map(str, db.query(text).to_pylist())) == sorted(map(str, db.view("held").to_pylist()))
        question = db.questions.asked(text, db.catalog)
        selection = db.questions.selection(question)
        if selection is not None:
            wanted = db.questions.access(selection, db.catalog).wanted
        else:
            (wanted,) = db.questions.narrowed(question, db.catalog).wanted.values()  # type: ignore[union-attr]
        assert wanted.looked_at <= most and wanted.used is not None and wanted.used.shape.columns == used
        assert "if that finds many rows, perhaps" in str(db.explain(text)).splitlines()[-1]


def test_a_value_of_few_rows_is_found_by_hash_after_one_of_many() -> None:
    with sash.connect(indexes="asked") as db:
        db.execute(SKEWED + "DROP INDEX by_gv; DROP INDEX by_v")
        db.push("s", [(number, number, 7 if number == 500 else 1, 0.0) for number in range(ROWS)])
        for group, rows in ((1, ROWS - 1), (7, 1), (1, ROWS - 1), (7, 1)):
            text = f"SELECT COUNT(*) AS n, MAX(k) AS k FROM {WINDOW} WHERE g = {group}"
            assert db.query(text).to_pylist() == [{"n": rows, "k": 500 if group == 7 else ROWS - 1}]
            assert looked_at(db, text)[WINDOW] in (rows - 1, rows)  # the last row is not final yet
