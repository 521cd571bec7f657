"""Questions that differ in constants alone are bound once, and mean what each of them means by itself; db.prepare."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

import sash
from sash.database import questions
from sash.database.database import Database

JOB = """
    CREATE STREAM s (ts TIMESTAMP, k BIGINT, i INT, g STRING, v DOUBLE, d DECIMAL(9, 2), b BOOLEAN, day DATE) TIMESTAMP BY ts;
    CREATE MATERIALIZED VIEW p AS SELECT * FROM s [RANGE 1 HOUR];
    CREATE INDEX by_k ON p (k); CREATE INDEX by_g ON p (g, k) USING TREE;
"""
ROWS = [
    (datetime(2026, 1, 1, 12, 0, n % 60), n % 9 - 4, n % 5 - 2, f"g{n % 4}" if n % 11 else None, n % 6 - 3.0, Decimal(n % 5), n % 2 == 0,
     date(2026, 1, 1 + n % 3))
    for n in range(60)
]  # fmt: skip


@pytest.fixture
def db() -> Iterator[Database]:
    with sash.connect() as db:
        db.execute(JOB)
        db.push("s", ROWS)
        yield db


@pytest.fixture
def bound(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that are bound."""
    texts: list[str] = []
    bind = questions.bind_question

    def counted(query: Any, catalog: Any) -> Any:
        texts.append(query.source.sql)
        return bind(query, catalog)

    monkeypatch.setattr(questions, "bind_question", counted)
    return texts


def anew(sql: str) -> list[dict[str, object]]:
    """The answer of a database that has never been asked."""
    with sash.connect() as db:
        db.execute(JOB)
        db.push("s", ROWS)
        return db.query(sql).to_pylist()


TEXTS = [
    "SELECT * FROM p WHERE k = {n}", "SELECT k, v FROM p WHERE v > {n} AND i <= {n} ORDER BY k LIMIT 5", "SELECT * FROM p WHERE g = '{t}'",
    "SELECT d FROM p WHERE d = {n}", "SELECT k = {n} AS same FROM p WHERE k > {n}", "SELECT * FROM p WHERE g = '{t}' AND k >= {n}",
    "SELECT COUNT(*) AS n FROM p WHERE k = {n}", "SELECT k FROM p WHERE g IN ('= {n}', '{t}')", "SELECT k FROM p WHERE k<={n}-- = {n}\n",
    "SELECT k FROM p WHERE i = {n} OR k = {n}", "SELECT k, 'x= {n}' AS x FROM p WHERE k <> {n}", "SELECT k FROM p WHERE v = {n}.5",
    "SELECT * FROM p WHERE g > '{t}'", "SELECT k FROM p WHERE {n} = k", "SELECT k AS `a= {n}` FROM p WHERE k = {n}",
    "SELECT k FROM p WHERE g <> '= ?number' AND k = {n}", "SELECT k FROM p WHERE g <> '= {n}' AND k = {m}",
    "SELECT * FROM p WHERE g = {n}", "SELECT * FROM p WHERE day = '2026-01-0{m}'", "SELECT k FROM p WHERE k = {n} AND k = {m}",
]  # fmt: skip


def test_texts_with_other_constants_mean_what_they_mean_alone(db: Database) -> None:
    chance = random.Random(1)
    for text in TEXTS:
        for number in (3, 0, -2, 2):
            asked = text.format(n=number, t=chance.choice(["g1", "", "g 3", "é", "''g''"]), m=chance.randint(1, 3))
            found = db.query(asked).to_pylist()
            assert found == db.query(asked).to_pylist() == anew(asked), asked


def test_the_third_question_of_a_kind_is_not_bound(db: Database, bound: list[str]) -> None:
    for number in range(50):
        assert len(db.query(f"SELECT * FROM p WHERE k = {number % 5} AND g = 'g{number % 3}'")) == len(
            [row for row in ROWS if row[1] == number % 5 and row[3] == f"g{number % 3}"]
        )
    assert len(bound) == 2  # the first text, and the template
    assert len(db.execute("SELECT * FROM p WHERE k = 77 AND g = 'none'") or ()) == 0
    assert len(bound) == 2


def test_what_is_declared_anew_is_bound_anew(db: Database) -> None:
    for number in range(4):
        db.query(f"SELECT * FROM p WHERE k = {number}")
    db.execute("DROP VIEW p; CREATE MATERIALIZED VIEW p AS SELECT k FROM s [ROWS 1]")
    assert db.query("SELECT * FROM p WHERE k = 9").columns == ["k"]


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("k", [3, -2, 2**62, None]), ("i", [1, -1]), ("g", ["g1", "it's", "a\\b", "? = 5 -- '", ""]), ("v", [1.0, -3, float("nan")]),
        ("d", [Decimal("3.00"), 2]), ("b", [True, False]), ("day", [date(2026, 1, 2)]), ("ts", [datetime(2026, 1, 1, 12, 0, 7)]),
    ],
)  # fmt: skip
def test_values_are_given_to_a_prepared_question(db: Database, column: str, values: list[object]) -> None:
    place = ["ts", "k", "i", "g", "v", "d", "b", "day"].index(column)
    prepared = db.prepare(f"SELECT '?' AS mark FROM p WHERE {column} = ? -- ?")
    for value in [*values, *values]:
        assert len(prepared.query(value)) == sum(row[place] == value for row in ROWS)


def test_a_prepared_question_takes_as_many_values_as_it_has_places(db: Database) -> None:
    prepared = db.prepare("SELECT k FROM p WHERE k > ? AND g = ? LIMIT 1")
    assert prepared.query(1, "g1").to_pylist() == [{"k": 3}]
    for values in [(), (1,), (1, "g", 2)]:
        with pytest.raises(sash.SashError, match=f"the question has 2 places for values, and {len(values)} came; give one for each"):
            prepared.query(*values)
    with pytest.raises(sash.SashError, match="values of the type object cannot be given"):
        prepared.query(1, object())


@pytest.mark.parametrize("sql", ["SELECT * FROM p WHERE k = ?1", "SELECT * FROM p WHERE k = 7?", "SELECT * FROM p WHERE g = ?'x'", "SELECT k AS x? FROM p"])
def test_a_place_for_a_value_is_a_word_of_its_own(db: Database, sql: str) -> None:
    """With 1 in place of its ?, `k = ?1` asked for 11."""
    with pytest.raises(sash.SashError, match="stands for one whole value"):
        db.prepare(sql)


UTC_ENDS_SOONER = datetime.max.replace(tzinfo=timezone(timedelta(hours=-5)))


@pytest.mark.parametrize("value", ["\ud800", 10**5_000, -(10**38), Decimal("1e999999"), Decimal("NaN"), UTC_ENDS_SOONER], ids=lambda value: ascii(value)[:20] if isinstance(value, str) else type(value).__name__)
def test_values_that_no_text_can_hold_are_refused_however_often(db: Database, value: Any) -> None:
    prepared = db.prepare("SELECT * FROM p WHERE g = ?")
    for _ in range(3):
        with pytest.raises(sash.SashError):
            prepared.query(value)
        assert len(prepared.query("g1")) == len(db.query("SELECT * FROM p WHERE g = 'g1'"))


@pytest.mark.parametrize("index", ["", "(k)", "(g, k)", "(v)", "(i, g)", "(k) USING TREE"])
def test_constants_that_are_filled_in_find_what_the_text_finds(index: str) -> None:
    """By the key of a view, by indexes of one column and of several, and by a look at all rows."""
    db = sash.connect()
    db.execute("CREATE STREAM s (ts TIMESTAMP, k BIGINT, g STRING, v DOUBLE, i INT) TIMESTAMP BY ts")
    db.execute("CREATE MATERIALIZED VIEW w AS SELECT k, g, v, i, COUNT(*) AS n FROM s [ROWS 200] GROUP BY k, g, v, i")
    if index:
        db.execute(f"CREATE INDEX i ON w {index}")
    rows = [(second, second % 7, "abé "[second % 4], second % 5 - 1.0, second % 3 - 1) for second in range(300)]
    db.push("s", [*rows, (300, None, None, None, None)])
    questions = {
        "SELECT * FROM w WHERE k = ?": [(2,), (6,), (99,), (-1,), (0,)],
        "SELECT n FROM w WHERE g = ? AND k = ?": [("a", 1), ("é", 3), (" ", 0), ("nobody", 3), ("b", 5)],
        "SELECT * FROM w WHERE v = ? AND g = ?": [(0, "a"), (-1, "b"), (3, "é"), (0, " ")],
        "SELECT * FROM w WHERE k = ? AND g = ? AND v = ? AND i = ?": [(*row[1:],) for row in rows[-9:]],
        "SELECT * FROM w WHERE i = ? AND g = ? AND k > 2": [(0, "a"), (1, "b"), (-1, "é")],
        "SELECT * FROM w WHERE k = ? AND k = ?": [(1, 1), (1, 2), (2, 2)],
        "SELECT * FROM w WHERE k = ? AND (k = 2 OR g = 'a')": [(2,), (1,), (0,)],
    }
    for question, values in questions.items():
        prepared = db.prepare(question)
        for some in values * 2:
            written = [repr(value) if isinstance(value, str) else str(value) for value in some]
            plain = question.replace("WHERE", "WHERE TRUE IN (TRUE, n > 0) AND")
            for text in written:
                plain = plain.replace("?", text, 1)
            expected = rows_of(db, plain)
            assert [tuple(row.values()) for row in prepared.query(*some)] == expected, (question, some)


def rows_of(db: Database, sql: str) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in db.query(sql)]
