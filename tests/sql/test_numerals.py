"""Numerals with exponents that no type reaches, and with more digits than Python makes an integer of."""

from __future__ import annotations

import time
from contextlib import nullcontext

import pytest

import sash
from sash.errors import SqlError

BEYOND_DECIMALS = "1e99999999999999999999999999"
LONG = "9" * 6_000
NUMERALS = (BEYOND_DECIMALS, "1e999999", "1e9999999", LONG, f"1e{LONG}")
SMALL = ("1e-999999", "1e-99999999999999999999999999", f"1e-{LONG}")
PLACES = (
    "SELECT a FROM s [RANGE {} SECONDS]",
    "SELECT a FROM s [RANGE INTERVAL '{}' DAYS]",
    "SELECT a FROM s [ROWS {}]",
    "SELECT a FROM s [RANGE 1 MINUTE] ORDER BY a LIMIT {}",
    "SELECT a FROM s [RANGE 1 MINUTE] ORDER BY {} LIMIT 1",
    "SELECT a FROM s [RANGE 1 MINUTE] GROUP BY {}",
    "SELECT SUM(a) OVER (ORDER BY m RANGE BETWEEN {} PRECEDING AND CURRENT ROW) AS y FROM s [RANGE 1 MINUTE]",
    "SELECT CAST('{}' AS BIGINT) AS y FROM s [RANGE 1 MINUTE]",
    "SELECT CAST(a AS DECIMAL({}, 2)) AS y FROM s [RANGE 1 MINUTE]",
)


@pytest.mark.parametrize("numeral", [*NUMERALS, *SMALL], ids=lambda numeral: f"{numeral:.20}")
@pytest.mark.parametrize("query", PLACES)
def test_a_numeral_of_any_exponent_is_refused_at_once(query: str, numeral: str) -> None:
    db = sash.connect()
    db.execute("CREATE STREAM s (ts TIMESTAMP, a BIGINT, m DECIMAL(10, 2)) TIMESTAMP BY ts")
    begun = time.process_time()
    is_nothing = "OVER" in query and numeral in SMALL  # a DOUBLE so near to zero is zero
    with nullcontext() if is_nothing else pytest.raises(SqlError):
        db.execute(f"CREATE MATERIALIZED VIEW v AS {query.format(numeral)}")
    assert time.process_time() - begun < 2


@pytest.mark.parametrize(
    "expression",
    [
        "ts + INTERVAL 99999999999999 DAYS",
        f"ts + INTERVAL {LONG} DAYS",
        f"ts - {LONG} * INTERVAL '1' DAY",
        "ts + (INTERVAL 6000 YEARS + INTERVAL 6000 YEARS)",
        "SUM(a) OVER (ORDER BY ts RANGE BETWEEN INTERVAL 99999999999999 DAYS PRECEDING AND CURRENT ROW)",
    ],
)
def test_an_interval_as_long_as_all_of_time_is_refused_before_a_row_meets_it(expression: str) -> None:
    db = sash.connect()
    db.execute("CREATE STREAM s (ts TIMESTAMP, a BIGINT) TIMESTAMP BY ts")
    with pytest.raises(SqlError, match="as long as all of time; use one of less than 10,000 years"):
        db.execute(f"CREATE MATERIALIZED VIEW v AS SELECT {expression} AS y FROM s [RANGE 1 MINUTE]")


def test_times_moved_beyond_the_calendar_are_null() -> None:
    db = sash.connect()
    db.execute("""
        CREATE STREAM s (ts TIMESTAMP, a BIGINT) TIMESTAMP BY ts;
        CREATE MATERIALIZED VIEW v AS
        SELECT ts + INTERVAL 9999 YEARS AS y, ts - INTERVAL 3652058 DAYS AS z, ts + a * INTERVAL '1' DAY AS w, TIMESTAMPADD(DAY, a, ts) AS u,
               CAST(ts AS DATE) + INTERVAL 119999 MONTHS AS d
        FROM s
    """)
    db.push("s", [("2024-01-01 12:00:00", 2**63 - 1)])
    assert db.view("v").to_pylist() == [dict.fromkeys("yzwud")]


def test_a_literal_beyond_every_double_is_refused_as_spark_does() -> None:
    db = sash.connect()
    with pytest.raises(SqlError, match="beyond every DOUBLE"):
        db.execute("SELECT 1e400 AS y")


def test_numbers_of_a_type_are_whole() -> None:
    db = sash.connect()
    with pytest.raises(SqlError, match="whole number"):
        db.execute("CREATE STREAM s (ts TIMESTAMP, m DECIMAL(5.7, 2)) TIMESTAMP BY ts")
