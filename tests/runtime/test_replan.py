"""A view that is planned anew while it runs: nobody notices but the clock."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from sash.database import replan
from sash.database.embedded import EmbeddedDatabase
from sash.testing.values import moment

SECOND = 1_000_000
STREAMS = "\n".join(f"CREATE STREAM {name} (ts TIMESTAMP, k INT, v INT) TIMESTAMP BY ts DELAY 1 SECOND;" for name in "abc")
R = "[RANGE 3 SECONDS]"

QUERIES = {
    "counted pairs": f"SELECT COUNT(*) AS n, MIN(a.v) AS least FROM a {R} JOIN b {R} ON a.k = b.k",
    "distinct": f"SELECT DISTINCT a.k FROM a {R} JOIN b {R} ON a.k = b.k",
    "negation": f"SELECT a.k, COUNT(*) AS n FROM a {R} JOIN c {R} ON a.k = c.k "
    f"WHERE NOT EXISTS (SELECT 1 FROM b [RANGE 20 MILLISECONDS] WHERE b.k = a.k) GROUP BY a.k",
    "three streams": f"SELECT COUNT(*) AS n, MAX(c.v) AS most FROM a {R} JOIN b {R} ON a.k = b.k JOIN c [RANGE 1 SECOND] ON b.k = c.k",
}  # fmt: skip


def rows(seed: int, count: int, keys: int, start: int = 0) -> list[tuple[object, ...]]:
    """A hundred a second, some a little late."""
    chance = random.Random(seed)
    at = [start + n * SECOND // 100 - chance.choice([0, 0, 0, SECOND // 2]) for n in range(count)]
    return [(moment(max(ts, 0)), chance.randrange(keys), chance.randrange(10)) for ts in at]


def play(sql: str, expiry: str, parts: list[dict[str, list[tuple[object, ...]]]], other: str = "w") -> tuple[EmbeddedDatabase, pa.Table]:
    db = EmbeddedDatabase(expiry=expiry)
    db.execute(f"{STREAMS} CREATE MATERIALIZED VIEW v AS {sql}; CREATE MATERIALIZED VIEW `{other}` AS SELECT k FROM a {R} WHERE v > 8")
    for part in parts:
        for start in range(0, max(map(len, part.values())), 500):
            for name, some in part.items():
                db.push(name, some[start : start + 500])
    db.end()
    return db, db.changes("v")


@pytest.mark.parametrize("name", QUERIES)
def test_nothing_shows(name: str) -> None:
    parts = [{stream: rows(place, 2500, 4) for place, stream in enumerate("abc")}]
    db, changes = play(QUERIES[name], "auto", parts)
    assert db._replanner.times > 0, db.analyze("v")
    other, expected = play(QUERIES[name], "direct", parts)
    assert other._replanner.times == 0
    assert changes.equals(expected) and changes.num_rows >= 4
    assert db.view("v").to_arrow().equals(other.view("v").to_arrow())
    assert db.changes("w").equals(other.changes("w"))


def test_no_name_of_another_view_is_in_the_way() -> None:
    """The new operators went by the name "v anew" for a moment, which may be another view's."""
    parts = [{stream: rows(place, 2500, 4) for place, stream in enumerate("abc")}]
    db, changes = play(QUERIES["counted pairs"], "auto", parts, "v anew")
    assert db._replanner.times > 0
    other, expected = play(QUERIES["counted pairs"], "direct", parts, "v anew")
    assert changes.equals(expected) and db.changes("v anew").equals(other.changes("v anew"))


def test_streams_that_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many values, then few, then many again."""
    monkeypatch.setattr(replan, "FIRST", 1000)
    monkeypatch.setattr(replan, "LAST", 1000)
    parts = [
        {s: rows(p, 3000, keys, start * SECOND) for p, s in enumerate("abc")}
        for start, keys in ((0, 100_000), (30, 3), (60, 100_000))
    ]
    db, changes = play(QUERIES["counted pairs"], "auto", parts)
    assert db._replanner.times > 0
    assert changes.equals(play(QUERIES["counted pairs"], "direct", parts)[1])


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) AS n FROM a JOIN b ON a.k = b.k",
        f"SELECT COUNT(*) AS n FROM a [PARTITION BY k ROWS 30] JOIN b {R} ON a.k = b.k",
    ],
)
def test_what_cannot_be_made_again_goes_on_as_it_was(sql: str) -> None:
    parts = [{stream: rows(place, 2500, 3) for place, stream in enumerate("ab")}]
    db, changes = play(sql, "auto", parts)
    assert db._replanner.times == 0
    assert changes.equals(play(sql, "direct", parts)[1])


def test_views_come_and_go_after_it() -> None:
    parts = [{stream: rows(place, 2500, 4) for place, stream in enumerate("abc")}]
    db, _ = play(QUERIES["counted pairs"], "auto", parts)
    answer = db.view("v").to_arrow()
    db.execute(f"CREATE MATERIALIZED VIEW again AS {QUERIES['counted pairs']}")
    assert db.view("again").to_arrow().equals(answer)
    db.execute("DROP VIEW v")
    db.push("a", [(moment(26 * SECOND), 1, 1)])
    assert len(db.view("again")) == 1
