"""Joins with a NON RETROACTIVE table: a result keeps what the table said when its row came, and goes with its row."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import sash
from sash.deltas import Delta, Layout
from sash.operators.lookup.operator import SignedLookup
from sash.operators.lookup.spec import SignedLookupSpec
from sash.operators.operator import OperatorContext
from sash.operators.spec import PortSpec
from sash.plan.patterns import Pattern
from sash.scalar.evaluate import Failures
from sash.schema import FOREVER, STRING, schema
from sash.stores.arena import Arena
from sash.stores.interner import Interner
from sash.stores.lanes import decode, encode
from sash.testing import Oracle, from_arrow, show
from sash.testing.comparing import assert_same

JOB = """
CREATE STREAM s (ts TIMESTAMP, id INT, k STRING) TIMESTAMP BY ts;
CREATE TABLE t (k STRING, name STRING) NON RETROACTIVE;
"""
WINDOWS = ("[ROWS 3]", "[PARTITION BY k ROWS 2]", "[RANGE 4 SECONDS]", "[ROWS 4 SLIDE 2]")
KEYS = ("ann", "bob", None)


def job(window: str) -> str:
    return JOB + f"CREATE MATERIALIZED VIEW v AS SELECT s.id, t.name FROM s {window} s JOIN t ON s.k = t.k"


def changed(chance: random.Random, db: sash.Database, rows: Counter[tuple[str | None, str]]) -> None:
    """Change the table at random, and the rows that it holds in the same way."""
    name = f"n{chance.randrange(4)}"
    if chance.random() < 0.6 or not rows:
        new = (chance.choice(KEYS), name)
        db.push("t", [new])
        rows[new] += 1
    elif chance.random() < 0.5:
        old = chance.choice(sorted(rows, key=repr))
        db.delete("t", [old])
        rows.subtract([old])
        rows += Counter()
    else:
        db.execute(f"UPDATE t SET name = '{name}' WHERE k = 'ann'")
        moved = sum(count for (key, _), count in rows.items() if key == "ann")
        for old in [old for old in rows if old[0] == "ann"]:
            del rows[old]
        if moved:
            rows["ann", name] = moved
    for old in [old for old, count in rows.items() if not count]:
        del rows[old]


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("expiry", ["auto", "negative"])
def test_rows_keep_what_they_met(window: str, seed: int, expiry: str) -> None:
    """The oracle is told what every row met, and recomputes the rest."""
    chance = random.Random(seed)
    db = sash.connect(expiry=expiry)
    db.execute(job(window))
    table: Counter[tuple[str | None, str]] = Counter()
    rows, met, before = [], [], Counter(table)
    for number in range(40):
        if chance.random() < 0.5:
            changed(chance, db, table)
        row = (number // 2 * 2 + 1, number, chance.choice(KEYS))
        rows.append(row)
        if number % 2 == 0:  # both rows of an instant see the table before it changes at that instant
            before = Counter(table)
        met += [(number, name) for (key, name), count in before.items() for _ in range(count) if key == row[2] and key]
        db.push("s", [row])
    db.end()
    oracle = Oracle(
        "CREATE STREAM s (ts TIMESTAMP, id INT, k STRING) TIMESTAMP BY ts; CREATE TABLE met (id INT, name STRING);"
        f"CREATE MATERIALIZED VIEW v AS SELECT s.id, met.name FROM s {window} s JOIN met ON s.id = met.id",
        {"s": rows, "met": met},
    )
    assert_same(oracle.changelog("v"), from_arrow(db.changes("v")))


def operator() -> tuple[SignedLookup, Interner]:
    """Rows of one name, and a table in which ann is one."""
    arena = Arena.anonymous()
    interner = Interner(arena)
    left, right = schema(("k", STRING)), schema(("k", STRING), ("name", STRING))
    ports = (PortSpec(1, columns, Pattern.STRICT, ()) for columns in (left, right))
    lookup = SignedLookup(SignedLookupSpec(*ports, (0,), (0,)), OperatorContext(arena.scope("x"), interner, Failures()))
    row = encode([pa.array(["ann"]), pa.array(["one"])], Layout(right), interner)
    lookup.run([Delta.empty(2), Delta(row, np.zeros(1, np.int64), np.full(1, FOREVER), np.ones(1, np.int64))], 1, None)
    return lookup, interner


def given(lookup: SignedLookup, interner: Interner, changes: list[tuple[str, int, int]]) -> list[str]:
    names, ts, weight = zip(*changes, strict=True)
    rows = encode([pa.array(names)], Layout(schema(("k", STRING))), interner)
    delta = Delta(rows, np.array(ts, np.int64), np.full(len(ts), FOREVER), np.array(weight, np.int64))
    out = lookup.run([delta, Delta.empty(3)], 10, None)
    columns = [column.to_pylist() for column in decode(out.rows, lookup.layout, interner)]
    marks = zip(out.ts.tolist(), out.weight.tolist(), strict=True)
    return [f"{k} {name} {at} {w:+d}" for k, _, name, (at, w) in zip(*columns, marks, strict=True)]


def test_equal_rows_leave_oldest_first() -> None:
    db = sash.connect()
    db.execute("""
        CREATE STREAM s (ts TIMESTAMP, k INT) TIMESTAMP BY ts; CREATE TABLE t (k INT, name STRING) NON RETROACTIVE;
        CREATE MATERIALIZED VIEW v AS SELECT s.k, t.name FROM (SELECT k FROM s [ROWS 2]) s JOIN t ON s.k = t.k;
    """)
    db.push("t", [(1, "one"), (1, "one")])
    db.push("s", [(1, 1), (2, 1)])
    db.execute("ADVANCE TO '1970-01-01 00:00:03'; UPDATE t SET name = 'uno'")
    db.push("s", [(4, 1), (5, 2), (6, 2)])
    db.end()
    assert show(from_arrow(db.changes("v"))).splitlines() == [
        "+ 1 one @1", "+ 1 one @1", "+ 1 one @2", "+ 1 one @2", "- 1 one @4", "- 1 one @4", "+ 1 uno @4", "+ 1 uno @4",
        "- 1 one @5", "- 1 one @5", "- 1 uno @6", "- 1 uno @6",
    ]  # fmt: skip


def test_totals_with_the_rate_of_their_time() -> None:
    """The left side is a view whose rows are replaced: each total is priced once, when it is made."""
    db = sash.connect()
    db.execute("""
        CREATE STREAM s (ts TIMESTAMP, k STRING, v INT) TIMESTAMP BY ts;
        CREATE TABLE rates (k STRING, rate INT) NON RETROACTIVE; INSERT INTO rates VALUES ('eur', 2);
        CREATE MATERIALIZED VIEW v AS SELECT g.k, g.total * r.rate AS value
          FROM (SELECT k, SUM(v) AS total FROM s [RANGE 10 SECONDS] GROUP BY k) g JOIN rates r ON g.k = r.k;
    """)
    db.push("s", [(1, "eur", 5)])
    db.execute("ADVANCE TO '1970-01-01 00:00:02'; UPDATE rates SET rate = 3")
    db.push("s", [(4, "eur", 5)])
    db.execute("ADVANCE TO '1970-01-01 00:00:20'")
    assert show(from_arrow(db.changes("v"))).splitlines() == [
        "+ eur 10 @1", "- eur 10 @4", "+ eur 30 @4", "- eur 30 @11", "+ eur 15 @11", "- eur 15 @14",
    ]
    assert db.failures() == []


def test_a_row_that_leaves_before_it_comes_at_one_instant() -> None:
    """Counts below zero inside an instant, in any order and any cut, as the operator itself sees them."""
    lookup, make = operator()
    assert given(lookup, make, [("ann", 1, -1), ("ann", 1, 2), ("bob", 1, 1), ("bob", 1, -1)]) == ["ann one 1 +1"]
    assert given(lookup, make, [("ann", 2, 1), ("ann", 2, -2)]) == ["ann one 2 -1"]
    assert len(lookup._instances) == len(lookup._pairs) == len(lookup._owed) == 0
