"""Many filters of the same rows that ask for values of a column: rows go to those that want them, and nothing else changes."""

from __future__ import annotations

import pytest

from sash.database.embedded import EmbeddedDatabase
from sash.operators.filter.routing import Routing
from sash.operators.filter.spec import LOOKED_UP
from sash.runtime.node import Node

STREAM = "CREATE STREAM s (ts TIMESTAMP, k BIGINT, x STRING, d DOUBLE, v BIGINT) TIMESTAMP BY ts;"
AGGREGATE = "SELECT COUNT(*) AS n, SUM(v) AS t FROM s [RANGE 3 SECONDS] WHERE {}"
CONDITIONS = (
    *(f"k = {key} AND v > {least}" for key in range(5) for least in (1, 4)),
    *(f"x = 'x{n}'" for n in range(9)), "x = 'nowhere' AND k = 2",
    "v > 3 AND k = 1 AND x = 'x2'", "k = 3 AND k = 4", "3 = k", "k = 3 AND 6 / v > 1", "k = 2 OR v = 1", "d = 1.5", "k IS NULL", "k <> 2",
)  # fmt: skip
Rows = list[tuple[object, ...]]


def rows(first: int, last: int) -> Rows:
    return [
        (n / 7, None if n % 11 == 0 else n * n % 7, None if n % 13 == 0 else f"x{n % 10}", n % 4 / 2, n % 6)
        for n in range(first, last)
    ]


def database(*conditions: str) -> EmbeddedDatabase:
    db = EmbeddedDatabase()
    db.execute(STREAM)
    for number, condition in enumerate(conditions):
        db.execute(f"CREATE MATERIALIZED VIEW q{number} AS {AGGREGATE.format(condition)}")
    return db


def routings(db: EmbeddedDatabase) -> list[Routing[Node]]:
    return [one for node in db._running().graph.nodes for one in node.routings]


@pytest.mark.parametrize("size", [1, 5, 1_000])
def test_every_view_changes_as_if_alone(size: int) -> None:
    alone, db = [database(one) for one in CONDITIONS], database(*CONDITIONS)
    for first in range(0, 150, size):
        for one in (db, *alone):
            one.push("s", rows(first, min(first + size, 150)))
    assert len(routings(db)) == 2 and not any(map(routings, alone))
    for number, one in enumerate(alone):
        assert db.changes(f"q{number}").equals(one.changes("q0")), CONDITIONS[number]


def test_only_those_are_run_that_want_a_row() -> None:
    db = database(*(f"k = {key}" for key in range(20)))
    db.push("s", [(0, 3, "a", 1.0, 1), (0.1, 3, "a", 1.0, 2), (0.2, None, "a", 1.0, 3), (0.3, 99, "a", 1.0, 4), (0.4, 1, "a", 1.0, 5)])
    db.push("s", [(1, 98, "a", 1.0, 1)])
    taken = [one.arcs[0].rows for one in db._running().graph.metrics() if one.name == "Filter"]
    assert sorted(taken) == [0] * 18 + [1, 2]


def test_few_filters_look_at_all_rows() -> None:
    db = database(*(f"k = {key}" for key in range(LOOKED_UP - 1)))
    db.push("s", rows(0, 50))
    assert not routings(db)


def test_views_come_and_go_between_batches() -> None:
    db, alone = database(*(f"k = {key}" for key in range(12))), database("k = 5", "k = 11")
    for first in range(0, 120, 10):
        for one in (db, alone):
            one.push("s", rows(first, first + 10))
        if first == 40:
            for key in (0, 1, 2, 6):
                db.execute(f"DROP VIEW q{key}")
        if first == 70:
            db.execute("DROP VIEW q3")
            assert len(routings(db)) <= 1
    db.push("s", rows(120, 121))
    alone.push("s", rows(120, 121))
    assert not routings(db)
    assert db.changes("q5").equals(alone.changes("q0")) and db.changes("q11").equals(alone.changes("q1"))
