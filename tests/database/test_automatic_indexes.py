"""Indexes that nobody asked for come where questions look at many rows, and go when nobody uses them."""

from __future__ import annotations

import random

import pytest

import sash
from sash.database import automatic_indexes
from sash.database.automatic_indexes import PRICES
from sash.database.embedded import EmbeddedDatabase
from sash.errors import SashError
from sash.plan.index_method import HASH, TREE

JOB = """
    CREATE STREAM s (ts TIMESTAMP, k BIGINT, g STRING, v DOUBLE) TIMESTAMP BY ts;
    CREATE MATERIALIZED VIEW recent AS SELECT k, g, v FROM s [RANGE 1 HOUR];
"""
ROWS = 2_000


def database(indexes: str = "auto", rows: int = ROWS) -> EmbeddedDatabase:
    db, chance = sash.connect(indexes=indexes), random.Random(1)
    db.execute(JOB)
    db.push("s", [(number / 10, chance.randrange(500), f"g{number % 3}", chance.random()) for number in range(rows)])
    return db


def shown(db: EmbeddedDatabase) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in db.execute("SHOW INDEXES").to_pylist()]


def how(db: EmbeddedDatabase, sql: str) -> str:
    return str(db.explain(sql)).splitlines()[-1]


def ask(db: EmbeddedDatabase, sql: str, times: int) -> None:
    """With other constants each time."""
    for number in range(times):
        db.query(sql.format(number))


@pytest.mark.parametrize(
    ("sql", "columns", "method"),
    [
        ("SELECT v FROM recent WHERE k = {}", "k", HASH),
        ("SELECT v FROM recent WHERE k IN ({0}, 7) AND g = 'g1'", "k, g", HASH),
        ("SELECT v FROM recent WHERE v > 0.{} AND v < 0.9", "v", TREE),
        ("SELECT g FROM recent ORDER BY v DESC, k DESC LIMIT 1{}", "v, k", TREE),
    ],
)
def test_one_is_made_when_looking_has_cost_as_much(sql: str, columns: str, method: object) -> None:
    db, same = database(), database("asked")
    needed = PRICES[method]  # type: ignore[index]
    ask(db, sql, needed - 1)
    assert not shown(db)
    ask(db, sql, 2)
    assert shown(db) == [(f"recent by {columns} using {method}", "recent", columns, str(method), True)]
    assert how(db, sql.format(5)).startswith(f"automatic index of recent, {method} ({columns})")
    for number in (3, 5, 8):
        assert db.query(sql.format(number)).to_arrow().equals(same.query(sql.format(number)).to_arrow())
    ask(same, sql, needed + 2)
    assert not shown(same)


def test_what_is_found_without_a_look_at_all_rows_needs_none() -> None:
    db = database()
    db.execute("CREATE INDEX i ON recent (k)")
    db.execute("CREATE MATERIALIZED VIEW sums AS SELECT k, COUNT(*) AS n FROM s [RANGE 1 HOUR] GROUP BY k")
    ask(db, "SELECT v FROM recent WHERE k = {}", 50)
    ask(db, "SELECT n FROM sums WHERE k = {}", 50)
    ask(db, "SELECT COUNT(*) FROM recent WHERE k + 1 = {}", 50)
    assert [row[0] for row in shown(db)] == ["i"]


def test_few_rows_need_none() -> None:
    db = database(rows=900)
    ask(db, "SELECT v FROM recent WHERE k = {}", 100)
    assert not shown(db)


def test_the_one_used_least_lately_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(automatic_indexes, "MOST_BYTES", 2 * ROWS * automatic_indexes.ROW_BYTES)
    db = database()
    ask(db, "SELECT v FROM recent WHERE k = {}", 21)
    ask(db, "SELECT v FROM recent WHERE g = 'g{}'", 21)
    ask(db, "SELECT v FROM recent WHERE k = {}", 1)
    assert {row[2] for row in shown(db)} == {"k", "g"}
    ask(db, "SELECT v FROM recent WHERE v = 0.{}", 21)
    assert {row[2] for row in shown(db)} == {"k", "v"}


def test_one_without_use_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(automatic_indexes, "UNUSED", 30)
    monkeypatch.setattr(automatic_indexes, "LOOK", 10)
    db = database()
    ask(db, "SELECT v FROM recent WHERE k = {}", 25)
    assert len(shown(db)) == 1
    ask(db, "SELECT v FROM recent WHERE k + 0 = {}", 50)
    assert not shown(db)


def test_rows_that_come_and_go_are_found_by_it() -> None:
    db, same = database(), database("asked")
    ask(db, "SELECT v FROM recent WHERE k = {}", 25)
    chance = random.Random(3)
    for step in range(30):
        rows = [(200 + 200 * step + number, chance.randrange(500), "h", chance.random()) for number in range(20)]
        for one in (db, same):
            one.push("s", rows)
        sql = f"SELECT v FROM recent WHERE k = {chance.randrange(500)}"
        assert db.query(sql).to_arrow().equals(same.query(sql).to_arrow())


def test_it_goes_with_its_view_and_does_not_hinder_another() -> None:
    db = database()
    ask(db, "SELECT v FROM recent WHERE k = {}", 25)
    db.execute("CREATE OR REPLACE MATERIALIZED VIEW recent AS SELECT g FROM s [RANGE 1 HOUR]")
    assert not shown(db)
    db.execute("CREATE OR REPLACE MATERIALIZED VIEW recent AS SELECT k, v FROM s [RANGE 1 HOUR]")
    ask(db, "SELECT v FROM recent WHERE k = {}", 25)
    db.execute("DROP INDEX `recent by k using HASH`")
    assert not shown(db)
    ask(db, "SELECT v FROM recent WHERE k = {}", 25)
    db.execute("DROP VIEW recent")
    assert not shown(db)


def test_a_window_that_is_kept_has_them_too_as_long_as_it_is_kept() -> None:
    db = database()
    db.execute("CREATE INDEX all_of_it ON s [RANGE 30 MINUTES] (k) USING LIST")
    ask(db, "SELECT v FROM s [RANGE 30 MINUTES] WHERE g = 'g{}'", 25)
    assert [row[2:] for row in shown(db)] == [("k", "LIST", False), ("g", "HASH", True)]
    db.execute("DROP INDEX all_of_it")
    assert not shown(db)


def test_an_unknown_choice_is_told() -> None:
    with pytest.raises(SashError, match='unknown indexes "never"'):
        sash.connect(indexes="never")  # type: ignore[arg-type]
