"""The worked examples of the papers behind the engine, as far as their text says which rows come when.

A time unit is a second. Where a text leaves a value open, one is chosen that keeps what it says. Every way of expiry gives the
same changes.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from sash.database.embedded import EmbeddedDatabase
from sash.planner.placement import Expiry
from sash.testing.comparing import assert_same
from sash.testing.tables import Change, changes, from_arrow
from sash.testing.values import moment

SECOND = 1_000_000
WAYS = [way.value for way in Expiry if way.value != "input-triggered"]

Row = tuple[object, ...]


@pytest.fixture(params=WAYS)
def db(request: pytest.FixtureRequest) -> EmbeddedDatabase:
    return EmbeddedDatabase(expiry=request.param)


def push(db: EmbeddedDatabase, stream: str, *rows: Row) -> None:
    """Rows whose first value is the second at which they come."""
    db.push(stream, [(moment(int(str(row[0])) * SECOND), *row[1:]) for row in rows])


def expect(db: EmbeddedDatabase, view: str, *lines: str) -> None:
    schema = db.catalog.views[view].plan.schema
    assert_same(changes(*lines, schema=schema), from_arrow(db.changes(view)))


# Ghanem et al., "Incremental Evaluation of Sliding-Window Queries over Data Streams"

FAVOURITES = """
CREATE STREAM sales (ts TIMESTAMP, item INT) TIMESTAMP BY ts;
CREATE TABLE favourites (item INT);
CREATE MATERIALIZED VIEW sold AS
  SELECT COUNT(*) AS n FROM sales [RANGE 5 SECONDS] s JOIN favourites f ON s.item = f.item;
"""


def test_count_of_favourite_items_goes_down_without_new_ones(db: EmbeddedDatabase) -> None:
    """Fig. 1 and 2: item 2 at T5 is no favourite; the count is right at T5 and T6 all the same."""
    db.execute(FAVOURITES)
    db.push("favourites", [(4,), (5,)])
    push(db, "sales", (0, 4), (1, 5), (3, 5), (4, 4), (5, 2), (6, 2))
    db.end()
    expect(db, "sold", "+ 1 @0", "- 1 @1 \n + 2 @1", "- 2 @3 \n + 3 @3", "- 3 @4 \n + 4 @4",
           "- 4 @5 \n + 3 @5", "- 3 @6 \n + 2 @6")


def test_an_intersection_keeps_a_row_that_another_one_replaces(db: EmbeddedDatabase) -> None:
    """Fig. 3: at T6 the first "1" of S expires; the second takes its place, and 5 joins the answer."""
    db.execute(
        "CREATE STREAM s (ts TIMESTAMP, v INT) TIMESTAMP BY ts; CREATE STREAM r (ts TIMESTAMP, v INT) TIMESTAMP BY ts;"
        "CREATE MATERIALIZED VIEW both_have AS "
        "SELECT v FROM s [RANGE 5 SECONDS] INTERSECT ALL SELECT v FROM r [RANGE 10 SECONDS]"
    )
    push(db, "r", (0, 1), (2, 5))
    push(db, "s", (1, 1), (4, 1), (6, 5))
    db.advance(20 * SECOND)
    expect(db, "both_have", "+ 1 @1", "+ 5 @6", "- 1 @9", "- 5 @11")


def test_the_maximum_goes_when_the_row_it_joined_with_goes(db: EmbeddedDatabase) -> None:
    """Fig. 4: one row of store 6 joins three others; when it expires at T6, all three pairs go at once."""
    db.execute(
        "CREATE STREAM s1 (ts TIMESTAMP, item INT, price INT, store INT) TIMESTAMP BY ts;"
        "CREATE STREAM s2 (ts TIMESTAMP, item INT, price INT, store INT) TIMESTAMP BY ts;"
        "CREATE MATERIALIZED VIEW dearest AS "
        "SELECT MAX(s2.price) AS most FROM s1 [RANGE 5 SECONDS], s2 [RANGE 5 SECONDS] WHERE s1.store = s2.store;"
        "CREATE MATERIALIZED VIEW pairs AS "
        "SELECT s2.price FROM s1 [RANGE 5 SECONDS], s2 [RANGE 5 SECONDS] WHERE s1.store = s2.store"
    )
    push(db, "s1", (1, 100, 1, 6))
    push(db, "s2", (2, 200, 30, 6), (3, 201, 50, 6), (4, 202, 40, 6))
    db.advance(20 * SECOND)
    expect(db, "pairs", "+ 30 @2", "+ 50 @3", "+ 40 @4", "- 30 @6 \n - 50 @6 \n - 40 @6")
    expect(db, "dearest", "+ NULL @1", "- NULL @2 \n + 30 @2", "- 30 @3 \n + 50 @3", "- 50 @6 \n + NULL @6")


def test_a_pair_goes_once_with_the_older_of_its_rows(db: EmbeddedDatabase) -> None:
    """Fig. 5: t_i came at T1, t_j at T3; the pair goes at T6, and nothing happens when t_j expires."""
    db.execute(
        "CREATE STREAM s1 (ts TIMESTAMP, k INT) TIMESTAMP BY ts; CREATE STREAM s2 (ts TIMESTAMP, k INT) TIMESTAMP BY ts;"
        "CREATE MATERIALIZED VIEW pairs AS SELECT s1.k FROM s1 [RANGE 5 SECONDS] JOIN s2 [RANGE 5 SECONDS] ON s1.k = s2.k"
    )
    push(db, "s1", (1, 7))
    push(db, "s2", (3, 7))
    db.advance(20 * SECOND)
    expect(db, "pairs", "+ 7 @3", "- 7 @6")


def test_a_row_that_comes_as_another_goes_changes_no_count(db: EmbeddedDatabase) -> None:
    """Fig. 6: 4, 5 and 5 expire from T6 to T8 with nothing new; at T10 a 4 goes and a 4 comes."""
    db.execute(FAVOURITES)
    db.push("favourites", [(4,), (5,)])
    push(db, "sales", (1, 4), (2, 5), (3, 5), (5, 4), (10, 4), (11, 2))
    db.end()
    expect(db, "sold", "+ 1 @1", "- 1 @2 \n + 2 @2", "- 2 @3 \n + 3 @3", "- 3 @5 \n + 4 @5",
           "- 4 @6 \n + 3 @6", "- 3 @7 \n + 2 @7", "- 2 @8 \n + 1 @8")


def test_no_row_expires_before_a_delayed_one_has_come(db: EmbeddedDatabase) -> None:
    """Fig. 11: 7 has timestamp T4 but comes three ticks later; the sum at T5, when 5 expires, is 15 and never 8."""
    db.execute(
        "CREATE STREAM s (ts TIMESTAMP, v INT) TIMESTAMP BY ts DELAY 3 SECONDS;"
        "CREATE MATERIALIZED VIEW total AS SELECT SUM(v) AS total FROM s [RANGE 5 SECONDS]"
    )
    push(db, "s", (0, 5), (2, 8))
    push(db, "s", (7, 1))  # the clock is at T4 only: less the delay
    push(db, "s", (4, 7))
    db.end()
    expect(db, "total", "+ 5 @0", "- 5 @2 \n + 13 @2", "- 13 @4 \n + 20 @4", "- 20 @5 \n + 15 @5", "- 15 @7 \n + 8 @7")


# Hammad et al., "Scheduling for shared window joins over data streams"

READINGS = """
CREATE STREAM a (ts TIMESTAMP, name STRING, symbol STRING) TIMESTAMP BY ts;
CREATE STREAM b (ts TIMESTAMP, name STRING, symbol STRING) TIMESTAMP BY ts;
"""
A = ((1, "a1", "circle"), (5, "a5", "circle"), (9, "a9", "circle"), (11, "a11", "star"))
B = ((0, "b0", "star"), (4, "b4", "star"), (8, "b8", "star"), (12, "b12", "circle"))


def shared_join(db: EmbeddedDatabase, condition: str, sizes: Sequence[int]) -> None:
    """One query for every window size, over the same two streams."""
    db.execute(READINGS)
    for number, size in enumerate(sizes, 1):
        db.execute(
            f"CREATE MATERIALIZED VIEW q{number} AS SELECT a.name AS a, b.name AS b FROM a, b WHERE {condition} "
            f"WINDOW {size} SECONDS"
        )
    for row in sorted([*A, *B]):
        push(db, row[1][0], row)
    db.advance(40 * SECOND)


def test_shared_windows_route_pairs_by_their_distance(db: EmbeddedDatabase) -> None:
    """Fig. 2 and 3: a11 meets b8, b4 and b0; b12 meets a9, a5 and a1; each wider window has one pair more of both."""
    shared_join(db, "a.symbol = b.symbol", (4, 8, 12))
    nearest = ("+ a11 b8 @11", "+ a9 b12 @12")
    expect(db, "q1", *nearest, "- a11 b8 @12", "- a9 b12 @13")
    near = (*nearest, "+ a11 b4 @11", "+ a5 b12 @12")
    expect(db, "q2", *near, "- a11 b4 @12", "- a5 b12 @13", "- a11 b8 @16", "- a9 b12 @17")
    expect(db, "q3", *near, "+ a11 b0 @11", "+ a1 b12 @12", "- a11 b0 @12", "- a1 b12 @13",
           "- a11 b4 @16", "- a5 b12 @17", "- a11 b8 @20", "- a9 b12 @21")


def test_shared_windows_where_everything_joins(db: EmbeddedDatabase) -> None:
    """Fig. 4: windows of 2w, 3w and 6w; every pair nearer than a window is there from its younger row on."""
    sizes = (4, 6, 12)
    shared_join(db, "1 = 1", sizes)
    for number, size in enumerate(sizes, 1):
        expected = []
        for (s, a, _), (t, b, _) in ((left, right) for left in A for right in B if abs(left[0] - right[0]) < size):
            expected += [Change(1, max(s, t) * SECOND, (a, b)), Change(-1, (min(s, t) + size) * SECOND, (a, b))]
        assert_same(expected, from_arrow(db.changes(f"q{number}")))


# Golab and Özsu, "Update-pattern-aware modeling and processing of continuous queries"


def test_a_distinct_value_stays_while_a_younger_duplicate_lives(db: EmbeddedDatabase) -> None:
    """Fig. 2: the old x is replaced by a younger one, which came before two of y."""
    db.execute(
        "CREATE STREAM s (ts TIMESTAMP, v STRING) TIMESTAMP BY ts;"
        "CREATE MATERIALIZED VIEW distinct_values AS SELECT DISTINCT v FROM s [RANGE 5 SECONDS]"
    )
    push(db, "s", (1, "x"), (3, "x"), (4, "y"), (5, "y"))
    db.advance(20 * SECOND)
    expect(db, "distinct_values", "+ x @1", "+ y @4", "- x @8", "- y @10")


def test_join_results_do_not_expire_in_the_order_they_came(db: EmbeddedDatabase) -> None:
    """Fig. 5: t joins a younger row than u does, so the pair of u comes later and goes earlier."""
    db.execute(
        "CREATE STREAM w1 (ts TIMESTAMP, k INT) TIMESTAMP BY ts;"
        "CREATE STREAM w2 (ts TIMESTAMP, k INT, name STRING) TIMESTAMP BY ts;"
        "CREATE MATERIALIZED VIEW joined AS SELECT w2.name FROM w1 [RANGE 5 SECONDS] JOIN w2 [RANGE 5 SECONDS] ON w1.k = w2.k"
    )
    push(db, "w1", (1, 20), (3, 10))
    push(db, "w2", (4, 10, "t"), (5, 20, "u"))
    db.advance(20 * SECOND)
    expect(db, "joined", "+ t @4", "+ u @5", "- u @6", "- t @8")
