"""The law of indexes: a question gives with indexes what it gives without them, in the same order, at every instant."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

import sash
from lengths import LONG, count
from sash.database.database import Database
from sash.runtime import live

JOB = """
    CREATE STREAM s (ts TIMESTAMP, k BIGINT, g STRING, v DOUBLE, d DECIMAL(9, 2), w DECIMAL(30, 3), b BOOLEAN, day DATE, i INT)
        TIMESTAMP BY ts DELAY 3 SECONDS;
    CREATE TABLE t (k BIGINT, g STRING, v DOUBLE, b BOOLEAN);
    CREATE MATERIALIZED VIEW plain AS SELECT * FROM s [RANGE 10 SECONDS];
    CREATE MATERIALIZED VIEW twice AS SELECT k, g, v FROM s [ROWS 12] UNION ALL SELECT k, g, v FROM s [RANGE 4 SECONDS];
    CREATE MATERIALIZED VIEW grouped AS SELECT g, k, COUNT(*) AS n, MAX(v) AS v FROM s [RANGE 8 SECONDS] GROUP BY g, k;
    CREATE MATERIALIZED VIEW held AS SELECT k, g, v, b FROM t;
"""
INDEXES = """
    CREATE INDEX plain_k ON plain (k);                      CREATE INDEX plain_kg ON plain (g, k) USING HASH;
    CREATE INDEX plain_v ON plain (v) USING TREE;           CREATE INDEX plain_gvd ON plain (g, v, d) USING TREE;
    CREATE INDEX plain_w ON plain (w) USING TREE;           CREATE INDEX plain_d ON plain (d) USING HASH;
    CREATE INDEX plain_w2 ON plain (w) USING HASH;          CREATE INDEX plain_b ON plain (b, day) USING TREE;
    CREATE INDEX plain_ts ON plain (ts) USING TREE;         CREATE INDEX plain_i ON plain (i) USING HASH;
    CREATE INDEX twice_v ON twice (v, k) USING TREE;        CREATE INDEX twice_g ON twice (g);
    CREATE INDEX grouped_n ON grouped (n) USING TREE;       CREATE INDEX grouped_k ON grouped (k) USING HASH;
    CREATE INDEX held_v ON held (v) USING TREE;             CREATE INDEX held_kg ON held (k, g);
    CREATE INDEX held_b ON held (b);                        CREATE INDEX held_g ON held (g, k) USING TREE;
"""
START = datetime(2026, 1, 1)
WRITTEN = {
    "k": ["0", "1", "2", "7"], "g": ["''", "'a'", "'b'", "'ab'", "'é'"],
    "v": ["0.0", "-0.0", "1.5", "-2.0", "CAST('NaN' AS DOUBLE)"], "d": ["0.00", "1.25", "-3.5"],
    "w": ["0.000", "123456789012345678901.5", "-123456789012345678901.5", "0.001"], "b": ["true", "false"],
    "day": ["DATE '2026-01-01'", "DATE '1969-12-31'"], "i": ["0", "-1", "5"], "n": ["1", "2", "3"],
    "ts": [f"TIMESTAMP '{START + timedelta(seconds=second)}'" for second in (0, 5, 9, 20)],
}  # fmt: skip
VALUES = {
    "k": [0, 1, 2, 7], "g": ["", "a", "b", "ab", "é"], "v": [0.0, -0.0, 1.5, -2.0, float("nan")], "d": ["0.00", "1.25", "-3.50"],
    "w": ["0.000", "123456789012345678901.500", "-123456789012345678901.500", "0.001"], "b": [True, False],
    "day": ["2026-01-01", "1969-12-31"], "i": [0, -1, 5],
}  # fmt: skip
COLUMNS = {
    "plain": ["ts", "k", "g", "v", "d", "w", "b", "day", "i"], "twice": ["k", "g", "v"], "grouped": ["g", "k", "n", "v"],
    "held": ["k", "g", "v", "b"],
}  # fmt: skip


def value(chance: random.Random, column: str) -> object:
    return None if chance.random() < 0.15 else chance.choice(VALUES[column])


def condition(chance: random.Random, column: str) -> str:
    one, other = (chance.choice(WRITTEN[column]) for _ in range(2))
    some = ", ".join(chance.sample([*WRITTEN[column], "NULL"], chance.randint(1, 3)))
    return chance.choice([
        f"{column} = {one}", f"{one} = {column}", f"{column} IN ({some})", f"{column} > {one}", f"{column} <= {one}",
        f"{column} BETWEEN {one} AND {other}", f"{column} > {one} AND {column} < {other}", f"{column} IS NULL",
        f"{column} <=> {one}", f"({column} = {one} OR {column} = {other})", f"{column} <> {one}", f"{one} < {column}",
        f"{column} = {one} AND {column} IN ({some})", f"{column} IS NOT NULL", f"{column} = NULL",
    ])  # fmt: skip


NUMBERS = ["k", "v", "d", "w", "i", "n"]


def figures(chance: random.Random, columns: list[str]) -> str:
    """Of values in order, most of them of one column."""
    column = chance.choice([one for one in columns if one in NUMBERS])
    other = chance.choice(columns)
    calls = [
        "COUNT(*)", f"COUNT({column})", f"MIN({column})", f"MAX({column})", f"MEDIAN({column})", f"PERCENTILE({column}, 0.1)",
        f"PERCENTILE({column}, 0.99)", f"PERCENTILE_DISC(0.3) WITHIN GROUP (ORDER BY {column} DESC)", f"COUNT(DISTINCT {column})",
        f"PERCENTILE_DISC(0.6) WITHIN GROUP (ORDER BY {column})", f"SUM({column})", f"AVG({column})", f"MAX({other})", f"COUNT({other})",
    ]  # fmt: skip
    known = calls[: chance.choice([1, 3, 8, 8, 14])]
    return ", ".join(f"{call} AS f{place}" for place, call in enumerate(chance.sample(known, chance.randint(1, min(3, len(known))))))


def about_many_rows(chance: random.Random) -> str:
    """What is planned: figures, groups, sets, joins, OVER."""
    view, other = (chance.choice(["plain", "plain", *COLUMNS]) for _ in range(2))
    columns = COLUMNS[view]
    some = chance.sample(columns, chance.choice([0, 0, 1, 1, 2]))
    where = " AND ".join(condition(chance, column) for column in some)
    where = f" WHERE {where}" if where else ""
    keys = chance.sample(columns, chance.choice([1, 1, 2]))
    both = ", ".join(f"x.{column}" for column in columns)
    return chance.choice([
        f"SELECT {figures(chance, columns)} FROM {view}{where}", f"SELECT {figures(chance, columns)} FROM {view}{where}",
        f"SELECT {', '.join(keys)}, {figures(chance, columns)} FROM {view}{where} GROUP BY {', '.join(keys)}",
        f"SELECT DISTINCT {', '.join(keys)} FROM {view}{where}",
        f"SELECT g FROM {view}{where} {chance.choice(['EXCEPT', 'INTERSECT', 'EXCEPT ALL', 'INTERSECT ALL', 'UNION'])} SELECT g FROM {other}",
        f"SELECT {both}, y.v AS other FROM (SELECT * FROM {view}{where}) x JOIN {other} y ON x.k = y.k AND y.g = 'a'",
        f"SELECT {both} FROM (SELECT * FROM {view}{where}) x LEFT ANTI JOIN {other} y ON x.g = y.g",
        f"SELECT g, k, ROW_NUMBER() OVER (PARTITION BY g ORDER BY k) AS place FROM {view}{where}",
        f"SELECT g, k FROM {view} WHERE v = (SELECT MAX(v) AS most FROM {view}{where})",
    ])  # fmt: skip


def question(chance: random.Random) -> str:
    if chance.random() < 0.4:
        return about_many_rows(chance)
    view = chance.choice(["plain", "plain", *COLUMNS])
    columns = COLUMNS[view]
    where = " AND ".join(condition(chance, column) for column in chance.sample(columns, chance.choice([0, 1, 1, 2, 3])))
    shown = ", ".join(chance.sample(columns, chance.randint(1, len(columns)))) if chance.random() < 0.4 else "*"
    if chance.random() < 0.1:
        where = f"(k, g) IN (({chance.choice(WRITTEN['k'])}, 'a'), (7, {chance.choice(WRITTEN['g'])}))"
    text = f"SELECT {shown} FROM {view}" + (f" WHERE {where}" if where else "")
    if chance.random() < 0.6:
        ways = ["", " DESC", " NULLS LAST", " DESC NULLS FIRST", " ASC"]
        text += " ORDER BY " + ", ".join(one + chance.choice(ways) for one in chance.sample(columns, chance.randint(1, 2)))
    if chance.random() < 0.6:
        text += f" LIMIT {chance.choice([0, 1, 2, 5, 100])}" + chance.choice(["", " OFFSET 1", " OFFSET 4"])
    return text


def steps(chance: random.Random, count: int) -> Iterator[tuple[str, str, list[tuple[object, ...]]]]:
    """What comes and goes: rows of the stream, often of one instant, and of the table; all of a table leave now and then."""
    held: list[tuple[object, ...]] = []
    second = 0
    for _ in range(count):
        kind = chance.random()
        if kind < 0.6:
            rows = []
            for _ in range(chance.choice([1, 1, 3, 40])):
                second += chance.choice([0, 0, 0, 1, 4])
                rows.append((START + timedelta(seconds=second), *(value(chance, column) for column in COLUMNS["plain"][1:])))
            yield "push", "s", rows
        elif kind < 0.85 or not held:
            rows = [tuple(value(chance, column) for column in COLUMNS["held"]) for _ in range(chance.randint(1, 6))]
            held += rows
            yield "push", "t", rows
        else:
            gone = held if chance.random() < 0.2 else chance.sample(held, chance.randint(1, len(held)))
            rest = list(held)
            for row in gone:
                rest.remove(row)
            yield "delete", "t", list(gone)
            held = rest


def plain(db: Database, asked: str) -> str:
    answer = db.query(asked)
    return f"{answer.as_of} {answer.is_final} {answer.schema} {answer.to_pylist()}"


def compared(seed: int, count: int, questions: int) -> set[str]:
    """By which indexes questions were answered, after all of them have been compared."""
    chance = random.Random(seed)
    without, database = sash.connect(), sash.connect()
    for db in (without, database):
        db.execute(JOB)
    is_late = chance.random() < 0.5
    if not is_late:
        database.execute(INDEXES)
    used: set[str] = set()
    for number, (method, name, rows) in enumerate(steps(chance, count)):
        for db in (without, database):
            getattr(db, method)(name, rows)
        if is_late and number == count // 3:
            database.execute(INDEXES)
        if chance.random() < 0.5:
            continue  # several changes come between two questions
        for _ in range(questions):
            asked = question(chance)
            assert plain(database, asked) == plain(without, asked), (seed, number, asked)
            used.update(line.partition(" of ")[0] for line in str(database.explain(asked)).splitlines() if line.startswith("index "))
    return used


@pytest.mark.parametrize("seed", range(count(4, 8)))
def test_with_and_without_indexes(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With every other seed all indexes that serve are tried, as where the first one finds many rows."""
    monkeypatch.setattr(live, "MANY", 0 if seed % 2 else live.MANY)
    compared(seed, 40, 5)


def test_every_index_is_used_by_some_question() -> None:
    names = {line.split()[2] for part in INDEXES.split(";") if (line := part.strip())}
    used: set[str] = set()
    for seed in range(100, 103):
        used |= compared(seed, 20, 30)
        if not LONG and used >= {f"index {name}" for name in names}:
            break
    assert {f"index {name}" for name in names} - used == set()


def test_strings_that_are_swept() -> None:
    """An index has codes of strings; those of rows that have gone are used for other strings."""
    chance, without, database = random.Random(5), sash.connect(), sash.connect()
    for db in (without, database):
        db.execute("CREATE STREAM s (ts TIMESTAMP, g STRING) TIMESTAMP BY ts")
        db.execute("CREATE MATERIALIZED VIEW p AS SELECT g FROM s [ROWS 500]")
    database.execute("CREATE INDEX h ON p (g); CREATE INDEX t ON p (g) USING TREE")
    for number in range(40):
        rows = [(START + timedelta(seconds=number), f"text {number} {chance.random()}") for _ in range(1000)]
        for db in (without, database):
            db.push("s", rows)
        if number % 7 == 3:
            for asked in (f"SELECT * FROM p WHERE g = '{rows[-1][1]}'", "SELECT * FROM p ORDER BY g DESC LIMIT 5",
                          f"SELECT * FROM p WHERE g >= '{rows[-5][1]}' AND g < 'text 9'"):  # fmt: skip
                assert plain(database, asked) == plain(without, asked)
