"""Where an operator remembers what it shows, that is the answer; nobody can tell from what is asked, whenever it is."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pytest

import sash
from sash.database.embedded import EmbeddedDatabase
from sash.runtime.kept import Kept

SQL = """
    CREATE STREAM s (ts TIMESTAMP, k STRING, n BIGINT) TIMESTAMP BY ts WITH (delay = '2 SECONDS');
    CREATE STREAM t (ts TIMESTAMP, k STRING) TIMESTAMP BY ts;
    CREATE MATERIALIZED VIEW sums AS SELECT k, SUM(n) AS total, COUNT(*) AS c FROM s [RANGE 10 SECONDS] GROUP BY k;
    CREATE MATERIALIZED VIEW most AS SELECT n, MAX(n) AS m, COUNT(*) AS c FROM s [RANGE 7 SECONDS] GROUP BY n;
    CREATE MATERIALIZED VIEW names AS SELECT DISTINCT k FROM s [RANGE 6 SECONDS];
    CREATE MATERIALIZED VIEW both AS SELECT DISTINCT k FROM (SELECT k FROM s [RANGE 6 SECONDS] UNION ALL SELECT k FROM t [RANGE 3 SECONDS]);
    CREATE MATERIALIZED VIEW pairs AS SELECT s.n FROM s [RANGE 4 SECONDS] JOIN t [RANGE 4 SECONDS] ON s.k = t.k;
"""
VIEWS = ("sums", "most", "names", "both", "pairs")


def kept(db: EmbeddedDatabase, view: str) -> Kept:
    return db._running().views[view].kept


def added_up(batches: Iterable[pa.RecordBatch]) -> Counter[str]:
    found: Counter[str] = Counter()
    for batch in batches:
        for row in batch.to_pylist():
            sign, _ = row.pop("_op"), row.pop("_ts")
            found[str(row)] += sign
    return +found


def counted(rows: list[dict[str, Any]]) -> Counter[str]:
    return Counter(map(str, rows))


def push(db: EmbeddedDatabase, second: int, chance: random.Random) -> None:
    keys = [None, "ann", "bob", f"key {second // 5}"]
    db.push("s", [(second - chance.randrange(2), chance.choice(keys), chance.choice([None, 1, 2, 3])) for _ in range(4)])
    if chance.random() < 0.4:  # so that views of both are behind
        db.push("t", [(second, chance.choice(keys))])


@pytest.mark.parametrize("history", ["all", "none", "2 KB"])
@pytest.mark.parametrize("seed", range(2))
def test_answers_are_the_changes_added_up(history: str, seed: int) -> None:
    db: EmbeddedDatabase = sash.connect(history=history)
    db.execute(SQL)
    chance = random.Random(seed)
    readers = {view: db.subscribe(view, timeout=0) for view in VIEWS}
    batches: dict[str, list[pa.RecordBatch]] = {view: [] for view in VIEWS}
    for second in range(60):
        push(db, second, chance)
        for view in VIEWS:
            batches[view] += readers[view]
            if chance.random() < 0.3:
                assert counted(db.final(view).to_pylist()) == added_up(batches[view])
            if chance.random() < 0.1 and second > 30:
                column = "n" if view in ("most", "pairs") else "k"
                whole = [row for row in db.view(view).to_pylist() if row[column] is not None]
                for row in whole[:1]:
                    value = row[column] if column == "n" else f"'{row[column]}'"
                    asked = db.query(f"SELECT * FROM {view} WHERE {column} = {value}").to_pylist()
                    assert counted(asked) == counted([one for one in whole if one[column] == row[column]])
    db.end()
    for view in VIEWS:
        assert counted(db.view(view).to_pylist()) == added_up([*batches[view], *readers[view]])


def test_no_change_is_added_where_the_operator_remembers_the_answer() -> None:
    db: EmbeddedDatabase = sash.connect(history="none")
    db.execute(SQL)
    chance = random.Random(1)
    for second in range(30):
        push(db, second, chance)
    assert all(not len(kept(db, view)._live._bag) for view in ("sums", "most", "names"))
    before = counted(db.final("sums").to_pylist())
    assert before and len(kept(db, "pairs")._live._bag)
    db.execute("CREATE INDEX by_total ON sums (total)")
    assert len(kept(db, "sums")._live._bag) == len(before)
    assert counted(db.final("sums").to_pylist()) == before
    for second in range(30, 40):
        push(db, second, chance)
    db.end()
    assert len(kept(db, "sums")._live._bag) == len(db.final("sums").to_pylist())


@pytest.mark.parametrize("late", [1, 40])
def test_rows_that_are_not_final_are_in_both_kinds_of_answers(late: int) -> None:
    """Few of them are looked for in all rows, many are netted with them."""
    dbs: list[EmbeddedDatabase] = [sash.connect(), sash.connect()]
    for db in dbs:
        db.execute(SQL)
    for view in VIEWS:
        kept(dbs[1], view).settle()
    for second in range(0, 40, 4):
        for db in dbs:
            push(db, second, random.Random(second))
            db.push("s", [(second + place % 2, f"key {place}", place) for place in range(late)])
        for view in VIEWS:
            answers = [db.view(view).to_pylist() for db in dbs]
            assert answers[0] == answers[1]
    assert len(kept(dbs[1], "sums")._live._bag) and not len(kept(dbs[0], "sums")._live._bag)
