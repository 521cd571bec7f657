"""A table that a stream of changes makes is what its changes add up to, at every instant."""

from __future__ import annotations

import random

import pytest

import sash
from sash.testing import Oracle, from_arrow
from sash.testing.comparing import assert_same

STREAMS = """
CREATE STREAM s (ts TIMESTAMP, k STRING) TIMESTAMP BY ts;
CREATE STREAM c (ts TIMESTAMP, op INT, k STRING, name STRING) TIMESTAMP BY ts;
"""
TABLE = "CREATE TABLE t (k STRING, name STRING) WITH (changes = 'c');"
SUM = "(SELECT k, name FROM c GROUP BY k, name HAVING SUM(op) > 0)"
QUERIES = (
    "SELECT s.k, t.name FROM s [RANGE 5 SECONDS] s JOIN {t} t ON s.k = t.k",
    "SELECT s.k, t.name FROM s [ROWS 4] s LEFT JOIN {t} t ON s.k = t.k",
    "SELECT t.name, COUNT(*) AS n FROM {t} t GROUP BY t.name",
    "SELECT k FROM {t} t EXCEPT SELECT k FROM s [RANGE 5 SECONDS]",
)


def make(seed: int) -> dict[str, list[tuple[object, ...]]]:
    """Rows, and changes of a table that holds a row at most once."""
    chance = random.Random(seed)
    held: set[tuple[object, object]] = set()
    changes = []
    for second in range(0, 40, 2):
        row = (chance.choice(["ann", "bob", None]), chance.choice(["x", "y"]))
        changes.append((second, -1 if row in held else 1, *row))
        held ^= {row}
    return {"s": [(second, chance.choice(["ann", "bob", None])) for second in range(1, 40)], "c": changes}


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("size", [3, 100])
def test_it_is_what_its_changes_add_up_to(query: str, size: int) -> None:
    rows = make(size)
    view = "CREATE MATERIALIZED VIEW v AS "
    db = sash.connect()
    db.execute(STREAMS + TABLE + view + query.format(t="t"))
    for start in range(0, 40, size):
        for name, part in rows.items():
            db.push(name, part[start : start + size])
    db.end()
    assert_same(Oracle(STREAMS + view + query.format(t=SUM), rows).changelog("v"), from_arrow(db.changes("v")))
