"""MIN and MAX of rows that leave in the order they came: deques give what the slow twin and the heaps give."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal

import numpy as np
import pytest
from grouping import MANY, MAX, MIN, VALUES, Bench, Change, by_instant, slow_changes
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from sash.operators.group_by.spec import OrderedGroupBySpec, SlidingGroupBySpec
from sash.operators.spec import Spec
from sash.plan.aggregates import Function
from sash.schema import BIGINT, STRING

PAIRS = [(1, 0), (7, 3), (3, 7), (5, 5), (6, 0), (7, 6), (9, 8)]
CALLS = [(f, c) for f in (MIN, MAX) for c in range(len(MANY))] + [(Function.ANY_VALUE, 7), (Function.SUM, 3), (Function.COUNT, 7)]
CALLS += [(f, c, {"second": s}) for f in (Function.MIN_BY, Function.MAX_BY) for c, s in PAIRS]
CALLS += [(Function.MEDIAN, 2), (Function.SUM, 1, {"is_distinct": True})]


def in_order(seed: int, rows: int, life: int) -> list[Change]:
    """Rows that come at some instants, often several at one, and leave `life` later; at one instant in any order."""
    chance, at, changes = random.Random(seed), 0, []
    for _ in range(rows):
        at += chance.choice((0, 0, 1, 1, 3))
        row = tuple(chance.choice([None, *values]) for values in VALUES)
        weight = chance.choice((1, 1, 2, 3))
        changes += [(at, row, weight), (at + life, row, -weight)]
    chance.shuffle(changes)
    return sorted(changes, key=lambda change: change[0])


def made(keys: tuple[int, ...] = (0,)) -> Bench:
    return Bench(MANY, keys, CALLS, OrderedGroupBySpec)


def check_empty(bench: Bench) -> None:
    groups = bench.operator.groups
    assert groups.live_values == 0 and not groups.node_table.any() and not groups.beside.any()
    assert groups.live_groups == 0 or not bench.spec.keys


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**9), rows=st.integers(0, 40), life=st.integers(1, 8), keys=st.sampled_from([(), (0,), (7, 5)]),
    cuts=st.sets(st.integers(0, 50), max_size=6),
)
def test_equals_the_slow_one(seed: int, rows: int, life: int, keys: tuple[int, ...], cuts: set[int]) -> None:
    bench, changes = made(keys), in_order(seed, rows, life)
    begin = changes[0][0] if changes else None
    assert by_instant(bench.run_cut(changes, cuts, begin)) == by_instant(slow_changes(bench.spec, changes, begin))
    check_empty(bench)


def test_restarts_change_nothing() -> None:
    changes = in_order(5, 120, 6)
    whole, cut, result = made(), made(), []
    expected = whole.run(changes, 10**6)
    for now in range(changes[-1][0] + 1):
        cut.attach()
        result += cut.run([change for change in changes if change[0] == now], now + 1)
    assert result == expected
    check_empty(cut)


@pytest.mark.parametrize(("step", "kept"), [(1, 1), (-1, 500), (0, 1)], ids=["rising", "falling", "equal"])
def test_only_values_that_may_be_shown_are_kept(step: int, kept: int) -> None:
    bench, seen = Bench([BIGINT], (), [(MAX, 0)], OrderedGroupBySpec), 0
    for now in range(2000):
        leaving = [(now, ((now - 500) * step,), -1)] if now >= 500 else []
        bench.run([*leaving, (now, (now * step,), 1)], now + 1, 0 if now == 0 else None)
        seen = max(seen, bench.operator.groups.live_values)
    assert seen == kept


def test_strings_are_held_while_they_may_be_shown() -> None:
    bench = Bench([BIGINT, STRING], (0,), [(MIN, 1), (MAX, 1)], OrderedGroupBySpec)
    bench.run([(0, (1, "pear"), 1), (1, (1, "apple"), 1), (2, (1, "plum"), 1)], 3)
    assert held(bench) == ["apple", "plum"]
    bench.run([(5, (1, "pear"), -1), (6, (1, "apple"), -1)], 7)
    assert held(bench) == ["plum"]


def held(bench: Bench) -> list[str]:
    codes = {code for rows, lanes in (hold() for hold in bench.interner.holders) for code in rows[:, lanes].ravel().tolist() if code}
    return sorted(bench.interner.decode(np.array(sorted(codes), np.int64)).to_pylist())


STREAM = """
CREATE STREAM s (ts TIMESTAMP, k STRING, x DOUBLE, v BIGINT, d DECIMAL(30, 2)) TIMESTAMP BY ts;
CREATE TABLE t (k STRING, name STRING) NON RETROACTIVE;
"""
IN_ORDER = {
    "by key": "SELECT k, MIN(x) AS a, MAX(x) AS b, COUNT(*) AS n, SUM(v) AS s FROM s [RANGE 5 SECONDS] GROUP BY k",
    "alone": "SELECT k, MAX(v) AS m FROM s [RANGE 2 SECONDS] GROUP BY k",
    "in all": "SELECT MIN(d) AS a, MAX(k) AS b, AVG(x) AS c FROM s [RANGE 3 SECONDS]",
    "with filters": "SELECT k, MIN(v) FILTER (WHERE x > 1) AS a, MIN(v) AS b, MAX(x) FILTER (WHERE v IS NULL) AS c "
    "FROM s [RANGE 4 SECONDS] WHERE k IS NULL OR k <> 'bob' GROUP BY k",
    "first and last": "SELECT k, FIRST(v) AS a, LAST(x) AS b, MAX_BY(k, d) AS c FROM s [RANGE 4 SECONDS] GROUP BY k",
    "of one instant": "SELECT v, MIN(k) AS a FROM s [NOW] GROUP BY v",
    "jumping": "SELECT k, MAX(ts) AS a, MIN(d) AS b FROM s [RANGE 4 SECONDS SLIDE 2 SECONDS] GROUP BY k",
    "of two windows": "SELECT k, MAX(v) AS m FROM (SELECT k, v FROM s [RANGE 3 SECONDS] WHERE v > 0 UNION ALL "
    "SELECT k, -v FROM s [RANGE 3 SECONDS]) GROUP BY k",
    "looked up": "SELECT t.name, MIN(s.x) AS m FROM s [RANGE 3 SECONDS] JOIN t ON s.k = t.k GROUP BY t.name",
}
NUMBERS_BY_KEY = {"by key", "alone", "with filters", "of two windows", "looked up"}
IN_ANY_ORDER = {
    "rows that stay": "SELECT k, MAX(v) AS m FROM (SELECT k, v FROM s [RANGE 3 SECONDS] UNION ALL SELECT k, v FROM s) GROUP BY k",
    "two sizes": "SELECT k, MIN(v) AS m FROM (SELECT k, v FROM s [RANGE 3 SECONDS] UNION ALL SELECT k, v FROM s [NOW]) GROUP BY k",
    "counted": "SELECT k, MIN(v) AS m FROM s [ROWS 5] GROUP BY k",
    "joined": "SELECT a.k, MIN(b.v) AS m FROM s [RANGE 2 SECONDS] a JOIN s [RANGE 3 SECONDS] b ON a.k = b.k GROUP BY a.k",
}
VIEWS = {**IN_ORDER, **IN_ANY_ORDER}
START = datetime(2024, 1, 1)


def connected(sql: str, expiry: str = "auto") -> sash.Database:
    db = sash.connect(expiry=expiry)
    db.execute(STREAM + "INSERT INTO t VALUES ('ann', 'Ann'), ('ann', 'Anna'), ('ida', 'Ida');")
    db.execute(f"CREATE MATERIALIZED VIEW answer AS {sql};")
    return db


def given_rows(count: int) -> list[tuple[object, ...]]:
    chance, at, found = random.Random(count), 0, []
    for _ in range(count):
        at += chance.choice((0, 0, 0, 100, 900, 3000))
        key, number = chance.choice(("ann", "bob", "ida", "", None)), chance.choice((0.0, -0.0, float("nan"), 1.5, -2.0, None))
        value, cents = chance.choice((1, -1, 0, 7, 2**63 - 1, None)), chance.choice((Decimal("1.25"), Decimal("-7.5"), None))
        found.append((START + timedelta(milliseconds=at), key, number, value, cents))
    return found


def changes(sql: str, expiry: str, rows: list[tuple[object, ...]], pieces: int) -> list[str]:
    db, size = connected(sql, expiry), -(-len(rows) // pieces)
    for start in range(0, len(rows), size):
        db.push("s", rows[start : start + size])
    db.advance("2024-01-01 01:00:00")
    return [repr(row) for row in db.changes("answer").to_pylist()]


@pytest.mark.parametrize("name", VIEWS)
def test_the_same_changes_as_with_negative_rows(name: str) -> None:
    rows = given_rows(160)
    expected = changes(VIEWS[name], "negative", rows, 1)
    assert len(expected) > 15
    for pieces in (1, 40):
        assert changes(VIEWS[name], "auto", rows, pieces) == expected


@pytest.mark.parametrize("name", VIEWS)
def test_where_rows_leave_in_order_deques_are_chosen(name: str) -> None:
    specs = list(parts(connected(VIEWS[name]).planned(1).views[0].spec))
    assert any(isinstance(spec, OrderedGroupBySpec) for spec in specs) == (name in IN_ORDER and name not in NUMBERS_BY_KEY)
    assert any(isinstance(spec, SlidingGroupBySpec) for spec in specs) == (name in NUMBERS_BY_KEY)


def test_explain_names_them() -> None:
    db = connected(IN_ORDER["jumping"])
    text = db.explain(IN_ORDER["jumping"])
    assert "OrderedGroupBy" in text and "deques of values that may be shown" in text


def parts(spec: Spec) -> Iterator[Spec]:
    yield spec
    for below in spec.inputs:
        yield from parts(below)
