"""The law of indexes of windows: a question about a window that has indexes gives what the materialized view of its text holds, at
every instant, and what DuckDB computes; whenever the index came, and whichever of them there are."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

import sash
from sash.database.database import Database
from sash.testing import Oracle
from sash.testing.comparing import same_rows

JOB = """
    CREATE STREAM s (ts TIMESTAMP, k BIGINT, g STRING, v DOUBLE) TIMESTAMP BY ts DELAY 3 SECONDS;
    CREATE STREAM r (ts TIMESTAMP, k BIGINT) TIMESTAMP BY ts;
    CREATE TABLE t (k BIGINT, name STRING);
"""
NAMES = [(0, "zero"), (1, "one"), (1, "uno"), (None, "none")]
WINDOWS = (
    "[RANGE 10 SECONDS]", "[RANGE 8 SECONDS SLIDE 4 SECONDS]", "[ROWS 7]", "[ROWS 12 SLIDE 4]", "[PARTITION BY g ROWS 3]",
    "[SESSION GAP 3 SECONDS]", "[NOW]",
)  # fmt: skip
COLUMNS = {"ts": "TIMESTAMP '2026-01-01 00:00:10'", "k": "1", "g": "'a'", "v": "1.25"}
START = datetime(2026, 1, 1)
VALUES = {"k": [0, 1, 2, 7, None], "g": ["", "a", "b", "é", None], "v": [0.0, -0.25, 1.25, 40.5, None]}

Row = tuple[object, ...]


def question(chance: random.Random, window: str) -> str:
    """Rows of a window, and what is made of them; some need no index, or have none."""
    where = " AND ".join(
        f"{column} {chance.choice(['=', '>', '<=', '<=>', '<>'])} {COLUMNS[column]}"
        for column in chance.sample(list(COLUMNS), chance.choice([0, 1, 1, 2]))
    )
    where = f" WHERE {where}" if where else ""
    order = f" ORDER BY {chance.choice(['v DESC', 'v', 'k, v', 'g DESC, ts'])}, ts, k, g, v LIMIT {chance.choice([1, 3])}"
    return chance.choice([
        f"SELECT * FROM s {window}{where}", f"SELECT * FROM s {window}{where}", f"SELECT g, v * 2 AS w FROM s {window}{where}",
        f"SELECT * FROM s {window}{where}{order}", f"SELECT * FROM s {window}{where}{order} OFFSET 1",
        f"SELECT g, COUNT(*) AS n, SUM(v) AS total FROM s {window}{where} GROUP BY g",
        f"SELECT COUNT(*) AS n, MAX(v) AS most FROM s {window}{where}", f"SELECT DISTINCT k FROM s {window}{where}",
        f"SELECT s.g, name FROM s {window} JOIN t ON s.k = t.k", f"SELECT s.g, r.k FROM s {window} JOIN r [ROWS 3] ON s.k = r.k",
        f"SELECT g FROM s {window} EXCEPT SELECT g FROM s [ROWS 2]",
    ])  # fmt: skip


def pushes(chance: random.Random, count: int) -> Iterator[tuple[str, list[Row]]]:
    second = 0
    for _ in range(count):
        rows: list[Row] = []
        for _ in range(chance.choice([1, 1, 2, 6])):
            second += chance.choice([0, 0, 1, 1, 3])
            rows.append((START + timedelta(seconds=second), *(chance.choice(VALUES[column]) for column in VALUES)))
        yield "s", rows
        if chance.random() < 0.3:
            yield "r", [(START + timedelta(seconds=second), chance.choice(VALUES["k"]))]


def index(chance: random.Random, name: str, window: str) -> str:
    columns = ", ".join(chance.sample(list(COLUMNS), chance.choice([1, 1, 2])))
    return f"CREATE INDEX {name} ON s {window} ({columns}) USING {chance.choice(['TREE', 'HASH', 'LIST'])}"


def bag(rows: sash.Rows) -> Counter[str]:
    return Counter(repr(row) for row in rows)


def create_indexes(db: Database, chance: random.Random, windows: list[str]) -> None:
    for number, window in enumerate(windows):
        db.execute(index(chance, f"i{number}", window) + ";" + index(chance, f"j{number}", window))


@pytest.mark.parametrize("seed", range(6))
def test_a_question_gives_what_the_view_of_its_text_holds(seed: int) -> None:
    chance = random.Random(seed)
    windows = chance.sample(WINDOWS, 2)
    asked = [question(chance, window) for window in windows for _ in range(3)]
    views = "".join(f"CREATE MATERIALIZED VIEW q{number} AS {sql};" for number, sql in enumerate(asked))
    held, indexed, came = sash.connect(), sash.connect(), dict[str, list[Row]](s=[], r=[])
    held.execute(JOB + views)
    # What a window of a view holds is remembered: an index that comes later has all rows.
    indexed.execute(JOB + "CREATE MATERIALIZED VIEW all_of_s AS SELECT k FROM s [RANGE 1 HOUR];")
    indexed.execute("CREATE MATERIALIZED VIEW all_of_r AS SELECT k FROM r [RANGE 1 HOUR]")
    for db in (held, indexed):
        db.push("t", NAMES)
    created, dropped = chance.choice([0, 5]), chance.choice([12, 99])
    for number, (stream, rows) in enumerate(pushes(chance, 20)):
        if number == created:
            create_indexes(indexed, chance, windows)
        if number == dropped:
            indexed.execute("DROP INDEX i0; DROP INDEX j0; DROP INDEX i1")
            create_indexes(indexed, chance, windows[:1])
        came[stream] += rows
        for db in (held, indexed):
            db.push(stream, rows)
        for place, sql in enumerate(asked):
            answer, view = indexed.query(sql), held.view(f"q{place}")
            assert (bag(answer), answer.as_of, answer.is_final) == (bag(view), view.as_of, view.is_final), (seed, number, sql)
    assert any(" is kept " in str(indexed.explain(sql)) or "\nindex " in str(indexed.explain(sql)) for sql in asked)
    oracle = Oracle(JOB + views, {**came, "t": NAMES})
    for place, sql in enumerate(asked):
        found = [tuple(row.values()) for row in indexed.query(sql)]
        assert same_rows(oracle.answer(f"q{place}").elements(), found), (seed, sql)
