"""Subqueries in the condition of a LATERAL join, which may name columns of both sides: as the same condition elsewhere.

DuckDB takes none there, so it recomputes the query with the condition in WHERE, or in what is joined.
"""

from __future__ import annotations

import random
from datetime import datetime, timedelta

import pytest

import sash
from sash.testing.comparing import assert_same
from sash.testing.oracle import Oracle
from sash.testing.tables import from_arrow

STREAMS = "".join(f"CREATE STREAM {name} (ts TIMESTAMP, k INT, g INT, v INT) TIMESTAMP BY ts;\n" for name in "abc")
A, B, C = (f"{name} [RANGE 5 SECONDS] {name}" for name in "abc")
ROWS = f"LATERAL (SELECT b.k, b.v, b.g FROM {B} WHERE b.k = a.k) x"
GROUP = f"LATERAL (SELECT COUNT(*) AS n, MAX(b.v) AS v FROM {B} WHERE b.k = a.k) x"
GREATEST = f"x.v >= (SELECT MAX(c.v) FROM {C} WHERE c.k = x.k AND c.g = a.g)"
SOME = f"EXISTS (SELECT 1 FROM {C} WHERE c.g = x.g AND c.v < a.v)"
ONE_OF = f"x.v IN (SELECT c.v FROM {C} WHERE c.g = a.g)"
MORE = f"x.n > (SELECT COUNT(*) FROM {C} WHERE c.v = x.v AND c.g = a.g)"
NONE_OF = "{x}.v NOT IN (SELECT c.v FROM " + C + " WHERE c.g = {x}.g AND c.k = a.k)"
LAST = f"LATERAL (SELECT c.v, c.k FROM {C} WHERE c.k = x.k) y"
SEEN = "EXISTS (SELECT 1 FROM b [RANGE 3 SECONDS] b2 WHERE b2.g = a.g AND b2.v = y.v)"

PAIRS = {
    "a value": (f"SELECT a.k, x.v FROM {A} JOIN {ROWS} ON {GREATEST}", f"SELECT a.k, x.v FROM {A} JOIN {ROWS} ON TRUE WHERE {GREATEST}"),
    "a row": (f"SELECT a.k, x.v FROM {A} JOIN {ROWS} ON {SOME}", f"SELECT a.k, x.v FROM {A} JOIN {ROWS} ON TRUE WHERE {SOME}"),
    "a group": (f"SELECT a.k, x.n FROM {A} JOIN {GROUP} ON {MORE}", f"SELECT a.k, x.n FROM {A} JOIN {GROUP} ON TRUE WHERE {MORE}"),
    "two joins": (
        f"SELECT a.k, x.v, y.v AS w FROM {A} JOIN {ROWS} ON {ONE_OF} JOIN {LAST} ON {SEEN}",
        f"SELECT a.k, x.v, y.v AS w FROM {A} JOIN {ROWS} ON TRUE JOIN {LAST} ON TRUE WHERE {ONE_OF} AND {SEEN}",
    ),
    "rows of the left side that have none": (
        f"SELECT a.k, x.v FROM {A} LEFT JOIN {ROWS} ON x.g = a.g AND {NONE_OF.format(x='x')}",
        f"SELECT a.k, x.v FROM {A} LEFT JOIN LATERAL "
        f"(SELECT b.v FROM {B} WHERE b.k = a.k AND b.g = a.g AND {NONE_OF.format(x='b')}) x ON TRUE",
    ),
}


def rows(seed: int) -> dict[str, list[tuple[object, ...]]]:
    chance, found = random.Random(seed), {}
    for name in "abc":
        second, found[name] = 0, []
        for _ in range(40):
            second += chance.choice((0, 0, 1, 1, 2))
            values = (chance.choice((0, 1, 2, None)), chance.choice((0, 1, 2, None)), chance.choice((0, 1, 2, 3, None)))
            found[name].append((datetime(2024, 1, 1) + timedelta(seconds=second), *values))
    return found


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("seed", [0, 1])
def test_a_subquery_in_the_condition_of_a_lateral_join(pair: str, seed: int) -> None:
    """Columns of the subquery were taken for those of the right side."""
    on, elsewhere = (f"{STREAMS} CREATE MATERIALIZED VIEW answer AS {query};" for query in PAIRS[pair])
    given = rows(seed)
    db = sash.connect(history="all")
    db.execute(on)
    in_time = sorted((row[0], stream, place) for stream in given for place, row in enumerate(given[stream]))
    for _, stream, place in in_time:
        db.push(stream, [given[stream][place]])
    db.end()
    expected = Oracle(elsewhere, given).changelog("answer")
    assert expected
    assert_same(expected, from_arrow(db.changes("answer")))
