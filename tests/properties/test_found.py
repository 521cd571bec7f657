"""What random queries have found, cut down by hand: each a job that once gave a wrong answer, or none."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

import pytest
from playing import Way, embedded, played

from sash.planner.placement import Expiry
from sash.sql.syntax.parse import parse_statements
from sash.testing.comparing import assert_same
from sash.testing.oracle import Oracle
from sash.testing.tables import show

STREAMS = """
CREATE STREAM a (ts TIMESTAMP, k INT) TIMESTAMP BY ts;
CREATE STREAM b (ts TIMESTAMP, k INT) TIMESTAMP BY ts;
CREATE TABLE t (k INT, name STRING);
"""
WAYS = (Way(1), Way(1000), Way(2, seed=1, restarts=True), Way(2, shards=3), Way(1, shards=2, expiry=Expiry.NEGATIVE))

Rows = Mapping[str, list[tuple[object, ...]]]


def at(seconds: float) -> datetime:
    return datetime(1970, 1, 1) + timedelta(seconds=seconds)


def changelog(query: str, rows: Rows) -> str:
    """The changelog of a query, after all have agreed on it."""
    job = f"{STREAMS}{query if query.startswith('CREATE') else f'CREATE MATERIALIZED VIEW v AS {query};'}"
    expected = Oracle(job, rows).changelog("v")
    assert_same(expected, embedded(job, rows, 2))
    first, *others = (played(job, rows, way) for way in WAYS)
    assert all(other == first for other in others)
    return show(expected)


def test_a_count_of_a_stream_without_rows_is_zero_from_the_beginning_of_the_query() -> None:
    rows = {"a": [(at(1), 7), (at(9), 8)], "b": [(at(5), 1)], "t": []}
    found = changelog("SELECT k FROM a [RANGE 2 SECONDS] WHERE 0 = (SELECT COUNT(*) FROM b [RANGE 3 SECONDS])", rows)
    assert found.splitlines() == ["+ 7 @1", "- 7 @3", "+ 8 @9"]


def test_the_total_of_a_union_is_there_when_another_part_begins() -> None:
    rows: Rows = {"a": [(at(1), 7)], "b": [], "t": []}
    found = changelog("SELECT COUNT(*) AS n FROM b [ROWS 2] UNION ALL SELECT k FROM a [ROWS 1]", rows)
    assert found.splitlines() == ["+ 0 @1", "+ 7 @1"]


def test_the_grand_total_of_a_rollup_begins_with_the_query() -> None:
    rows: Rows = {"a": [(at(1), 7)], "b": [(at(4), 1)], "t": []}
    query = "SELECT * FROM (SELECT k, COUNT(*) AS n FROM b [NOW] GROUP BY ROLLUP (k)) EXCEPT SELECT k, 5 FROM a [ROWS 1]"
    assert changelog(query, rows).splitlines()[0] == "+ NULL 0 @1"


def test_a_windowed_subquery_begins_with_the_query_around_it() -> None:
    rows: Rows = {"a": [(at(1), 7)], "b": [(at(4), 1)], "t": []}
    query = "SELECT n FROM (SELECT COUNT(*) AS n FROM b [RANGE 2 SECONDS]) [ROWS 5] x, a [UNBOUNDED] y"
    assert changelog(query, rows).splitlines() == ["+ 0 @1", "+ 1 @4"]


def test_a_view_begins_by_itself() -> None:
    rows: Rows = {"a": [(at(1), 7)], "b": [(at(4), 1)], "t": []}
    views = """CREATE VIEW n AS SELECT COUNT(*) AS n FROM b [RANGE 1 SECOND];
    CREATE MATERIALIZED VIEW v AS SELECT a.k, n.n FROM a, n;"""
    assert changelog(views, rows).splitlines() == ["+ 7 1 @4"]


@pytest.mark.parametrize("join", ["a [RANGE 9 SECONDS] a RIGHT JOIN t", "t LEFT JOIN a [RANGE 9 SECONDS] a"])
def test_rows_of_a_table_wait_for_the_first_row_of_a_stream(join: str) -> None:
    rows: Rows = {"a": [(at(3), 1), (at(5), 2)], "b": [], "t": [(1, "one"), (2, "two")]}
    found = changelog(f"SELECT t.name, a.ts FROM {join} ON a.k = t.k", rows).splitlines()
    assert found[:2] == ["+ one 1970-01-01T00:00:03 @3", "+ two NULL @3"]
    assert found[2:] == ["- two NULL @5", "+ two 1970-01-01T00:00:05 @5"]


def test_a_query_with_a_table_begins_with_the_earliest_row_also_when_it_comes_second() -> None:
    rows: Rows = {"late": [(at(5), 1), (at(4), 1), (at(9), 2)], "t": [(1, "one")]}
    views = """CREATE STREAM late (ts TIMESTAMP, k INT) TIMESTAMP BY ts DELAY 3 SECONDS;
    CREATE MATERIALIZED VIEW v AS SELECT t.name FROM t LEFT JOIN late [NOW] ON t.k = late.k;"""
    assert changelog(views, rows).splitlines() == ["+ one @4"]


@pytest.mark.parametrize("condition", ["(a.k = b.k)", "a.k = b.k AND NOT (b.k > 3)", "a.k IN (b.k)", "a.k = abs(b.k)"])
def test_a_sequence_whose_condition_ends_with_a_parenthesis_can_have_a_window(condition: str) -> None:
    """It was read for ever."""
    query = f"SELECT a.k FROM a FOLLOWED BY b ON {condition} [RANGE 2 SECONDS]"
    assert len(parse_statements(f"CREATE VIEW v AS {query};")) == 1
    rows: Rows = {"a": [(at(1), 1), (at(1), 5)], "b": [(at(2), 1), (at(6), 2)], "t": []}
    assert changelog(query, rows).splitlines() == ["+ 1 @2", "- 1 @4"]


def test_a_row_before_the_epoch_leaves_a_join_once() -> None:
    times = [datetime(1, 1, 1), *(datetime(2024, 1, 1) + timedelta(seconds=place / 2) for place in range(12))]
    rows: Rows = {"a": [(ts, place % 3) for place, ts in enumerate(times)], "b": [], "t": []}
    query = "SELECT x.k AS k, COUNT(*) AS n FROM a [NOW] x JOIN a [UNBOUNDED] y ON x.ts = y.ts GROUP BY x.k"
    assert len(changelog(query, rows).splitlines()) == 2 * len(times) - 1


def test_a_side_of_which_nothing_is_shown_empties_a_distinct_join() -> None:
    rows: Rows = {"a": [(at(1), 7), (at(2), 7), (at(3), 8)], "b": [(at(1), 1)], "t": []}
    found = changelog("SELECT DISTINCT b.k FROM a [ROWS 1] CROSS JOIN b [UNBOUNDED] WHERE a.k < 8", rows)
    assert found.splitlines() == ["+ 1 @1", "- 1 @3"]
