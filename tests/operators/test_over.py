"""Window functions of every kind against the oracle, over rows that come and go, and a few by hand."""

from __future__ import annotations

import pytest

import sash
from sash.testing import Oracle, assert_same
from sash.testing.tables import from_arrow
from shapes import STREAMS, make_rows

FRAMES = (
    "ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING",
    "ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING",
    "ROWS UNBOUNDED PRECEDING",
    "GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW",
    "GROUPS BETWEEN 1 FOLLOWING AND 2 FOLLOWING",
    "RANGE BETWEEN CURRENT ROW AND CURRENT ROW",
    "RANGE BETWEEN 1.5 PRECEDING AND 0.25 FOLLOWING",
    "RANGE BETWEEN 0.5 FOLLOWING AND UNBOUNDED FOLLOWING",
)
VALUES = (
    "LAG(bidder) IGNORE NULLS OVER (PARTITION BY tag ORDER BY price)",
    "LEAD(price, 2) IGNORE NULLS OVER (PARTITION BY tag ORDER BY ts)",
    "LAG(bidder, -1, 'nobody') OVER (PARTITION BY auction ORDER BY price)",
    "LEAD(price, 0) OVER (ORDER BY price)",
    "FIRST_VALUE(price) IGNORE NULLS OVER (PARTITION BY tag ORDER BY ts ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING)",
    "LAST_VALUE(price) IGNORE NULLS OVER (PARTITION BY tag ORDER BY ts ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)",
    "NTH_VALUE(bidder, 2) OVER (PARTITION BY tag ORDER BY ts ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING)",
    "FIRST_VALUE(bidder) OVER (PARTITION BY auction ORDER BY price DESC)",
    "NTILE(4) OVER (PARTITION BY tag ORDER BY price)",
)
AGGREGATES = (
    "COUNT(DISTINCT bidder) OVER (PARTITION BY tag)",
    "STDDEV_POP(price) OVER (PARTITION BY auction ORDER BY price)",
    "SUM(price) FILTER (WHERE tag = 'x') OVER (ORDER BY price DESC NULLS LAST)",
    "BOOL_OR(price > 2) OVER (PARTITION BY bidder ORDER BY ts RANGE BETWEEN INTERVAL 3 SECONDS PRECEDING AND CURRENT ROW)",
)
QUERIES = [
    *(f"SELECT auction, price, SUM(price) OVER (PARTITION BY auction ORDER BY price {frame}) AS s, "
      f"MAX(bidder) OVER (PARTITION BY auction ORDER BY price {frame}) AS m FROM bids [RANGE 6 SECONDS]" for frame in FRAMES),
    *(f"SELECT ts, auction, bidder, price, tag, {call} AS w FROM bids [RANGE 5 SECONDS]" for call in (*VALUES, *AGGREGATES)),
    "SELECT seller, SUM(amount) OVER (ORDER BY amount DESC RANGE BETWEEN 0.6 PRECEDING AND CURRENT ROW) AS s, "
    "COUNT(*) OVER (ORDER BY day RANGE BETWEEN INTERVAL 3 DAYS PRECEDING AND CURRENT ROW) AS n FROM asks [RANGE 5 SECONDS]",
    "SELECT DISTINCT auction, RANK() OVER (PARTITION BY auction ORDER BY price) AS r FROM bids [RANGE 5 SECONDS]",
    "SELECT bidder, price FROM bids [RANGE 6 SECONDS] ORDER BY SUM(price) OVER (PARTITION BY bidder) DESC LIMIT 3",
    "SELECT tag, r, COUNT(*) AS n FROM (SELECT tag, RANK() OVER (PARTITION BY tag ORDER BY price) AS r FROM bids [ROWS 9]) GROUP BY tag, r",
]  # fmt: skip
JOB = STREAMS + "".join(f"CREATE MATERIALIZED VIEW v{n} AS {query};\n" for n, query in enumerate(QUERIES))
ROWS = make_rows(5, 25)


@pytest.fixture(scope="module")
def both() -> tuple[Oracle, sash.Database]:
    db = sash.connect()
    db.execute(JOB)
    for name in ("sellers", "bids", "asks", "quiet"):
        db.push(name, ROWS[name])
    db.end()
    return Oracle(JOB, ROWS), db


@pytest.mark.parametrize("number", range(len(QUERIES)), ids=lambda number: QUERIES[number])
def test_like_the_oracle(both: tuple[Oracle, sash.Database], number: int) -> None:
    oracle, db = both
    assert_same(oracle.changelog(f"v{number}"), from_arrow(db.changes(f"v{number}")))


def rows_of(db: sash.Database, view: str) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in db.view(view).to_pylist()]


def test_many_columns() -> None:
    """The results have their NULLs in another mask lane than the rows."""
    db = sash.connect()
    names = [f"c{n}" for n in range(31)]
    db.execute(f"CREATE TABLE t ({', '.join(f'{name} INT' for name in names)})")
    db.execute("CREATE MATERIALIZED VIEW v AS SELECT *, LAG(c1) OVER (ORDER BY c0) AS a, LEAD(c1) OVER (ORDER BY c0) AS b FROM t")
    db.push("t", [(1, 5, *[None] * 29), (2, None, *[7] * 29)])
    assert rows_of(db, "v") == [(1, 5, *[None] * 29, None, None), (2, None, *[7] * 29, 5, None)]


def test_of_equal_rows_each_has_a_place() -> None:
    db = sash.connect()
    db.execute("CREATE TABLE t (k INT)")
    db.execute("CREATE MATERIALIZED VIEW v AS SELECT k, SUM(k) OVER (ORDER BY k ROWS UNBOUNDED PRECEDING) AS s FROM t")
    db.push("t", [(1,), (1,), (1,)])
    assert rows_of(db, "v") == [(1, 1), (1, 2), (1, 3)]
    db.delete("t", [(1,)])
    assert rows_of(db, "v") == [(1, 1), (1, 2)]


def test_aggregates_of_the_user_and_wide_decimals() -> None:
    db = sash.connect()
    db.execute("CREATE AGGREGATE span(x DOUBLE) RETURNS DOUBLE AS MAX(x) - MIN(x)")
    db.execute("CREATE TABLE t (k INT, d DECIMAL(30, 2))")
    db.execute("CREATE MATERIALIZED VIEW v AS SELECT k, SUM(d) OVER w AS s, span(k) OVER w AS w, LAG(d) OVER w AS l "
               "FROM t WINDOW w AS (ORDER BY k)")  # fmt: skip
    db.push("t", [(1, "12345678901234567890.25"), (4, "1.50"), (6, None)])
    assert [tuple(map(str, row)) for row in rows_of(db, "v")] == [
        ("1", "12345678901234567890.25", "0.0", "None"),
        ("4", "12345678901234567891.75", "3.0", "12345678901234567890.25"),
        ("6", "12345678901234567891.75", "5.0", "1.50"),
    ]
