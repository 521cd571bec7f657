"""Long and deep statements work, or are refused with the limit; nothing else happens, whatever runs them."""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Iterator

import pytest

from sash.database.embedded import EmbeddedDatabase
from sash.deep import FRAMES
from sash.errors import SashError, SqlError
from sash.planner.job import Job
from sash.planner.read_plan import from_data
from sash.planner.write_plan import to_data
from sash.sql.syntax.nesting import MOST_CALLS, MOST_SUBQUERIES, MOST_TREE

W = "[RANGE 1 MINUTE]"
ROW = {"ts": "2024-01-01 00:00:00", "x": 1, "s": "q"}


def many(text: str, count: int, between: str) -> str:
    return between.join(text.format(n) for n in range(count))


@pytest.fixture(autouse=True)
def stack_of_its_own() -> Iterator[None]:
    """What other tests have left is not collected where the stack is nearly full: its finalizers would find no room."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


WORK = {
    "200 parentheses": ("SELECT " + "(" * 200 + "x" + ")" * 200 + f" AS z FROM a {W}", [{"z": 1}]),
    "140 additions": (f"SELECT {many('x', 140, ' + ')} AS z FROM a {W}", [{"z": 140}]),
    "140 functions": ("SELECT " + "ABS(" * 140 + "x" + ")" * 140 + f" AS z FROM a {W}", [{"z": 1}]),
    "1,000 AND": (f"SELECT x FROM a {W} WHERE {many('x > -{}', 1000, ' AND ')}", [{"x": 1}]),
    "1,000 OR": (f"SELECT x FROM a {W} WHERE {many('x = {}', 1000, ' OR ')}", [{"x": 1}]),
    "1,000 strings": (f"SELECT LENGTH({many('s', 1000, ' || ')}) AS z FROM a {W}", [{"z": 1000}]),
    "500 UNION ALL": (many(f"SELECT x FROM a {W}", 500, " UNION ALL "), [{"x": 1}] * 500),
    "300 UNION": (many(f"SELECT x FROM a {W}", 300, " UNION "), [{"x": 1}]),
    "100 EXCEPT": (many(f"SELECT x FROM a {W}", 100, " EXCEPT "), []),
    "100 subqueries": ("SELECT x FROM " + "(SELECT x + 1 AS x FROM " * 100 + f"a {W}" + ")" * 100, [{"x": 101}]),
    "30 subqueries in expressions": ("SELECT " + "(SELECT " * 30 + "x" + ")" * 30 + f" AS z FROM a {W}", [{"z": 1}]),
    "60 left joins": (f"SELECT t0.x FROM a {W} t0 " + " ".join(f"LEFT JOIN a {W} t{n} ON t0.x = t{n}.x" for n in range(1, 60)), [{"x": 1}]),
    "a doubling WITH": (f"WITH q0 AS (SELECT x FROM a {W})" + "".join(f", q{n} AS (SELECT l.x FROM q{n - 1} l JOIN q{n - 1} r ON l.x = r.x)" for n in range(1, 20)) + " SELECT x FROM q19", [{"x": 1}]),
}  # fmt: skip
REFUSED = {
    "5,000 additions": (f"SELECT {many('x', 5000, ' + ')} AS z FROM a {W}", f"nested more than {MOST_TREE:,} levels"),
    "300 additions": (f"SELECT {many('x', 300, ' + ')} AS z FROM a {W}", f"more than {MOST_CALLS} operators and functions"),
    "500 NOT": (f"SELECT x FROM a {W} WHERE {'NOT ' * 500} x = 1", f"more than {MOST_CALLS} operators and functions"),
    "300 CASE": ("SELECT " + "CASE WHEN x = 1 THEN 2 ELSE " * 300 + "0" + " END" * 300 + f" AS z FROM a {W}", f"more than {MOST_CALLS} operators and functions"),
    "300 subqueries in expressions": ("SELECT " + "(SELECT " * 300 + "x" + ")" * 300 + f" AS z FROM a {W}", f"more than {MOST_SUBQUERIES} subqueries"),
    "300 EXISTS": (f"SELECT x FROM a {W} WHERE " + f"EXISTS (SELECT 1 FROM a {W} WHERE " * 300 + "TRUE" + ")" * 300, f"more than {MOST_SUBQUERIES} subqueries"),
    "30,000 parentheses": ("SELECT " + "(" * 30_000 + "x" + ")" * 30_000 + f" AS z FROM a {W}", "nested too deeply"),
    "20,000 open parentheses": ("SELECT " + "(" * 20_000, "nested too deeply"),
}  # fmt: skip


def database() -> EmbeddedDatabase:
    db = EmbeddedDatabase()
    db.execute("CREATE STREAM a (ts TIMESTAMP, x INT, s STRING) TIMESTAMP BY ts")
    return db


@pytest.mark.parametrize("name", WORK)
def test_long_and_deep_statements_work(name: str) -> None:
    sql, expected = WORK[name]
    db = database()
    db.execute(f"CREATE MATERIALIZED VIEW v AS {sql}")
    db.push("a", [ROW])
    assert db.view("v").to_arrow().to_pylist() == expected
    assert len(db.execute(f"EXPLAIN {sql}")) < 5_000


@pytest.mark.parametrize("name", WORK)
def test_plans_of_long_and_deep_statements_can_be_written_and_read(name: str) -> None:
    db = database()
    db.execute(f"CREATE MATERIALIZED VIEW v AS {WORK[name][0]}")
    job = db.planned(2)
    assert from_data(json.loads(json.dumps(to_data(job, Job))), Job, "here", None) == job


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_nested_too_deeply_is_refused(name: str) -> None:
    sql, reason = REFUSED[name]
    for statement in (f"CREATE MATERIALIZED VIEW v AS {sql}", f"EXPLAIN {sql}"):
        with pytest.raises(SashError, match=reason) as caught:
            database().execute(statement)
        assert caught.value.hint
        assert len(str(caught.value)) < 600


@pytest.mark.parametrize("change", ["UPDATE t SET x = x WHERE {}", "DELETE FROM t WHERE {}"])
def test_changes_of_tables_may_be_as_deep(change: str) -> None:
    db = database()
    db.execute("CREATE TABLE t (x INT)")
    deep = "CAST(1 AS DECIMAL(" + "[" * 300 + "3" + "]" * 300 + "))"
    with pytest.raises(SashError, match="type"):
        db.execute(change.format(f"{deep} > 0"))
    db.execute(change.format(f"{'(' * 200}x{')' * 200} > 0"))
    db.execute(change.format(f"{'CAST(' * 140}x{' AS INT)' * 140} > 0"))


def test_what_needs_a_deep_stack_leaves_the_settings_as_they_were() -> None:
    before = sys.getrecursionlimit()
    database().execute(f"CREATE MATERIALIZED VIEW v AS {WORK['200 parentheses'][0]}")
    assert sys.getrecursionlimit() == before < FRAMES


def test_a_place_in_a_long_line_is_shown_with_what_is_around_it() -> None:
    sql = f"SELECT {many('x', 100, ' + ')} + wrong AS z, {many('x', 100, ' + ')} AS y FROM a {W}"
    with pytest.raises(SqlError) as caught:
        database().execute(f"CREATE MATERIALIZED VIEW v AS {sql}")
    _, line, caret = str(caught.value).split("\n")
    assert line[caret.index("^") : caret.rindex("^") + 1] == "wrong"
    assert len(line) < 170


def test_unions_of_several_types_take_one_after_the_other() -> None:
    """As each UNION by itself: an INT that meets a DOUBLE, which meets a STRING, is written as a DOUBLE."""
    db = database()
    sides = [f"SELECT x AS v FROM a {W}", f"SELECT CAST(x AS DOUBLE) FROM a {W}", f"SELECT NULL FROM a {W}", f"SELECT x + 1 FROM a {W}"]
    db.execute(f"CREATE MATERIALIZED VIEW v AS {' UNION ALL '.join(sides)}")
    nested = f"SELECT * FROM (SELECT * FROM ({sides[0]} UNION ALL {sides[1]}) UNION ALL {sides[2]}) UNION ALL {sides[3]}"
    db.execute(f"CREATE MATERIALIZED VIEW w AS {nested}")
    db.push("a", [ROW])
    assert db.view("v").to_arrow().schema == db.view("w").to_arrow().schema
    assert sorted(map(repr, db.view("v").to_arrow()["v"].to_pylist())) == ["1.0", "1.0", "2.0", "None"]


@pytest.mark.parametrize("keys", ["CUBE({})", "CUBE({}), CUBE({})", "{} WITH CUBE"])
def test_too_many_grouping_sets_are_refused(keys: str) -> None:
    named = keys.replace("{}", many("x + {}", 30 if keys.startswith("{") else 9, ", ") + ", x")
    with pytest.raises(SashError, match="grouping sets, and each is kept up to date by itself; at most 512 are possible"):
        database().execute(f"CREATE MATERIALIZED VIEW v AS SELECT COUNT(*) AS n FROM a {W} GROUP BY {named}")
