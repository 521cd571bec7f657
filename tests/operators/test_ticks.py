"""The time as a value: over nothing and over tables alone, across long silence, in views that come later."""

from __future__ import annotations

from collections import Counter
from datetime import date, datetime

import pytest

import sash
from sash.database.embedded import EmbeddedDatabase
from sash.deltas import Delta
from sash.operators.time import current_period as ticks
from sash.runtime.node import Node
from sash.testing.clock import FakeClock

STREAM = "CREATE STREAM s (ts TIMESTAMP, k INT) TIMESTAMP BY ts"
TABLE = "CREATE TABLE t (k INT, d DATE)"
SECOND = 1_000_000
YEAR = 365 * 86_400 * SECOND


def made(*statements: str, clock: FakeClock | None = None) -> EmbeddedDatabase:
    db = sash.connect() if clock is None else EmbeddedDatabase(clock=clock)
    for statement in statements:
        db.execute(statement if statement.startswith("CREATE") else f"CREATE MATERIALIZED VIEW v AS {statement}")
    return db


def answer(db: EmbeddedDatabase, view: str = "v") -> list[tuple[object, ...]]:
    return sorted(tuple(row.values()) for row in db.view(view).to_pylist())


def changes(db: EmbeddedDatabase, view: str = "v") -> list[tuple[object, ...]]:
    """Without their instants."""
    return [(row["_op"], *list(row.values())[2:]) for row in db.changes(view).to_pylist()]


def test_without_from_there_is_a_row_as_soon_as_there_is_time() -> None:
    db = made("SELECT CURRENT_DATE AS d, NOW() >= TIMESTAMP '2024-03-01 12:00:00' AS late")
    assert answer(db) == []
    db.advance("2024-03-01 11:59:59")
    assert answer(db) == [(date(2024, 3, 1), False)]
    db.advance("2024-03-01 12:00:00")
    assert answer(db) == [(date(2024, 3, 1), True)]
    db.advance("2024-03-04 00:00:00.000001")
    assert answer(db) == [(date(2024, 3, 4), True)]
    found = [(row["_op"], row["_ts"], row["d"], row["late"]) for row in db.changes("v").to_pylist()]
    assert found[:3] == [
        (1, datetime(2024, 3, 1, 11, 59, 59), date(2024, 3, 1), False),
        (-1, datetime(2024, 3, 1, 12), date(2024, 3, 1), False),
        (1, datetime(2024, 3, 1, 12), date(2024, 3, 1), True),
    ]
    assert [row[1] for row in found[3::2]] == [datetime(2024, 3, day) for day in (2, 3, 4)]


def test_without_from_beside_constants_and_streams() -> None:
    db = made(STREAM, "SELECT HOUR(NOW()) AS h UNION ALL SELECT 77 UNION ALL SELECT k FROM s")
    assert answer(db) == []
    db.push("s", [(3600, 5)])
    assert answer(db) == [(1,), (5,), (77,)]
    db.advance(7200 * SECOND)
    assert answer(db) == [(2,), (5,), (77,)]


def test_the_wall_clock_tells_the_time_when_somebody_polls() -> None:
    clock = FakeClock(0)
    clock.now = 70 * SECOND
    db = made(TABLE, "SELECT COUNT(*) AS n, MINUTE(NOW()) AS m FROM t", clock=clock)
    db.poll()
    assert answer(db) == [(0, 1)]
    clock.now = 130 * SECOND
    db.push("t", [(1, None)])
    assert answer(db) == [(1, 2)]
    clock.now = 200 * SECOND
    db.poll()
    assert answer(db) == [(1, 3)]
    db.advance(310 * SECOND)
    clock.now = 999 * SECOND
    db.poll()
    assert answer(db) == [(1, 5)]


def test_rows_of_a_table_come_and_go_between_ticks() -> None:
    db = made(TABLE, "SELECT k, DATEDIFF(CURRENT_DATE, d) AS days FROM t")
    db.advance("2024-05-01 23:00:00")
    db.push("t", [(1, "2024-04-30"), (2, None), (1, "2024-04-30")])
    assert sorted(answer(db), key=str) == [(1, 1), (1, 1), (2, None)]
    db.delete("t", [(1, "2024-04-30")])
    db.advance("2024-05-03 01:00:00")
    db.delete("t", [(2, None)])
    assert answer(db) == [(1, 3)]


def test_a_table_waits_for_the_first_row_of_a_stream() -> None:
    """Not for a year of seconds: the table was always there, but the time begins with the stream."""
    db = made(TABLE, STREAM, "SELECT t.k, SECOND(NOW()) AS s, s.k AS other FROM t LEFT JOIN s [RANGE 1 SECOND] ON s.k = t.k")
    db.push("t", [(7, None)])
    db.push("s", [("2024-05-01 00:00:10.5", 1), ("2024-05-01 00:00:12", 7)])
    db.end()
    assert changes(db) == [
        (1, 7, 10, None), (-1, 7, 10, None), (1, 7, 11, None), (-1, 7, 11, None), (1, 7, 12, 7),
    ]  # fmt: skip


def test_silence_costs_nothing_while_there_is_no_row() -> None:
    db = made(STREAM, "SELECT k, SECOND(NOW()) AS s FROM s [RANGE 2 SECONDS]")
    db.push("s", [(0, 1), (54 * YEAR // SECOND, 2)])
    db.advance(100 * YEAR)
    assert len(changes(db)) == 8


@pytest.mark.parametrize("size", [1, 100])
def test_a_jump_over_many_periods_comes_in_pieces(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ticks, "AT_ONCE", 100)
    db = made(STREAM, "SELECT SUM(k) AS n, MAX(x) AS x FROM (SELECT k, SECOND(NOW()) DIV 20 AS x FROM s)")
    given: Counter[str] = Counter()
    most: Counter[str] = Counter()

    def watch(node: Node, count: int, delta: Delta) -> None:
        name = type(node.spec).__name__
        given[name] += len(delta)
        most[name] = max(most[name], len(delta))

    db._running().graph.watch(watch)
    rows = [(second / 2, second) for second in range(10)]
    for start in range(0, len(rows), size):
        db.push("s", rows[start : start + size])
    db.advance(200 * SECOND)
    assert given["CurrentPeriodSpec"] == 10 + 2 * sum(min(10, 2 * second) for second in range(1, 200))
    assert most["CurrentPeriodSpec"] <= 100 + 3 * 10
    assert [row["_ts"] for row in db.changes("v").to_pylist()[-2:]] == [datetime(1970, 1, 1, 0, 3)] * 2


def test_a_view_made_later_begins_with_the_present() -> None:
    db = made(STREAM, TABLE, "SELECT k FROM s [RANGE 1 HOUR]", "CREATE MATERIALIZED VIEW w AS SELECT COUNT(*) AS n FROM t")
    db.push("t", [(1, None)])
    db.push("s", [(second, second) for second in range(0, 3000, 100)])
    db.execute("CREATE MATERIALIZED VIEW x AS SELECT k, SECOND(NOW()) AS s FROM s [RANGE 1 HOUR] WHERE k >= 2800")
    db.execute("CREATE MATERIALIZED VIEW y AS SELECT k, MINUTE(NOW()) AS m FROM t")
    given: list[int] = []
    db._running().graph.watch(lambda node, count, delta: given.append(len(delta)))
    assert answer(db, "x") == [(2800, 20), (2900, 20)] and answer(db, "y") == []  # no stream tells it the time
    db.advance(2902 * SECOND)
    assert answer(db, "x") == [(2800, 22), (2900, 22)] and answer(db, "y") == [(1, 48)] and sum(given) < 50
    assert changes(db, "x")[0] == (1, 2800, 19)  # the last instant that was final
