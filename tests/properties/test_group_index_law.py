"""The law of approximate answers: none is further from the exact one than it says, whatever values come and go."""

from __future__ import annotations

import math
import random
from decimal import Decimal

import pytest

import sash
from sash.database.database import Database

JOB = """
    CREATE STREAM s (ts TIMESTAMP, i INT, b BIGINT, v DOUBLE, d DECIMAL(12, 3)) TIMESTAMP BY ts DELAY 2 SECONDS;
    CREATE MATERIALIZED VIEW twice AS SELECT i, b, v, d FROM s [ROWS 30] UNION ALL SELECT i, b, v, d FROM s [RANGE 3 SECONDS];
"""
COLUMNS = ("i", "b", "v", "d")
SOURCES = ("s [RANGE 6 SECONDS]", "s [ROWS 50 SLIDE 10]", "twice")


def value(chance: random.Random, column: str, drift: int) -> object:
    if chance.random() < 0.1:
        return None
    whole = chance.choice([chance.randint(-5, 5), int(chance.gauss(drift, 30)), drift])
    if column == "b":
        return chance.choice([whole, 2**62 + whole, -(2**60) + whole, whole])
    if column == "v":
        return chance.choice([whole / 4, whole * 1.1, math.nan, math.inf, -math.inf, 0.0, -0.0, whole / 4])
    return whole if column == "i" else Decimal(whole) / 8


def figures(db: Database, sql: str) -> dict[str, float | None]:
    return next(iter(db.query(sql)), {})


def is_within(exact: object, found: float | None, error: float | None) -> bool:
    """Whether the exact figure is as near as was said."""
    if exact is None or found is None or error is None:
        return exact is None and found is None and error is None
    exact = float(exact)  # type: ignore[arg-type]
    if math.isinf(error) or found == exact:
        return True
    if math.isnan(exact) or math.isnan(found):
        return math.isnan(exact) and math.isnan(found)
    return abs(exact - found) <= error * (1 + 1e-12)  # a sum of two floats is rounded here


@pytest.mark.parametrize("seed", range(4))
def test_no_figure_is_further_from_the_exact_one_than_it_says(seed: int) -> None:
    chance, db = random.Random(seed), sash.connect()
    db.execute(JOB)
    groups = {(source, column): chance.choice([1, 2, 7, 40]) for source in SOURCES for column in COLUMNS}
    for number, ((source, column), count) in enumerate(groups.items()):
        db.execute(f"CREATE INDEX i{number} ON {source} ({column}) USING GROUP({count})")
    second = 0.0
    for step in range(25):
        rows = []
        for _ in range(chance.choice([1, 5, 60])):
            second += chance.choice([0, 0.05, 0.2])
            rows.append((second, *(value(chance, column, 10 * step) for column in COLUMNS)))
        db.push("s", rows)
        for _ in range(4):
            source, column, rank = chance.choice(SOURCES), chance.choice(COLUMNS), chance.choice([0, 0.1, 0.5, 0.9, 1])
            check_percentile(db, source, column, rank)
            check_count(db, source, column, chance.choice([">", ">=", "<", "<="]), chance.choice([-3, 0, 10 * step]))
            check_histogram(db, source, column, groups[source, column])


def check_percentile(db: Database, source: str, column: str, rank: float) -> None:
    sql = f"PERCENTILE({column}, {rank}) AS p, MEDIAN({column}) AS m, COUNT({column}) AS n FROM {source}"
    found, exact = figures(db, f"SELECT APPROXIMATE {sql}"), figures(db, f"SELECT {sql}")
    for name in "pmn":
        assert is_within(exact[name], found[name], found[f"{name}_error"]), (sql, exact, found)
    assert found["n_error"] == 0


def check_count(db: Database, source: str, column: str, sign: str, limit: int) -> None:
    written = {"i": f"{limit}", "b": f"{limit}", "v": f"CAST({limit} AS DOUBLE)", "d": f"{limit}.000"}[column]
    where = f"FROM {source} WHERE {column} {sign} {written}"
    found, exact = figures(db, f"SELECT APPROXIMATE COUNT(*) AS n {where}"), figures(db, f"SELECT COUNT(*) AS n {where}")
    assert is_within(exact["n"], found["n"], found["n_error"]), (where, exact, found)


def check_histogram(db: Database, source: str, column: str, groups: int) -> None:
    ranges = list(db.query(f"SELECT APPROXIMATE HISTOGRAM({column}) FROM {source}"))
    values = [float(row[column]) for row in db.query(f"SELECT {column} FROM {source} WHERE {column} IS NOT NULL")]
    assert len(ranges) <= groups + 1  # NaN has a row of its own
    for one in ranges:
        inside = [value for value in values if one["lowest"] <= value <= one["highest"] or (math.isnan(one["lowest"]) and math.isnan(value))]
        # A number that is no float is between two, and these may be in the next range.
        assert len(inside) == one["count"] > 0 or (len(inside) > one["count"] and column in "bd"), (source, column, one)
    assert sum(one["count"] for one in ranges) == len(values)
