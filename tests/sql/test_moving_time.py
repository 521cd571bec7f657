"""NOW() against a reference without it: the same expressions over a table that holds the time, at instants where they change."""

from __future__ import annotations

import random
from datetime import date, datetime, timedelta
from typing import Any

import sash
from sash.database.embedded import EmbeddedDatabase

TABLE = "CREATE TABLE t (id INT, ts TIMESTAMP, day DATE, n BIGINT, k INT, x DOUBLE, d DECIMAL(38, 10))"
EPOCH = datetime(1970, 1, 1)
HOUR, DAY = 3600, 86_400
# Solved for the instants at which they change.
SOLVED = (
    "NOW() <= ts", "NOW() - INTERVAL 5 SECONDS <> ts", "ts BETWEEN NOW() - INTERVAL 1 HOUR AND NOW() + INTERVAL 1 DAY",
    "UNIX_MILLIS(NOW()) < n", "UNIX_MILLIS(NOW()) - 5 >= n", "5 + UNIX_MILLIS(NOW()) = n", "UNIX_MICROS(NOW()) <> n * 1000",
    "UNIX_SECONDS(NOW()) <= n / 1000.0", "UNIX_TIMESTAMP(NOW()) > d", "CAST(NOW() AS BIGINT) >= x", "UNIX_MILLIS(NOW()) = x * 1000",
    "UNIX_MICROS(NOW()) < x * 1000000", "MZ_NOW() BETWEEN n AND d * 1000", "NOW() - ts > n * INTERVAL 100 MICROSECONDS",
    "ts - NOW() > n * INTERVAL 100 MICROSECONDS", "ts - NOW() <= INTERVAL 1 MILLISECOND", "NOW() - ts = INTERVAL 1 SECOND", "DATEDIFF(CURRENT_DATE, day) >= k", "DATEDIFF(day, NOW()) < k",
    "CURRENT_DATE = day", "CURRENT_DATE <> day", "CURRENT_DATE - 1 < ts", "CURRENT_DATE + INTERVAL 1 DAY > ts",
    "CAST(NOW() + INTERVAL 12 HOURS AS DATE) = day", "DATE_TRUNC('hour', NOW()) <= ts", "DATE_TRUNC('week', NOW()) < ts",
    "TRUNC(CURRENT_DATE, 'MM') = day", "DATE_TRUNC('month', NOW() - INTERVAL 3 DAYS) > ts",
    "NOW() >= TIMESTAMP '1970-01-02 00:00:01' OR day < CURRENT_DATE",
)
# Values that change with a period, and conditions over them.
SHOWN = (
    "DATE_ADD(CURRENT_DATE, k) > day", "CURRENT_DATE IN (day, DATE '1970-01-03')", "CURRENT_DATE <=> day", "HOUR(NOW()) + k",
    "DATE_FORMAT(NOW(), 'E HH')", "EXTRACT(DAY FROM NOW()) * n", "CASE WHEN CURRENT_DATE > day THEN k ELSE HOUR(NOW()) END",
    "LAST_DAY(NOW())", "DATE_TRUNC('day', NOW() + INTERVAL 1 MONTH) > ts", "COALESCE(day, CURRENT_DATE)", "WEEKOFYEAR(NOW())",
    "DAYOFWEEK(NOW()) = k", "DATE_TRUNC('hour', NOW() - INTERVAL 20 MINUTES)", "n * 100000",
    "QUARTER(NOW()) + YEAR(NOW())", "CAST(CURRENT_DATE AS STRING)", "DATE_PART('hour', NOW() + INTERVAL 1 MILLISECOND)",
)


def items(now: str) -> str:
    """All expressions as the items of a select list, with something for NOW()."""
    texts = [text.replace("MZ_NOW()", "UNIX_MILLIS(NOW())") if now != "NOW()" else text for text in SOLVED + SHOWN]
    texts = [text.replace("CURRENT_DATE", f"CAST({now} AS DATE)").replace("NOW()", now) for text in texts]
    return ", ".join(f"{text} AS c{place}" for place, text in enumerate(texts))


def make_rows(chance: random.Random) -> list[tuple[object, ...]]:
    """Times in two days, as instants, numbers and days; one is NULL now and then."""
    rows: list[tuple[object, ...]] = [(0, *[None] * 6)]
    for number in range(1, 20):
        time = chance.choice([chance.randrange(2 * DAY * 10) / 10, chance.randrange(2) * DAY, chance.randrange(48) * HOUR])
        day = date(1970, 1, 1) + timedelta(days=chance.randrange(4))
        near = int(time * 1000) + chance.choice([0, 0, 1, 2**61, -(2**61)])
        row = (time, day, near, chance.randrange(-1, 14), time, f"{time:.1f}")
        rows.append((number, *(None if chance.random() < 0.1 else value for value in row)))
    return rows


def instants(rows: list[tuple[object, ...]], chance: random.Random) -> list[int]:
    """Near the times of rows, and near the beginnings of hours."""
    near = {int(row[1] * 1e6) + by for row in rows if isinstance(row[1], int | float) for by in (-1, 0, 1, 1000, 5_000_000)}
    near |= {hour * HOUR * 1_000_000 + by for hour in range(1, 60) for by in (-1, 0, 1)}
    return sorted(chance.sample(sorted(instant for instant in near if instant > 0), 50))


def answer(db: EmbeddedDatabase) -> list[dict[str, Any]]:
    return sorted(db.view("v").to_pylist(), key=lambda row: int(row["id"]))


def test_every_expression_at_every_instant() -> None:
    chance = random.Random(5)
    rows = make_rows(chance)
    moving, reference = sash.connect(), sash.connect()
    for db in (moving, reference):
        db.execute(TABLE)
    reference.execute("CREATE TABLE clock (now TIMESTAMP)")
    moving.execute(f"CREATE MATERIALIZED VIEW v AS SELECT id, {items('NOW()')} FROM t")
    reference.execute(f"CREATE MATERIALIZED VIEW v AS SELECT id, {items('now')} FROM t, clock")
    moving.advance(1)
    for db in (moving, reference):
        db.push("t", rows)
    for instant in instants(rows, chance):
        now = EPOCH + timedelta(microseconds=instant)
        for db in (moving, reference):
            db.advance(instant)
        reference.execute("DELETE FROM clock")
        reference.push("clock", [(now,)])
        for found, expected in zip(answer(moving), answer(reference), strict=True):
            names = dict(zip(expected, ("id", *SOLVED + SHOWN), strict=True))
            wrong = [names[name] for name, value in expected.items() if found[name] != value]
            assert not wrong, (now, rows[expected["id"]])
    reference.end()
    assert {reason for reason, _, _ in moving.failures()} == {reason for reason, _, _ in reference.failures()}


def test_what_can_be_solved_is() -> None:
    """Rows that change when their instants come, not all of them whenever a period ends."""
    db = sash.connect()
    db.execute(TABLE)
    for text in SOLVED:
        db.execute(f"CREATE OR REPLACE VIEW v AS SELECT id FROM t WHERE {text}")
        plan = db.explain("SELECT * FROM v")
        assert "TimePredicate" in plan and "CurrentPeriod" not in plan, text
