"""Views that differ in constants alone are parsed and bound once, and each is the view that its text says."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

import sash
from sash.database import statements
from sash.database.embedded import EmbeddedDatabase
from sash.database.view_templates import ViewTemplates
from sash.errors import SashError

COLUMNS = "(ts TIMESTAMP, k BIGINT, i INT, g STRING, v DOUBLE, d DECIMAL(9, 2), b BOOLEAN) TIMESTAMP BY ts"
JOB = f"""
    CREATE STREAM s {COLUMNS}; CREATE STREAM r {COLUMNS};
    CREATE TABLE names (k BIGINT, name STRING) RETROACTIVE;
    CREATE MATERIALIZED VIEW p AS SELECT * FROM s [RANGE 1 HOUR];
    CREATE AGGREGATE spread(x DOUBLE) RETURNS DOUBLE AS MAX(x) - MIN(x);
"""
TEXTS = [
    "SELECT COUNT(*) AS n, SUM(v) AS t FROM s [RANGE 1 SECOND] WHERE k = {n} AND v > {m}",
    "SELECT k, v FROM s [RANGE 1 MINUTE] WHERE g = '{t}' AND i >= {n}", "SELECT k = {n} AS same FROM s [RANGE 1 MINUTE] WHERE k > {n}",
    "SELECT k = {n}, i FROM s [RANGE 1 MINUTE]", "SELECT k FROM s [RANGE 1 MINUTE] WHERE g LIKE '= {n}' AND k = {m}",
    "SELECT a.k, b.v FROM s [RANGE 1 MINUTE] a JOIN r [RANGE 2 MINUTES] b ON a.k = b.k AND a.v < b.v WHERE a.k = {n} AND b.g <> '{t}'",
    "SELECT k, COUNT(*) AS n FROM s [RANGE 9 SECONDS SLIDE 3 SECONDS] WHERE i<{n} GROUP BY k HAVING COUNT(*) > {m} EMIT EVERY 9 SECONDS",
    "SELECT COUNT(*) FILTER (WHERE k = {n}) AS a, COUNT(*) FILTER (WHERE k = {m}) AS b FROM s [RANGE 1 MINUTE]",
    "SELECT CASE WHEN i = {n} THEN 'x' WHEN g = '{t}' THEN g ELSE '= {n}' END AS c FROM s [RANGE 1 MINUTE]",
    "SELECT one FROM (SELECT 1 AS one FROM s [RANGE 1 MINUTE] UNION ALL SELECT i FROM r [RANGE 1 MINUTE]) WHERE one = {n}",
    "SELECT k FROM s [RANGE 1 MINUTE] WHERE d = {n} OR k = {n} OR k = {m}", "SELECT k FROM s [RANGE 1 MINUTE] WHERE v = {n}.5 AND k = {n}",
    "SELECT k FROM s [RANGE 1 MINUTE] WHERE k BETWEEN {n} AND {m} AND NOT i = {n}", "SELECT k FROM p WHERE k <= {n} -- = {n}",
    "SELECT s.k, name FROM s [RANGE 1 MINUTE] LEFT JOIN names ON s.k = names.k AND name <> '{t}' WHERE s.i > {n}",
    "WITH w AS (SELECT k, i FROM s [RANGE 1 MINUTE] WHERE i = {n}) SELECT k FROM w WHERE i > {m} UNION ALL SELECT i FROM w",
    "SELECT DISTINCT k FROM s [RANGE 1 MINUTE] WHERE EXISTS (SELECT 1 FROM r [RANGE 1 MINUTE] WHERE r.k = s.k AND r.i = {n})",
    "SELECT k, spread(v) AS x FROM s [RANGE 1 MINUTE] WHERE b = true AND k = {n} GROUP BY k", "SELECT k FROM s [ROWS 5] WHERE {n} = k",
    "SELECT k, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) AS n FROM s [RANGE 1 MINUTE] QUALIFY ROW_NUMBER() OVER "
    "(PARTITION BY k ORDER BY v) = {n}", "SELECT k FROM s [RANGE 1 MINUTE] WHERE TRANSFORM(ARRAY(i), x -> {n}) = ARRAY({m})",
    "SELECT k FROM s [RANGE 1 MINUTE] WHERE g = {n}", "SELECT `x= {n}` FROM (SELECT k AS `x= {n}` FROM p WHERE k = {n})",
    "SELECT /* = {n} */ k FROM p WHERE k = {n}", "SELECT k FROM p WHERE k = {n} AND k = {m} AND ts > '2026-01-0{m}'",
]  # fmt: skip
VALUES = [(3, 4, "g1"), (0, 0, ""), (-2, 7, "g 3"), ("-0", -7, "x"), (-3, "(-0)", "y"), ("(-0)", "-0", "z"), (-7, -9, "w"), (7, -2, "é -- ;"), (12, 3, "?"), (5, 5, "x''y"), (4, 3, "918273")]


@pytest.fixture
def db() -> Iterator[EmbeddedDatabase]:
    with sash.connect() as db:
        db.execute(JOB)
        yield db


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that are parsed."""
    texts: list[str] = []
    parse = statements.parse_statements

    def counted(sql: str) -> object:
        texts.append(sql)
        return parse(sql)

    monkeypatch.setattr(statements, "parse_statements", counted)
    return texts


def create(db: EmbeddedDatabase, name: str, query: str) -> str:
    """The error, if it cannot be."""
    try:
        db.execute(f"CREATE MATERIALIZED VIEW {name} AS {query}")
    except SashError as error:
        return str(error)
    return ""



@pytest.mark.parametrize("text", TEXTS)
def test_a_view_is_what_its_text_says_alone(db: EmbeddedDatabase, text: str) -> None:
    chance = random.Random(len(text))
    for number, (n, m, t) in enumerate(chance.sample(VALUES, len(VALUES))):
        query = text.format(n=n, m=m, t=t)
        with sash.connect() as fresh:
            fresh.execute(JOB)
            told = create(fresh, f"q{number}", query)
            assert create(db, f"q{number}", query) == told
            if not told:
                mine, its = db.catalog.views[f"q{number}"], fresh.catalog.views[f"q{number}"]
                assert mine.plan is its.plan, query
                assert mine == its


WINDOWED = [
    "SELECT k, SUM(i) AS n FROM s [RANGE {a} SECONDS SLIDE {b} SECONDS] GROUP BY k", "SELECT DISTINCT k FROM s [RANGE {a} minutes]",
    "SELECT a.k, b.v FROM s [RANGE {a} SECONDS] a JOIN r [RANGE {b} MINUTES] b ON a.k = b.k WHERE a.v > {a}",
    "SELECT a.k FROM s [RANGE {a} SECONDS] a, s [range {b} seconds] b WHERE a.k = b.k AND a.i < b.i", "SELECT v FROM s [RANGE {a} MONTHS]",
    "SELECT k FROM s [RANGE {a} SECONDS] EXCEPT SELECT k FROM s [RANGE {b} SECOND] WHERE k = {b}", "SELECT k FROM s [RANGE {a}.5 HOURS]",
    "SELECT '[RANGE {a} SECONDS]' AS w, k FROM s [ RANGE {b}  SECONDS ] WHERE g = '[RANGE {a} SECONDS]'",
    "SELECT k, COUNT(*) OVER (PARTITION BY k ORDER BY v RANGE BETWEEN {a} PRECEDING AND CURRENT ROW) AS n FROM s [RANGE {b} DAYS]",
    "SELECT k FROM s [RANGE {a} WEEKS SLIDE {b} DAYS] EMIT EVERY {a} SECONDS", "SELECT k FROM s [RANGE {a} SECONDS SLIDE {c} SECONDS]",
    "SELECT a.k FROM s FOLLOWED BY r WITHIN {a} SECONDS", "SELECT k FROM s [PARTITION BY k ROWS {a}] WHERE k > {b}",
    "SELECT k FROM s [RANGE {a} FURLONGS]", "SELECT x FROM (SELECT k AS x FROM ISTREAM(p) [RANGE {a} SECONDS])",
]  # fmt: skip
LENGTHS = [(10, 5, 3), (20, 10, 20), (6, 6, 4), (7, 7, 7), (0, 0, 0), (60, 1, 0), (999999999, 3, 9)]


@pytest.mark.parametrize("text", WINDOWED)
def test_a_view_has_the_windows_that_its_text_says(db: EmbeddedDatabase, text: str) -> None:
    for number, (a, b, c) in enumerate(LENGTHS):
        query = text.format(a=a, b=b, c=c)
        with sash.connect() as fresh:
            fresh.execute(JOB)
            told = create(fresh, f"q{number}", query)
            assert create(db, f"q{number}", query) == told
            assert told or db.catalog.views[f"q{number}"] == fresh.catalog.views[f"q{number}"], query
            assert told or db.catalog.views[f"q{number}"].plan is fresh.catalog.views[f"q{number}"].plan


def test_the_third_view_over_other_windows_is_not_parsed(db: EmbeddedDatabase, parsed: list[str]) -> None:
    for number in range(1, 30):
        create(db, f"q{number}", f"SELECT k, MAX(i) AS m FROM s [RANGE {6 * number} SECONDS SLIDE 3 SECONDS] GROUP BY k")
        create(db, f"r{number}", f"SELECT a.v FROM s [RANGE {number} SECONDS] a JOIN r [RANGE 9 HOURS] b ON a.k = b.k")
    assert len(parsed) == 6


def test_the_third_view_of_a_kind_is_not_parsed(db: EmbeddedDatabase, parsed: list[str]) -> None:
    for number in range(30):
        create(db, f"q{number}", f"SELECT COUNT(*) AS n FROM s [RANGE 1 SECOND] WHERE k = {number % 7} AND g <> 'g{number}'")
    assert len(parsed) == 3  # the first, and the second twice, with constants that nobody writes
    db.push("s", [(f"2026-01-01 12:00:0{n % 9}", n % 7, 1, "g1", 1.0, 1, True) for n in sorted(range(60), key=lambda n: n % 9)])
    counts = [db.query(f"SELECT n FROM q{number}").to_pylist() for number in range(7)]
    assert [one["n"] for (one,) in counts] == [sum(1 for n in range(60) if n % 9 == 8 and n % 7 == k) * (k != 1) for k in range(7)]


def test_equal_constants_are_computed_once(db: EmbeddedDatabase) -> None:
    query = "SELECT COUNT(*) FILTER (WHERE k = {}) AS a, COUNT(*) FILTER (WHERE k = {}) AS b FROM s [RANGE 1 MINUTE]"
    for number, constants in enumerate([(1, 2), (3, 4), (5, 6), (7, 7), (8, 8), (9, 9)]):
        create(db, f"q{number}", query.format(*constants))
    specs = [db._running().views[f"q{number}"].view.spec for number in range(6)]
    assert len({str(spec.schema) for spec in specs}) == 1
    assert [len(repr(spec)) for spec in specs[:3]] == [len(repr(specs[0]))] * 3
    assert len(repr(specs[5])) < len(repr(specs[0]))


@pytest.mark.parametrize(
    "between",
    [
        "DROP VIEW q0; DROP VIEW q1; DROP VIEW q2; DROP VIEW o; CREATE VIEW o AS SELECT i + 100 AS k FROM s [RANGE 1 MINUTE];",
        "DROP VIEW q0; DROP VIEW q1; DROP VIEW q2; CREATE OR REPLACE VIEW o AS SELECT i AS k FROM r [RANGE 1 MINUTE];",
    ],
)
def test_what_a_text_means_may_change(db: EmbeddedDatabase, between: str) -> None:
    db.execute("CREATE VIEW o AS SELECT k FROM s [RANGE 1 MINUTE];")
    for number in range(3):
        assert create(db, f"q{number}", f"SELECT k FROM o WHERE k > {number}") == ""
    db.execute(between)
    with sash.connect() as fresh:
        fresh.execute(JOB + between.rpartition("; ")[2].replace("OR REPLACE ", ""))
        for number in range(4, 7):
            for one in (db, fresh):
                create(one, f"q{number}", f"SELECT k FROM o WHERE k > {number}")
            assert db.catalog.views[f"q{number}"].plan is fresh.catalog.views[f"q{number}"].plan


def test_errors_are_told_as_ever(db: EmbeddedDatabase) -> None:
    query = "SELECT k FROM s [RANGE 1 MINUTE] WHERE k = {}"
    for number in range(3):
        create(db, f"q{number}", query.format(number))
    assert 'there is a view "q1" already' in create(db, "q1", query.format(9))
    assert 'there is a view "q1" already' in create(db, "Q1", query.format(10))
    assert 'there is a stream "s" already' in create(db, "s", query.format(12))
    assert "q9" not in db.catalog.views
    assert create(db, "q9", query.format(11)) == ""


def test_few_templates_are_known(db: EmbeddedDatabase) -> None:
    templates = ViewTemplates()
    for number in range(2000):
        templates.learn(f"SELECT k AS k{number} FROM s WHERE k = 1")
    assert len(templates._met) < 300


def test_a_constant_of_a_view_below_is_no_place_of_a_template(db: EmbeddedDatabase) -> None:
    """Though it is one that nobody writes."""
    db.execute("CREATE VIEW below AS SELECT k, i FROM s [RANGE 1 MINUTE] WHERE k <> 918273000")
    for number in (1, 2, 3):
        create(db, f"q{number}", f"SELECT k FROM below WHERE i = {number}")
        with sash.connect() as fresh:
            fresh.execute(JOB + "CREATE VIEW below AS SELECT k, i FROM s [RANGE 1 MINUTE] WHERE k <> 918273000;")
            create(fresh, "q", f"SELECT k FROM below WHERE i = {number}")
            assert db.catalog.views[f"q{number}"].plan == fresh.catalog.views["q"].plan


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), SashError("no room")])
def test_what_stops_a_view_of_a_known_kind_is_told_and_leaves_nothing(
    db: EmbeddedDatabase, failure: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in (1, 2):
        create(db, f"q{number}", f"SELECT k FROM s [RANGE 1 MINUTE] WHERE i = {number}")

    def fails(*_: object) -> None:
        raise failure

    with monkeypatch.context() as patch, pytest.raises(type(failure)):
        patch.setattr(db, "_view_created", fails)
        db.execute("CREATE MATERIALIZED VIEW q3 AS SELECT k FROM s [RANGE 1 MINUTE] WHERE i = 3")
    db.execute("CREATE MATERIALIZED VIEW q3 AS SELECT k FROM s [RANGE 1 MINUTE] WHERE i = 3")
    db.push("s", [{"ts": "2026-01-01 00:00:01", "k": 5, "i": 3}])
    assert db.view("q3").to_pylist() == [{"k": 5}]
