"""Joins of the same streams by the same keys are one operator, whatever their windows: when it runs them together, and when not."""

from __future__ import annotations

import random

import pytest

from sash.database.embedded import EmbeddedDatabase
from sash.errors import SashError
from sash.operators.shared_join import outputs
from sash.operators.shared_join.operator import SharedJoin
from sash.runtime import cycle
from sash.testing import Oracle
from sash.testing.comparing import assert_same
from sash.testing.tables import from_arrow

STREAMS = """
CREATE STREAM s (ts TIMESTAMP, k BIGINT, v BIGINT) TIMESTAMP BY ts;
CREATE STREAM r (ts TIMESTAMP, k BIGINT, x STRING) TIMESTAMP BY ts;
"""
SELECT = "SELECT s.k, s.v, r.x FROM s [RANGE {0} SECONDS] JOIN r [RANGE {1} SECONDS] ON s.k = r.k"
Rows = list[tuple[object, ...]]


def left(first: int, last: int, values: int = 1_000_000) -> Rows:
    return [(n / 2, None if n % 11 == 0 else n % 4, None if n % 7 == 0 else n % values) for n in range(first, last)]


def right(first: int, last: int, values: int = 1_000_000) -> Rows:
    return [(n / 2, n % 3, None if n % 5 == 0 else f"x{n % values}") for n in range(first, last)]


def database(**views: tuple[int, int]) -> EmbeddedDatabase:
    db = EmbeddedDatabase()
    db.execute(STREAMS)
    for name, windows in views.items():
        create(db, name, windows)
    return db


def create(db: EmbeddedDatabase, name: str, windows: tuple[int, int]) -> None:
    db.execute(f"CREATE MATERIALIZED VIEW {name} AS {SELECT.format(*windows)}")


def push(db: EmbeddedDatabase, first: int, last: int, values: int = 1_000_000) -> None:
    for start in range(first, last, 9):
        stop = min(start + 9, last)
        db.push("s", left(start, stop, values))
        db.push("r", right(start, stop, values))


def the_join(db: EmbeddedDatabase) -> SharedJoin:
    (found,) = [node.operator for node in db._running().graph.nodes if isinstance(node.operator, SharedJoin)]
    return found


def is_together(db: EmbeddedDatabase) -> bool:
    return the_join(db)._together is not None


def check(db: EmbeddedDatabase, rows: int, values: int = 1_000_000, **views: tuple[int, int]) -> None:
    """Every view against the answer of DuckDB at every instant."""
    db.end()
    for name, windows in views.items():
        job = f"{STREAMS} CREATE MATERIALIZED VIEW {name} AS {SELECT.format(*windows)};"
        oracle = Oracle(job, {"s": left(0, rows, values), "r": right(0, rows, values)})
        assert_same(oracle.changelog(name), from_arrow(db.changes(name)))


def test_windows_that_differ_share_one_log() -> None:
    views = {"a": (1, 1), "b": (10, 10), "c": (3, 30), "d": (30, 2)}
    db = database(**views)
    push(db, 0, 120)
    assert is_together(db) and len(the_join(db)._taps) == 4
    assert the_join(db).kept <= 2 * 62  # as long as the longest window of each side
    check(db, 120, **views)


@pytest.mark.parametrize("windows", [(2, 2), (40, 40), (2, 40)])
def test_a_join_that_comes_later_joins_in(windows: tuple[int, int]) -> None:
    """Its window may be longer than those that run: rows that are in memory for another view come back."""
    db = database(a=(10, 10))
    for name in ("s", "r"):
        db.execute(f"CREATE MATERIALIZED VIEW keeps_{name} AS SELECT COUNT(*) AS n FROM {name} [RANGE 40 SECONDS]")
    push(db, 0, 90)
    assert not is_together(db)
    create(db, "later", windows)
    assert is_together(db)
    alone = database(later=windows)
    push(alone, 0, 90)
    assert db.view("later").to_arrow().equals(alone.view("later").to_arrow())
    push(db, 90, 200)
    push(alone, 90, 200)
    since = db._running().views["later"].began
    mine, theirs = ([c for c in from_arrow(one.changes("later")) if c.ts > since] for one in (db, alone))
    assert mine == theirs and mine
    check(db, 200, a=(10, 10))


def test_the_last_one_goes_on_alone() -> None:
    db = database(a=(10, 10), b=(40, 40), c=(2, 2))
    push(db, 0, 90)
    db.execute("DROP VIEW b")
    assert is_together(db)
    db.execute("DROP VIEW c")
    assert not is_together(db) and the_join(db).kept <= 2 * 22
    push(db, 90, 180)
    check(db, 180, a=(10, 10))


def test_rows_with_many_copies_are_joined_apart() -> None:
    """There a join of its own counts equal rows as one, which spares more than a common walk."""
    views = {"a": (40, 40), "b": (60, 60)}
    db = database(**views)
    few = {"s": [(n / 20, 1, 5) for n in range(1_500)], "r": [(n / 20, 1, "x") for n in range(1_500)]}
    for start in range(0, 1_500, 100):
        for name, rows in few.items():
            db.push(name, rows[start : start + 100])
    assert not is_together(db) and len(the_join(db)._taps) == 2
    db.end()
    for name, (size, _) in views.items():
        job = f"{STREAMS} CREATE MATERIALIZED VIEW n AS SELECT COUNT(*) AS n FROM ({SELECT.format(size, size)});"
        alone = EmbeddedDatabase()
        alone.execute(job)
        for stream, rows in few.items():
            alone.push(stream, rows)
        assert len(db.view(name)) == alone.view("n").to_pylist()[0]["n"]


def test_outputs_that_fill_in_the_midst_of_a_step() -> None:
    """More partners of a row than are written at once, and far more changes than there was room for, of some taps only."""
    views = {"a": (1, 1), "b": (20, 20), "c": (200, 200), "d": (5, 150)}
    db, alone = database(**views), {name: database(**{name: windows}) for name, windows in views.items()}
    for first, last in ((0, 3), (3, 700), (700, 710), (710, 1_000)):
        for one in (db, *alone.values()):
            one.push("s", [(n / 4, n % 2, n) for n in range(first, last)])
            one.push("r", [(n / 4, n % 2, f"x{n}") for n in range(first, last)])
    assert is_together(db)
    for name, one in alone.items():
        mine, theirs = db.changes(name), one.changes(name)
        assert mine.equals(theirs) and db.view(name).to_arrow().equals(one.view(name).to_arrow())


def test_a_dropped_join_leaves_nothing() -> None:
    db = database(a=(10, 10), b=(40, 40))
    push(db, 0, 60)
    fingerprint = the_join(db)._spec.fingerprint
    for name in ("a", "b"):
        db.execute(f"DROP VIEW {name}")
    assert not [name for name in db._arena._entries if name.startswith(fingerprint)]
    assert not [owner for owner in db._running()._shard.interner._holders if owner.startswith(fingerprint)]


def test_what_is_shared_is_told() -> None:
    db = database(a=(1, 1), b=(600, 600))
    create(db, "c", (600, 5))
    db.execute("CREATE MATERIALIZED VIEW other AS SELECT COUNT(*) AS n FROM s [RANGE 1 MINUTE]")
    text = "join s-r by k: 3 windows of 1 to 600 s, 3 queries, schedule: auto"
    shown = {row["name"]: row for row in db.execute("SHOW QUERIES").to_pylist()}
    assert shown["a"]["shared_joins"] == text and shown["a"]["shared_with"] == "b, c" and shown["other"]["shared_joins"] == ""
    assert f"{text}  with: a, c" in "\n".join(db.execute("EXPLAIN VIEW b").to_arrow().column(0).to_pylist())
    db.execute("DROP VIEW c")
    assert "2 windows of 1 to 600 s, 2 queries" in db.execute("SHOW QUERIES").to_pylist()[0]["shared_joins"]


def test_metrics_of_taps_add_up() -> None:
    db = database(a=(10, 10), b=(40, 40))
    push(db, 0, 120)
    joins = [one for one in db.metrics()["operators"] if one["operator"] == "LeavingJoin"]
    assert len(joins) == 2
    assert all([arc["positive"] for arc in one["arcs"]] == [119, 119] for one in joins)  # the last instant is open
    (node,) = [node for node in db._running().graph.nodes if isinstance(node.operator, SharedJoin)]
    assert sum(one["probes"] for one in joins) == node.operator.probes
    assert sum(one["seconds"] for one in joins) == pytest.approx(node.metrics.seconds)
    assert sum(one["state_bytes"] for one in joins) == db._arena.used_by_scope()[node.spec.fingerprint]
    assert joins[0]["state_rows"] < joins[1]["state_rows"] <= the_join(db).kept


def test_every_window_tells_when_its_rows_came_out_and_what_waited() -> None:
    db = database(a=(150, 150), b=(400, 400))
    db.schedule(join="mqt")
    db.push("s", [(n / 2, n % 200, n) for n in range(5000)])
    db.push("r", [(n / 2, n % 200, "x") for n in range(5000)])
    joins = [one for one in db.metrics()["operators"] if one["operator"] == "LeavingJoin"]
    assert len(joins) == 2
    for one in joins:
        response, buffers = one["response"], one["buffers"]
        assert response["count"] == one["out"]["positive"] + one["out"]["negative"] > 0  # each row is counted, for its window
        assert 0 < response["average"] <= response["maximum"]
        assert response["p50"] <= response["p99"] <= 1.1 * response["maximum"]
        assert buffers["join"] == one["state_rows"] > 0
        assert buffers["input"] > 5000  # a push waited for turns
        assert buffers["output"] > 0  # of what was found for the short window, the long one had it kept


def test_a_schedule_is_chosen_and_told() -> None:
    db = database(a=(1, 1), b=(10, 10))
    db.schedule(join="swf")
    assert the_join(db)._schedule == "swf" and "schedule: swf" in str(db.explain("a"))
    db.schedule(view="b", join="MQT")
    assert the_join(db)._schedule == "mqt" and "schedule: mqt" in db.execute("SHOW QUERIES").to_pylist()[0]["shared_joins"]
    create(db, "later", (5, 5))
    assert the_join(db)._schedule == "mqt"
    db.schedule()
    assert the_join(db)._schedule == "auto"
    with pytest.raises(SashError, match='"fifo" is not a schedule of shared joins'):
        db.schedule(join="fifo")


def test_windows_that_leave_one_after_the_other_part_no_instant(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part ended where the window that had got farthest was, and others were in the middle of an instant."""
    for name, value in (("LITTLE", outputs.MET + 4), ("LARGEST", outputs.MET + 8), ("MOST", 9)):
        monkeypatch.setattr(outputs, name, value)
    monkeypatch.setattr(cycle, "MOST", 7)
    windows, rows = [(30, 3), (9, 2), (5, 5), (2, 9)], {"s": burst(3), "r": [(*row[:2], f"x{row[2]}") for row in burst(4)]}
    db = database(**{f"v{left}_{right}": (left, right) for left, right in windows})
    for name, of_stream in rows.items():
        db.push(name, of_stream)
    db.end()
    for one in windows:
        alone = database(alone=one)
        for name, of_stream in rows.items():
            alone.push(name, of_stream)
        alone.end()
        assert from_arrow(db.changes(f"v{one[0]}_{one[1]}")) == from_arrow(alone.changes("alone")), one


def burst(seed: int) -> Rows:
    """Several at one instant, and long pauses."""
    chance, ts, found = random.Random(seed), 0.0, list[tuple[object, ...]]()
    for number in range(400):
        ts += chance.choice([0, 0, 0, 0, 0, 0, 0, 1]) if number % 50 else 45
        found.append((ts, chance.randrange(3), number))
    return found
