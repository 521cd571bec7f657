"""Views that differ in a condition run together while rows are few; nobody sees a difference."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import pytest

import sash
from sash.database.embedded import EmbeddedDatabase
from sash.deltas import Delta
from sash.operators.filtered_groups import siblings
from sash.operators.filtered_groups.siblings import Siblings
from sash.runtime import graph, readers
from sash.runtime.node import Node

STREAM = "CREATE STREAM s (ts TIMESTAMP, k BIGINT, v BIGINT) TIMESTAMP BY ts;"
VIEWS = tuple(
    f"SELECT k, COUNT(*) AS n, {figure} AS f FROM s [RANGE {size} SECONDS] WHERE {condition} GROUP BY k"
    for condition, size, figure in [
        ("v > 1", 3, "SUM(v)"), ("v > 2", 3, "SUM(v)"), ("v <> 3", 5, "MIN(v)"), ("k < 3 AND v < 9", 2, "MAX(v)"),
        ("v IS NULL", 4, "COUNT(v)"), ("v >= 5", 1000, "SUM(v)"),
    ]
)
SIZES = (1, 1, 1, 2, 5, 64, 65, 3, 1, 200, 1, 1, 30)


def nodes(db: EmbeddedDatabase) -> tuple[Node, ...]:
    return db._running().graph.nodes


def open_families(db: EmbeddedDatabase) -> int:
    return sum(family.is_open for node in nodes(db) for family in node.offspring)


def declared(views: tuple[str, ...] = VIEWS) -> EmbeddedDatabase:
    db = sash.connect()
    db.execute(STREAM)
    for number, query in enumerate(views):
        db.execute(f"CREATE MATERIALIZED VIEW v{number} AS {query}")
    return db


def pushes(seed: int, sizes: tuple[int, ...] = SIZES) -> Iterator[list[tuple[Any, ...]]]:
    chance, ts = random.Random(seed), 0.0
    for size in sizes:
        rows = []
        for _ in range(size):
            ts += chance.choice((0, 0, 0.5, 1))
            rows.append((ts, chance.randrange(6), None if chance.random() < 0.1 else chance.randrange(10)))
        yield rows


def told(db: EmbeddedDatabase) -> dict[str, list[dict[str, Any]]]:
    return {name: db.changes(name).to_pylist() for name in db.materialized()}


def played(seed: int, sizes: tuple[int, ...] = SIZES) -> tuple[EmbeddedDatabase, int]:
    """The database after all pushes, and how many of them were worked off by an open family."""
    db, opened = declared(), 0
    for rows in pushes(seed, sizes):
        db.push("s", rows)
        opened += open_families(db)
    return db, opened


@pytest.fixture
def alone() -> Iterator[None]:
    """Nobody is run together with others."""
    with mock.patch.object(readers, "families_of", lambda source: []):
        yield


@pytest.mark.parametrize("seed", range(6))
def test_changes_are_those_of_single_views(seed: int, request: pytest.FixtureRequest) -> None:
    together, opened = played(seed)
    assert opened > 2
    answers = {name: together.view(name).to_arrow() for name in together.materialized()}
    together.end()
    request.getfixturevalue("alone")
    single, opened = played(seed)
    assert opened == 0
    assert {name: single.view(name).to_arrow() for name in single.materialized()} == answers
    single.end()
    assert told(together) == told(single)


def test_metrics_are_those_of_single_views(request: pytest.FixtureRequest) -> None:
    together, _ = played(1)
    request.getfixturevalue("alone")
    single, _ = played(1)

    def counted(db: EmbeddedDatabase) -> list[Any]:
        return [(one["operator"], one["id"], one["arcs"], one["out"], one["state_rows"]) for one in db.metrics()["operators"]]

    assert counted(together) == counted(single)


def test_time_alone_lets_rows_leave() -> None:
    db = declared()
    db.push("s", [(1, 1, 5)])
    db.push("s", [(2, 1, 5)])
    assert open_families(db) >= 1
    db.advance("1970-01-01 00:01:00")
    assert open_families(db) >= 1
    assert [row["_op"] for row in db.changes("v0").to_pylist()] == [1, -1, 1, -1, 1, -1]
    assert db.view("v0").to_arrow().num_rows == 0 and db.view("v5").to_arrow().num_rows == 1


def test_a_view_that_shows_what_a_filter_lets_through_parts_it_from_the_others() -> None:
    db = declared()
    for second in (0, 1):
        db.push("s", [(second, 1, 5)])
    assert open_families(db) >= 1
    db.execute("CREATE MATERIALIZED VIEW rows AS SELECT * FROM s [RANGE 3 SECONDS] WHERE v > 1")
    for second in range(2, 9):
        db.push("s", [(second, 1, 5)])
    assert db.view("rows").to_arrow().num_rows == 3
    assert db.view("v0").to_arrow().to_pylist() == [{"k": 1, "n": 3, "f": 15}]
    assert open_families(db) >= 1


def test_a_view_over_the_groups_of_another_parts_them_from_the_others() -> None:
    db = declared()
    db.push("s", [(1, 1, 5)])
    db.execute(f"CREATE MATERIALIZED VIEW above AS SELECT * FROM ({VIEWS[0]}) WHERE n > 2")
    for second in range(2, 9):
        db.push("s", [(second, 1, 5)])
    assert db.view("above").to_arrow().to_pylist() == db.view("v0").to_arrow().to_pylist() == [{"k": 1, "n": 3, "f": 15}]


def test_views_come_and_go() -> None:
    db, few = declared(), declared(VIEWS[:1])
    for number, rows in enumerate(pushes(7, (1,) * 60)):
        if number % 5 == 2:
            db.execute(f"CREATE MATERIALIZED VIEW w{number} AS {VIEWS[1].replace('v > 2', f'v > {number}')}")
        if number % 10 == 9:
            db.execute(f"DROP VIEW w{number - 7}")
        db.push("s", rows)
        few.push("s", rows)
    db.end()
    few.end()
    assert told(db)["v0"] == told(few)["v0"]
    assert open_families(db) >= 1


def test_nobody_is_asked_without_rows_or_an_instant_that_has_come(monkeypatch: pytest.MonkeyPatch) -> None:
    times: list[int] = []
    run = Siblings.run

    def counted(self: Siblings, delta: Delta, now: int) -> Iterator[tuple[int, Delta]]:
        times.append(len(delta))
        return run(self, delta, now)

    monkeypatch.setattr(Siblings, "run", counted)
    db = declared(VIEWS[:2])
    db.push("s", [(1, 1, 5)])
    db.advance("1970-01-01 00:00:02")
    assert times == [1]
    db.advance("1970-01-01 00:00:04")
    assert times == [1]  # no row leaves before that
    db.advance("1970-01-01 00:00:05")
    assert times == [1, 0]
    db.advance("1970-01-01 00:01:00")
    assert times == [1, 0]


def test_much_that_leaves_at_once_is_given_away_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = []
    for large in (1 << 16, 100):
        monkeypatch.setattr(siblings, "LARGE", large)
        db = declared()
        for start in range(0, 300, 60):
            db.push("s", [(1 + (start + number) / 1000, number % 50, number % 10) for number in range(60)])
        db.push("s", [(2, 7, 5)])
        assert open_families(db) >= 1
        db.advance("1970-01-01 00:01:00")
        db.push("s", [(70, 7, 5), (71, 7, 5)])
        db.end()
        answers.append(told(db))
    assert answers[0] == answers[1] and len(answers[0]["v0"]) > 500


def apart(play: Callable[[], list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """The same where no views run together."""
    with mock.patch.object(readers, "families_of", lambda source: []):
        return play()


def played_with_much(*, scheduled: bool) -> list[dict[str, Any]]:
    """Few rows fill a window that many rows have made room in, and then come more than one pass takes."""
    db = declared(("SELECT k, COUNT(*) AS n, SUM(v) AS f FROM s [RANGE 10 SECONDS] GROUP BY k",))

    def push(ts: float, count: int, step: float) -> None:
        db.push("s", [(ts + number * step, number % 3, number) for number in range(count)])

    for ts, count, step in [(0, 40, 0.01), (1, 1500, 0.001), (100, 1, 1), (101, 1, 1), (102, 65, 0.001), (200, 1, 1)]:
        push(ts, count, step)
    for number in range(27):
        push(200.01 + number * 0.07, 60, 0.001)
    if scheduled:
        db.schedule("bfs")
    for ts, count, step in [(203, 1200, 0.001), (204.3, 1200, 0.001), (300, 1, 1), (301, 1, 1)]:
        push(ts, count, step)
    return db.changes("v0").to_pylist()


def test_a_schedule_in_the_middle_finds_what_few_rows_have_left() -> None:
    changes = played_with_much(scheduled=True)
    assert len(changes) > 20_000 and changes == apart(lambda: played_with_much(scheduled=True))


def test_more_rows_than_a_batch_find_what_few_rows_have_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph, "batch_for", lambda load: 1000)
    changes = played_with_much(scheduled=False)
    assert len(changes) > 20_000 and changes == apart(lambda: played_with_much(scheduled=False))


def played_beside_a_join() -> list[dict[str, Any]]:
    """A condition that is asked row by row is read by one GROUP BY alone, and its port is ahead of the other side of a join."""
    db = declared(("SELECT k, COUNT(*) AS n FROM s [RANGE 10 SECONDS] WHERE v % 2 = 0 GROUP BY k",))
    db.execute("CREATE STREAM r (ts TIMESTAMP, k BIGINT, v BIGINT) TIMESTAMP BY ts")
    db.execute(
        "CREATE MATERIALIZED VIEW j AS SELECT s.ts, s.k, s.v, r.ts AS rts, r.k AS rk, r.v AS rv"
        " FROM s [RANGE 5 SECONDS], r [RANGE 5 SECONDS] WHERE s.k = r.k"
    )
    found = list[dict[str, Any]]()
    for stream, ts, v in [
        ("r", 0, 1), ("s", 5, 2), ("s", 20, 1), ("r", 100, 1), ("s", 50, 2), ("s", 51, 1), ("s", 70, 1), ("s", 71, 1), ("s", 90, 1),
    ]:
        db.push(stream, [(float(ts), 1, v)])
        found.append({"after": ts, "changes": db.changes("v0").to_pylist()})
    return found


def test_time_passes_for_those_that_a_single_operator_feeds() -> None:
    found = played_beside_a_join()
    assert found == apart(played_beside_a_join)
    assert [change["_op"] for change in found[-1]["changes"]] == [1, -1, 1, -1]
