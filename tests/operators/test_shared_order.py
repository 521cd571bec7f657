"""Medians and percentiles of one column are found in one order, whoever asks: what is shared, and what EXPLAIN says of it."""

from __future__ import annotations

import random

import pytest

from sash.database.embedded import EmbeddedDatabase
from sash.operators.shared_order.kernels.records import FEW_MOVES
from sash.operators.shared_order.operator import SharedOrder
from sash.testing import Oracle
from sash.testing.comparing import assert_same
from sash.testing.tables import from_arrow

STREAM = "CREATE STREAM s (ts TIMESTAMP, k STRING, v BIGINT, x DOUBLE, d DECIMAL(30, 2)) TIMESTAMP BY ts;"
WINDOW = "s [RANGE 20 SECONDS]"
VIEWS = {
    "median": f"SELECT k, MEDIAN(x) AS m FROM {WINDOW} GROUP BY k",
    "tails": f"SELECT k, PERCENTILE(x, 0.9) AS p, PERCENTILE(x, 0.99) AS q, COUNT(*) AS n, COUNT(x) AS c FROM {WINDOW} GROUP BY k",
    "ends": f"SELECT k, MAX(x) AS h, MEDIAN(x) AS m, MIN(x) AS l, ANY_VALUE(x) AS a FROM {WINDOW} GROUP BY k HAVING COUNT(*) > 2",
    "discrete": f"SELECT k, PERCENTILE_DISC(0.3) WITHIN GROUP (ORDER BY x DESC) AS p FROM {WINDOW} GROUP BY k",
    "whole": f"SELECT MEDIAN(v) AS m FROM {WINDOW}",
    "whole_tail": f"SELECT PERCENTILE(v, 0.7) AS p, COUNT(*) AS n FROM {WINDOW}",
    "wide": f"SELECT k, MEDIAN(d) AS m, MAX(d) AS h FROM {WINDOW} GROUP BY k",
    "wide_tail": f"SELECT k, PERCENTILE(d, 0.2) AS m FROM {WINDOW} GROUP BY k",
    "last": "SELECT MEDIAN(x) AS m FROM s [ROWS 7]",
    "last_tail": "SELECT PERCENTILE(x, 0.1) AS m FROM s [ROWS 7]",
    "jumps": "SELECT k, MEDIAN(x) AS m FROM s [RANGE 12 SECONDS SLIDE 4 SECONDS] GROUP BY k",
    "jumps_tail": "SELECT k, PERCENTILE(x, 0.8) AS m FROM s [RANGE 12 SECONDS SLIDE 4 SECONDS] GROUP BY k",
}
Rows = list[tuple[object, ...]]


def rows(seed: int, count: int = 300) -> Rows:
    """Ties, bursts, NULLs, zeros of both signs, and gaps that are longer than all windows."""
    chance, at, found = random.Random(seed), -400.0, list[tuple[object, ...]]()
    steps = chance.choice([(0, 0, 0.25), (0, 0.5, 1, 3), (1,)])
    for _ in range(count):
        at += chance.choice(steps) if chance.random() < 0.99 else 100
        value, double = chance.choice([None, 1, -5, 7, 100]), chance.choice([None, 0.0, -0.0, 8.0, chance.gauss(0, 5)])
        found.append((at, chance.choice(["a", "b", "c", None]), value, double, chance.choice([None, "7.25", "-1e20", "1e20"])))
    return found


def database(*names: str) -> EmbeddedDatabase:
    db = EmbeddedDatabase()
    db.execute(STREAM)
    for name in names:
        create(db, name)
    return db


def create(db: EmbeddedDatabase, name: str) -> None:
    db.execute(f"CREATE MATERIALIZED VIEW {name} AS {VIEWS[name]}")


def push(db: EmbeddedDatabase, some: Rows, size: int) -> None:
    for start in range(0, len(some), size):
        db.push("s", some[start : start + size])


def shared(db: EmbeddedDatabase) -> list[SharedOrder]:
    return [node.operator for node in db._running().graph.nodes if isinstance(node.operator, SharedOrder)]


def check(db: EmbeddedDatabase, some: Rows, *names: str) -> None:
    """Every view against the answer of DuckDB at every instant."""
    db.end()
    for name in names:
        oracle = Oracle(f"{STREAM} CREATE MATERIALIZED VIEW {name} AS {VIEWS[name]};", {"s": some})
        assert_same(oracle.changelog(name), from_arrow(db.changes(name)))


@pytest.mark.parametrize("size", [1, 7, 100, 300])
def test_figures_of_one_column_share_its_order(size: int) -> None:
    db, some = database(*VIEWS), rows(size)
    push(db, some, size)
    assert sorted(len(one._taps) for one in shared(db)) == [2, 2, 2, 2, 4]
    check(db, some, *VIEWS)


def test_what_the_order_does_not_tell_is_kept_alone() -> None:
    db = database("median")
    for number, calls in enumerate(["MEDIAN(x), SUM(x)", "MEDIAN(x), MEDIAN(v)", "MIN(x), MAX(x)", "MEDIAN(x), COUNT(DISTINCT x)"]):
        db.execute(f"CREATE MATERIALIZED VIEW other{number} AS SELECT k, {calls} FROM {WINDOW} GROUP BY k")
    push(db, rows(1), 50)
    assert [len(one._taps) for one in shared(db)] == [1]


@pytest.mark.parametrize("late", ["median", "tails", "ends", "whole_tail", "jumps"])
def test_one_that_comes_later_begins_with_what_is_there(late: str) -> None:
    others = [name for name in VIEWS if name != late]
    db, alone, some = database(*others), database(late), rows(5)
    alone.execute("CREATE MATERIALIZED VIEW keeps AS SELECT COUNT(*) AS n FROM s [RANGE 5 MINUTES]")
    push(db, some[:150], 10)
    create(db, late)
    push(alone, some[:150], 10)
    assert db.view(late).to_arrow().equals(alone.view(late).to_arrow())
    for start in range(150, 300, 10):
        push(db, some[start : start + 10], 10)
        push(alone, some[start : start + 10], 10)
        assert db.view(late).to_arrow().equals(alone.view(late).to_arrow())
    check(db, some, *others)


def test_others_go_on_when_one_goes() -> None:
    db, some = database(*VIEWS), rows(9)
    push(db, some[:100], 9)
    db.execute("DROP VIEW median; DROP VIEW ends; DROP VIEW whole; DROP VIEW jumps_tail")
    push(db, some[100:], 9)
    check(db, some, "tails", "discrete", "whole_tail", "jumps")


def test_state_returns_to_empty() -> None:
    db = database(*VIEWS)
    push(db, rows(9), 20)
    assert all(one.kept for one in shared(db))
    db.advance("2030-01-01")
    kept = {one._spec.title: one.kept for one in shared(db)}
    last = kept.pop("order of x of s")  # of the last seven rows
    assert 1 < last <= 8 and kept.pop("order of v of s") == 1 and not any(kept.values()), kept


def test_nothing_is_kept_when_all_have_gone() -> None:
    db = database("median", "tails")
    push(db, rows(3), 50)
    db.execute("DROP VIEW median; DROP VIEW tails")
    assert not shared(db)


@pytest.mark.parametrize("moves", [1, FEW_MOVES, FEW_MOVES + 1, 200])
def test_bursts_in_one_group_at_one_instant(moves: int) -> None:
    """Fingers follow few changes, and are looked for anew after many; both find the same."""
    chance, some = random.Random(moves), list[tuple[object, ...]]()
    for instant in range(40):
        count = moves if instant % 3 else 1
        some += [(float(instant), "a", chance.randrange(5), chance.choice([1.0, chance.random()]), None) for _ in range(count)]
    db = database("median", "tails", "ends", "discrete", "whole")
    push(db, some, 64)
    check(db, some, "median", "tails", "ends", "discrete", "whole")


def test_more_groups_and_values_than_there_is_room_for_at_first() -> None:
    chance = random.Random(1)
    some = [(number / 100, f"k{chance.randrange(300)}", number, chance.random(), None) for number in range(3000)]
    one, other = database("median", "tails", "ends"), database("median", "tails", "ends")
    push(one, some, 3000)
    push(other, some, 17)
    for db in (one, other):
        db.end()
    for name in ("median", "tails", "ends"):
        assert one.changes(name).equals(other.changes(name))


def test_who_shares_is_told() -> None:
    db = database("median", "tails", "whole")
    told = {row["name"]: row["shared_orders"] for row in db.execute("SHOW QUERIES").to_pylist()}
    assert told == {
        "median": "order of x of s by k: 2 sets of figures, 2 queries",
        "tails": "order of x of s by k: 2 sets of figures, 2 queries",
        "whole": "",
    }
    text = str(db.explain("median"))
    assert "order of x of s by k: 2 sets of figures, 2 queries  with: tails" in text
    assert "the values of x in order" in text
