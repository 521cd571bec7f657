"""Views over one join with other conditions meet in a common join by themselves, say so, and part again when the others go."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sash.database.embedded import EmbeddedDatabase

STREAMS = "".join(f"CREATE STREAM {name} (ts TIMESTAMP, k BIGINT, v BIGINT) TIMESTAMP BY ts;" for name in "sr")
VIEWS, BATCH = 14, 5_000


def query(least: int) -> str:
    return f"SELECT a.k, a.v, b.v AS w FROM s [RANGE 2 SECONDS] a JOIN r [RANGE 2 SECONDS] b ON a.k = b.k WHERE a.v > {least}"


def push(db: EmbeddedDatabase, number: int) -> None:
    chance = np.random.default_rng(number)
    instants = pa.array(np.arange(number * BATCH, (number + 1) * BATCH) * 100).view(pa.timestamp("us"))
    for stream in "sr":
        db.push(stream, pa.table({"ts": instants, "k": chance.integers(0, 5000, BATCH), "v": chance.integers(0, 100, BATCH)}))


def shared(db: EmbeddedDatabase) -> set[str]:
    return {str(one["shared_joins"]) for one in db.execute("SHOW QUERIES").to_pylist()}


def is_above(db: EmbeddedDatabase, name: str) -> bool:
    """Whether EXPLAIN shows the filter of a view above its join."""
    lines = str(db.explain(name)).split("rows leave")[1]
    return lines.index("Filter") < lines.index("LeavingJoin")


def test_many_views_meet_in_a_common_join_and_the_last_one_leaves_it() -> None:
    db, alone = EmbeddedDatabase(), EmbeddedDatabase()
    for one in (db, alone):
        one.execute(STREAMS + f"CREATE MATERIALIZED VIEW q3 AS {query(33)}")
    for place in [place for place in range(VIEWS) if place != 3]:
        db.execute(f"CREATE MATERIALIZED VIEW q{place} AS {query(5 * place)}")
    assert not is_above(db, "q3")
    for number in range(6):
        for one in (db, alone):
            push(one, number)
    text = "join s-r by k: 1 window of 2 s, {} queries, schedule: auto"
    assert shared(db) == {text.format(VIEWS)} and is_above(db, "q3") and not is_above(alone, "q3")
    db.execute(f"CREATE MATERIALIZED VIEW late AS {query(77)}")
    assert shared(db) == {text.format(VIEWS + 1)}
    for name in [f"q{place}" for place in range(VIEWS) if place != 3] + ["late"]:
        db.execute(f"DROP VIEW {name}")
    assert shared(db) == {""} and not is_above(db, "q3")
    for one in (db, alone):
        push(one, 6)
        one.end()
    assert db.changes("q3").equals(alone.changes("q3"))
