"""Aggregates over windows of one stream that jump by time are added up once, in slices: what is shared, and what EXPLAIN says of it."""

from __future__ import annotations

import random

import numpy as np
import pytest

from sash.database.embedded import EmbeddedDatabase
from sash.operators.shared_groups.operator import SharedGroups
from sash.operators.shared_groups.spec import slice_width
from sash.runtime import shard
from sash.schema import MICROSECOND, SECOND
from sash.testing import Oracle
from sash.testing.comparing import assert_same
from sash.testing.tables import from_arrow

STREAM = "CREATE STREAM s (ts TIMESTAMP, k STRING, v BIGINT, w BIGINT, x DOUBLE) TIMESTAMP BY ts;"
VIEWS = {
    "sums": "SELECT k, COUNT(*) AS n, SUM(v) AS t FROM s [RANGE 10 SECONDS SLIDE 1 SECOND] GROUP BY k",
    "extremes": "SELECT k, MAX(w) AS t, MIN(x) AS m, AVG(v) AS g FROM s [RANGE 6 SECONDS SLIDE 2 SECONDS] GROUP BY k",
    "having": "SELECT k, MAX(v) AS t, COUNT(w) AS c FROM s [RANGE 30 SECONDS SLIDE 5 SECONDS] GROUP BY k HAVING COUNT(*) > 2",
    "large": "SELECT k, SUM(v * 80000000000000000) AS t FROM s [RANGE 8 SECONDS SLIDE 4 SECONDS] GROUP BY k",
    "doubles": "SELECT k, SUM(x) AS t, AVG(x) AS g, COUNT(*) AS n FROM s [RANGE 12 SECONDS SLIDE 3 SECONDS] GROUP BY k",
    "other_keys": "SELECT k, v, COUNT(*) AS n FROM s [RANGE 3 SECONDS SLIDE 3 SECONDS] GROUP BY k, v",
}
Rows = list[tuple[object, ...]]


def rows(seed: int, count: int = 300) -> Rows:
    """Many at one instant, and gaps that are longer than all windows."""
    chance, at, found = random.Random(seed), 0.0, list[tuple[object, ...]]()
    for _ in range(count):
        at += chance.choice([0, 0, 0.25, 0.5, 1, 3]) if chance.random() < 0.99 else 100
        key, value = chance.choice(["a", "b", "c", None]), chance.choice([None, 1, -5, 7, 100])
        found.append((at, key, value, chance.randrange(50), chance.choice([None, 0.5, -2.25, 8.0])))
    return found


def database(*names: str) -> EmbeddedDatabase:
    db = EmbeddedDatabase()
    db.execute(STREAM)
    for name in names:
        create(db, name)
    return db


def create(db: EmbeddedDatabase, name: str) -> None:
    db.execute(f"CREATE MATERIALIZED VIEW {name} AS {VIEWS[name]}")


def push(db: EmbeddedDatabase, some: Rows, size: int) -> None:
    for start in range(0, len(some), size):
        db.push("s", some[start : start + size])


def shared(db: EmbeddedDatabase) -> list[SharedGroups]:
    return [node.operator for node in db._running().graph.nodes if isinstance(node.operator, SharedGroups)]


def check(db: EmbeddedDatabase, some: Rows, *names: str) -> None:
    """Every view against the answer of DuckDB at every instant."""
    db.end()
    for name in names:
        oracle = Oracle(f"{STREAM} CREATE MATERIALIZED VIEW {name} AS {VIEWS[name]};", {"s": some})
        assert_same(oracle.changelog(name), from_arrow(db.changes(name)))


@pytest.mark.parametrize("size", [1, 7, 300])
def test_windows_and_aggregates_that_differ_share_their_slices(size: int) -> None:
    db, some = database(*VIEWS), rows(size)
    push(db, some, size)
    assert sorted(len(one._taps) for one in shared(db)) == [1, 1, 4]  # an expression is read by itself, and so are other keys
    check(db, some, *VIEWS)


@pytest.mark.parametrize("late", ["sums", "extremes", "having", "doubles"])
def test_one_that_comes_later_joins_in(late: str) -> None:
    """It may want other columns, and a longer window: slices come back from rows that are in memory for another view."""
    others = [name for name in ("sums", "extremes", "having", "doubles") if name != late]
    db, alone, some = database(*others), database(late), rows(5)
    db.execute("CREATE MATERIALIZED VIEW keeps AS SELECT COUNT(*) AS n FROM s [RANGE 5 MINUTES]")
    push(db, some[:150], 10)
    create(db, late)
    push(alone, some[:150], 10)
    assert len(shared(db)) == 1
    for start in range(150, 300, 10):
        push(db, some[start : start + 10], 10)
        push(alone, some[start : start + 10], 10)
        assert db.view(late).to_arrow().equals(alone.view(late).to_arrow())
    check(db, some, *others)


SMALLER = (
    "SELECT k, SUM(v) AS t, COUNT(*) AS n FROM s [RANGE 6 SECONDS SLIDE 2 SECONDS] GROUP BY k",
    "SELECT k, MAX(w) AS t, AVG(v) AS g FROM s [RANGE 4 SECONDS SLIDE 1 SECOND] GROUP BY k HAVING MAX(w) > 10",
    "SELECT COUNT(*) AS c, CONCAT(k, '!') AS mark, k FROM s [RANGE 1 SECOND SLIDE 1 SECOND] GROUP BY k",
    "SELECT k, MIN(w) AS m, 1000 / (COUNT(*) - 2) AS q FROM s [RANGE 9 SECONDS SLIDE 3 SECONDS] GROUP BY k",
)  # fmt: skip


@pytest.mark.parametrize("query", SMALLER)
def test_one_that_wants_no_more_begins_with_what_is_there(query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No row that is in memory is played again, and the view is what it would be if it had been."""
    played: list[object] = []
    play = shard.back_fill
    monkeypatch.setattr(shard, "back_fill", lambda *asked, **named: played.append(asked) or play(*asked, **named))
    db, some = database(), rows(8)
    keeps = "SELECT k, SUM(v) AS t, COUNT(v) AS c, MAX(w) AS m, MIN(w) AS l FROM s [RANGE 20 SECONDS SLIDE 1 SECOND] GROUP BY k"
    db.execute(f"CREATE MATERIALIZED VIEW keeps AS {keeps}")
    alone = database()
    alone.execute("CREATE MATERIALIZED VIEW keeps AS SELECT COUNT(*) AS n FROM s [RANGE 20 SECONDS SLIDE 1 SECOND]")
    for number, start in enumerate(range(0, 300, 10)):
        if number % 7 == 6:
            for one in (db, alone):
                played.clear()
                one.execute(f"CREATE MATERIALIZED VIEW late{number} AS {query}")
                assert bool(played) == (one is alone and number == 6)  # later ones of both are views of known queries
        for one in (db, alone):
            one.push("s", some[start : start + 10])
        for late in (at for at in range(number + 1) if at % 7 == 6):
            assert db.view(f"late{late}").to_arrow().equals(alone.view(f"late{late}").to_arrow())
    for late in range(6, 30, 7):
        assert db.complete_since(f"late{late}") == alone.complete_since(f"late{late}")
        assert from_arrow(db.changes(f"late{late}")) == from_arrow(alone.changes(f"late{late}"))
    assert len(shared(db)) == 1


def test_sums_of_doubles_are_exact_however_wide_they_become() -> None:
    """Against rows that are kept and added up one by one, to the bit: magnitudes grow in both directions while windows run."""
    chance = random.Random(9)
    sliced, kept = database("doubles"), EmbeddedDatabase(expiry="direct")
    kept.execute(f"{STREAM} CREATE MATERIALIZED VIEW doubles AS {VIEWS['doubles']}")
    for second in range(60):
        reach = 1 + 10 * second // 2
        some = [
            (second + place / 20, chance.choice("ab"), 1, 1, chance.choice([0.1, -0.1, chance.choice([1, -1]) * 10.0**power]))
            for place, power in enumerate(chance.randrange(-reach, reach) for _ in range(20))
        ]
        if 20 <= second < 23:
            some[3] = (*some[3][:4], chance.choice([float("inf"), float("-inf"), float("nan")]))
        for db in (sliced, kept):
            if second == 30:
                db.execute("CREATE MATERIALIZED VIEW late AS SELECT k, SUM(x) AS t FROM s [RANGE 6 SECONDS SLIDE 2 SECONDS] GROUP BY k")
            db.push("s", some)
    assert len(shared(sliced)) == 1 and not shared(kept)
    for name in ("doubles", "late"):
        for column in ("t", *("g" for _ in range(name == "doubles"))):
            mine, theirs = (np.asarray(db.changes(name)[column].fill_null(0)).view(np.int64) for db in (sliced, kept))
            assert len(mine) > 30 and (mine == theirs).all()


def test_the_last_one_that_goes_takes_all_with_it() -> None:
    db, some = database("sums", "extremes"), rows(6)
    push(db, some[:100], 10)
    for name in ("extremes", "sums"):
        db.execute(f"DROP VIEW {name}")
        assert len(shared(db)) == (name == "extremes")
    create(db, "having")
    push(db, some[100:], 10)
    db.end()
    assert len(db.changes("having"))


def test_slices_are_as_long_as_a_usual_span_that_divides_the_slide() -> None:
    spans = {1.5: 0.1, 1: 1, 5: 1, 20: 10, 60: 60, 90: 10, 600: 600, 3600: 3600, 7200: 3600, 1.001: 1.001}
    found = {seconds: slice_width(round(seconds * SECOND)) / SECOND for seconds in spans}
    assert found == spans
    assert slice_width(7 * MICROSECOND) == 1 * MICROSECOND


def test_explain_says_what_is_shared_with_whom() -> None:
    db = database("sums", "extremes")
    text = "groups of s by k in slices of 1 SECOND: 2 windows of 6 to 10 s, 2 queries"
    (line,) = [line for line in db.explain("sums").splitlines() if line.startswith("groups of s")]
    assert line == f"{text}  with: extremes"
    assert [one["shared_groups"] for one in db.execute("SHOW QUERIES").to_pylist()] == [text, text]


def test_explain_says_why_something_is_not_in_slices() -> None:
    db, window = database("sums"), "FROM s [RANGE 6 SECONDS SLIDE 2 SECONDS]"
    assert "not in slices: VAR_POP(x)" in db.explain(f"SELECT k, COUNT(*) AS n, SUM(x) AS t, VAR_POP(x) AS p {window} GROUP BY k")
    assert "not in slices: it has no GROUP BY" in db.explain(f"SELECT COUNT(*) AS n {window}")
    short = "SELECT k, COUNT(*) AS n FROM s [RANGE 1 SECOND SLIDE 20 MILLISECONDS] GROUP BY k"
    assert "not in slices: 10 MILLISECONDS is too short for one" in db.explain(short)
    assert "not in slices" not in db.explain(VIEWS["sums"])
    assert "not in slices" not in db.explain("SELECT k, SUM(x) AS t FROM s [RANGE 6 SECONDS] GROUP BY k")
