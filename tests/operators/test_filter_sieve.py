"""Many filters of one stream, tested together over few rows, give what each of them gives, and have counted what they saw."""

from __future__ import annotations

import random
from typing import Any

import sash
from sash.database.embedded import EmbeddedDatabase

CONDITIONS = (
    "v = 1", "v <> 1", "v > 2", "v BETWEEN 1 AND 2", "v IS NULL", "v IS NOT NULL AND k = 'ann'", "k = 'bob'", "k <> 'bob'",
    "x < 0.5", "x >= 0.5 AND v = 2", "x = 0.0", "v = 77", "k IS NULL AND v < 3", "v + 1 = 2", "v = 3 AND v + 1 = 4", "k = 'nobody'",
)
STREAM = "CREATE STREAM s (ts TIMESTAMP, k STRING, v BIGINT, x DOUBLE) TIMESTAMP BY ts;"


def connected() -> EmbeddedDatabase:
    db: EmbeddedDatabase = sash.connect(history="all")
    db.execute(STREAM)
    for number, condition in enumerate(CONDITIONS):
        db.execute(
            f"CREATE MATERIALIZED VIEW v{number} AS SELECT k, v, COUNT(*) AS n FROM s [RANGE {3 + number % 2} SECONDS] "
            f"WHERE {condition} GROUP BY k, v"
        )
    return db


def rows(seed: int, count: int = 120) -> list[tuple[Any, ...]]:
    chance = random.Random(seed)
    return [
        (place // 3, chance.choice([None, "ann", "bob"]), chance.choice([None, 1, 2, 3]), chance.choice([None, -0.0, 0.25, 0.75]))
        for place in range(count)
    ]


def played(pieces: list[list[tuple[Any, ...]]]) -> EmbeddedDatabase:
    db = connected()
    for piece in pieces:
        db.push("s", piece)
    db.end()
    return db


def counts(db: EmbeddedDatabase) -> dict[str, tuple[list[int], list[int]]]:
    """Rows that came to every operator and that it gave."""
    figures = db._running().metrics()["operators"]
    return {
        one["id"]: ([arc["positive"] for arc in one["arcs"]], [one["out"]["positive"], one["out"]["negative"]])
        for one in figures if one["operator"] in ("Filter", "SlidingGroupBy", "TimeWindow")
    }


def test_one_row_at_a_time_gives_what_all_at_once_give() -> None:
    every = rows(1)
    one, whole = played([[row] for row in every]), played([every])
    for number in range(len(CONDITIONS)):
        assert one.changes(f"v{number}").to_pylist() == whole.changes(f"v{number}").to_pylist()
    assert one.changes("v0").num_rows and not one.changes("v15").num_rows
    assert counts(one) == counts(whole)


def test_views_that_come_later_are_tested_too() -> None:
    """The strings that they compare with get their codes then."""
    db, every = connected(), rows(2)
    for row in every[:60]:
        db.push("s", [row])
    db.execute("CREATE MATERIALIZED VIEW late AS SELECT k, v FROM s [RANGE 1 SECONDS] WHERE k = 'eve'; DROP VIEW v3")
    db.push("s", [(20, "eve", 5, None), (21, "bob", 1, 0.5), (23, "eve", 6, None)])
    db.end()
    assert [(row["_op"], row["v"]) for row in db.changes("late").to_pylist()] == [(1, 5), (-1, 5), (1, 6)]
