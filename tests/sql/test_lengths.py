"""Differences of times are lengths of time, not numbers."""

from __future__ import annotations

import pytest

import sash
from sash.database.embedded import EmbeddedDatabase
from sash.errors import SqlError


@pytest.fixture
def db() -> EmbeddedDatabase:
    db = sash.connect()
    db.execute("CREATE TABLE t (a TIMESTAMP, b TIMESTAMP, d DATE, e DATE, n INT)")
    db.execute("INSERT INTO t VALUES ('2024-01-03 12:00:00', '2024-01-01 00:00:00', '2024-01-03', '2024-01-01', 2)")
    return db


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("d - e > INTERVAL 1 DAY", True),
        ("d - e > INTERVAL 2 DAYS", False),
        ("a - b = INTERVAL 60 HOURS", True),
        ("a - e BETWEEN INTERVAL 2 DAYS AND INTERVAL 3 DAYS", True),
        ("e - a < INTERVAL 0 DAYS", True),
        ("a - b IN (INTERVAL 1 DAY, INTERVAL 60 HOURS)", True),
        ("a - b > d - e", True),
        ("(a - b) - (d - e) = INTERVAL 12 HOURS", True),
        ("-(a - b) < d - e", True),
        ("ABS(e - d) = INTERVAL 2 DAYS", True),
        ("d - e = n * INTERVAL 1 DAY", True),
        ("(d - e) * n = INTERVAL 4 DAYS", True),
        ("b + (d - e) = TIMESTAMP '2024-01-03'", True),
        ("(d - e) + b = TIMESTAMP '2024-01-03'", True),
        ("a - (a - b) = b", True),
        ("COALESCE(a - NULLIF(b, b), INTERVAL 1 DAY) = INTERVAL 1 DAY", True),
        ("CASE WHEN n = 2 THEN a - b END > INTERVAL 1 DAY", True),
        ("a - NULLIF(b, b) IS NULL", True),
        ("a - NULLIF(b, b) > INTERVAL 1 DAY", None),
        ("DATEDIFF(d, e) = 2 AND TIMESTAMPDIFF(HOUR, b, a) = 60", True),
        ("UNIX_MICROS(a) - UNIX_MICROS(b) = 216000000000", True),
    ],
)
def test_lengths_are_compared_and_move_times(db: EmbeddedDatabase, condition: str, expected: bool | None) -> None:
    db.execute(f"CREATE MATERIALIZED VIEW v AS SELECT {condition} AS x FROM t")
    assert db.view("v").to_pylist() == [{"x": expected}]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT n FROM t WHERE d - DATE '2023-12-31' > 1",
        "SELECT n FROM t WHERE a - b IN (1, 2)",
        "SELECT n FROM t WHERE a - b > '1'",
        "SELECT n FROM t WHERE n = INTERVAL 1 DAY",
        "SELECT n FROM t WHERE a - b > (SELECT MAX(n) FROM t)",
        "SELECT n FROM t WHERE a - b",
        "SELECT a - b AS x FROM t",
        "SELECT INTERVAL 1 DAY AS x FROM t",
        "SELECT (a - b) / 2 > INTERVAL 1 DAY AS x FROM t",
        "SELECT a - b + 1 > INTERVAL 1 DAY AS x FROM t",
        "SELECT CAST(a - b AS BIGINT) AS x FROM t",
        "SELECT CONCAT(a - b, '') AS x FROM t",
        "SELECT ARRAY(a - b) AS x FROM t",
        "SELECT CASE WHEN n = 1 THEN a - b ELSE 5 END > INTERVAL 1 DAY AS x FROM t",
        "SELECT MAX(a - b) AS x FROM t",
        "SELECT COUNT(a - b) AS x FROM t",
        "SELECT COUNT(*) AS x FROM t GROUP BY a - b",
        "SELECT n FROM t ORDER BY a - b LIMIT 1",
        "SELECT ROW_NUMBER() OVER (PARTITION BY a - b ORDER BY n) AS x FROM t",
        "SELECT LAG(a - b) OVER (ORDER BY n) AS x FROM t",
        "SELECT * FROM (VALUES (INTERVAL 1 DAY)) v",
    ],
)
def test_a_length_of_time_is_no_number(db: EmbeddedDatabase, query: str) -> None:
    """It was one of microseconds: d - DATE '2023-12-31' > 1 held for every later date."""
    with pytest.raises(SqlError, match=r"is not a value here; compare it with an INTERVAL, or count: DATEDIFF.* TIMESTAMPDIFF") as told:
        db.execute(f"CREATE MATERIALIZED VIEW v AS {query}")
    assert told.value.place is not None


def test_series_of_times_go_by_a_length(db: EmbeddedDatabase) -> None:
    db.execute("CREATE MATERIALIZED VIEW v AS SELECT COUNT(*) AS n FROM t, GENERATE_SERIES(t.b, t.a, INTERVAL 12 HOURS) AS g(x)")
    assert db.view("v").to_pylist() == [{"n": 6}]
