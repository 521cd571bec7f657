"""The oracle against changelogs worked out by hand from the definitions."""

import random
from datetime import datetime

import pyarrow as pa
import pytest

from sash.errors import SashError
from sash.schema import BEGINNING
from sash.testing import Change, Oracle, assert_same, changes, show

STREAMS = """
    CREATE STREAM s (ts TIMESTAMP, k STRING, v BIGINT) TIMESTAMP BY ts;
    CREATE STREAM r (ts TIMESTAMP, k STRING, w BIGINT) TIMESTAMP BY ts DELAY 5 SECONDS;
    CREATE STREAM inside (k STRING, v BIGINT);
    CREATE TABLE names (k STRING, name STRING);
"""
ROWS = [(1, "a", 1), (2, "b", 2), (5, "a", 3), (8, None, None)]


def lines(query: str, view: str = "v", until: str | None = "100", **streams: list[tuple[object, ...]]) -> list[str]:
    """The changelog of one query, or of the last of several statements."""
    job = STREAMS + (query if "CREATE" in query else f"CREATE MATERIALIZED VIEW v AS {query}")
    return show(Oracle(job, streams, until=until).changelog(view)).splitlines()


def test_a_range() -> None:
    assert lines("SELECT k, v FROM s [RANGE 5 SECONDS] WHERE v > 1", s=ROWS) == [
        "+ b 2 @2", "+ a 3 @5", "- b 2 @7", "- a 3 @10",
    ]  # fmt: skip


def test_time_ends_at_the_greatest_timestamp_of_the_streams_that_a_view_reads() -> None:
    query = "SELECT k, v FROM s [RANGE 5 SECONDS]"
    assert lines(query, until=None, s=ROWS[:2]) == ["+ a 1 @1", "+ b 2 @2"]
    # A stream that no view reads does not move the end.
    assert lines(query, until=None, s=ROWS[:2], r=[(50, "a", 1)]) == ["+ a 1 @1", "+ b 2 @2"]
    other = f"CREATE VIEW v AS {query}; CREATE VIEW other AS SELECT k FROM r;"
    assert lines(other, until=None, s=ROWS[:1], r=[(50, "a", 1)]) == ["+ a 1 @1"]
    both = f"CREATE VIEW v AS {query} UNION ALL SELECT k, w FROM r [NOW];"
    assert lines(both, until=None, s=ROWS[:1], r=[(50, "a", 1)]) == ["+ a 1 @1", "- a 1 @6", "+ a 1 @50"]


def test_groups() -> None:
    assert lines("SELECT k, COUNT(*) AS n, SUM(v) AS total FROM s [RANGE 5 SECONDS] GROUP BY k", s=ROWS) == [
        "+ a 1 1 @1", "+ b 1 2 @2", "- a 1 1 @5", "+ a 2 4 @5", "- a 2 4 @6", "+ a 1 3 @6", "- b 1 2 @7",
        "+ NULL 1 NULL @8", "- a 1 3 @10", "- NULL 1 NULL @13",
    ]  # fmt: skip


def test_a_global_aggregate_begins_with_the_first_row_before_filters() -> None:
    query = "SELECT COUNT(*) AS n, SUM(v) AS total FROM s [RANGE 5 SECONDS] WHERE v > 2"
    assert lines(query, s=ROWS) == ["+ 0 NULL @1", "- 0 NULL @5", "+ 1 3 @5", "- 1 3 @10", "+ 0 NULL @10"]
    assert lines(query, s=[]) == []
    joined = "SELECT COUNT(*) AS n FROM s [RANGE 5 SECONDS] JOIN r [RANGE 5 SECONDS] ON s.k = r.k"
    assert lines(joined, r=[(3, "a", 1)]) == ["+ 0 @3"]


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        ("ROWS 2", ["+ a 1 @1", "+ b 2 @2", "- a 1 @5", "+ a 3 @5", "- b 2 @8", "+ NULL NULL @8"]),
        ("ROWS 2 SLIDE 2", ["+ a 1 @2", "+ b 2 @2", "- a 1 @8", "- b 2 @8", "+ NULL NULL @8", "+ a 3 @8"]),
        ("PARTITION BY k ROWS 1", ["+ a 1 @1", "+ b 2 @2", "- a 1 @5", "+ a 3 @5", "+ NULL NULL @8"]),
        ("UNBOUNDED", ["+ a 1 @1", "+ b 2 @2", "+ a 3 @5", "+ NULL NULL @8"]),
        ("RANGE 4 SECONDS SLIDE 2 SECONDS", [
            "+ a 1 @2", "+ b 2 @4", "- a 1 @6", "+ a 3 @6", "- b 2 @8", "- a 3 @10", "+ NULL NULL @10",
            "- NULL NULL @14",
        ]),
        ("NOW", [
            "+ a 1 @1", "- a 1 @1.000001", "+ b 2 @2", "- b 2 @2.000001", "+ a 3 @5", "- a 3 @5.000001",
            "+ NULL NULL @8", "- NULL NULL @8.000001",
        ]),
    ],
)  # fmt: skip
def test_windows(window: str, expected: list[str]) -> None:
    assert lines(f"SELECT k, v FROM s [{window}]", s=ROWS) == expected


def test_rows_out_of_order_are_sorted_and_late_ones_left_out() -> None:
    rows = [(10, "a", 1), (5, "b", 2), (4, "late", 3), (20, "c", 4), (14, "late", 5), (15, "d", 6)]
    oracle = Oracle(STREAMS + "CREATE VIEW v AS SELECT k FROM r [ROWS 1]", {"r": rows})
    assert show(oracle.changelog("v")).splitlines() == [
        "+ b @5", "- b @10", "+ a @10", "- a @15", "+ d @15", "- d @20", "+ c @20",
    ]  # fmt: skip
    assert [row[2] for row in oracle.late("R")] == [3, 5]


def test_ties_go_by_position() -> None:
    assert lines("SELECT k FROM s [ROWS 1]", s=[(1, "b", 1), (1, "a", 1)]) == ["+ a @1"]


def test_a_self_join_reads_two_windows() -> None:
    query = "SELECT x.v AS older, y.v AS newer FROM s [RANGE 10 SECONDS] x JOIN s [NOW] y ON x.k = y.k WHERE x.v < y.v"
    assert lines(query, s=ROWS) == ["+ 1 3 @5", "- 1 3 @5.000001"]


def test_a_table_is_always_there() -> None:
    names = [("a", "ann"), ("a", "anna"), (None, "nobody")]
    query = "SELECT name, v FROM s [RANGE 5 SECONDS] JOIN names ON s.k = names.k"
    assert lines(query, until="6", s=ROWS, names=names) == [
        "+ ann 1 @1", "+ anna 1 @1", "+ ann 3 @5", "+ anna 3 @5", "- ann 1 @6", "- anna 1 @6",
    ]  # fmt: skip
    oracle = Oracle(STREAMS + "CREATE VIEW v AS SELECT COUNT(*) AS n FROM names", {"names": names})
    assert oracle.changelog("v") == [Change(1, BEGINNING, (3,))]


def test_a_view_without_a_window_is_what_it_holds() -> None:
    job = """
        CREATE VIEW counts AS SELECT k, COUNT(*) AS n FROM s [RANGE 5 SECONDS] GROUP BY k;
        CREATE VIEW v AS SELECT MAX(n) AS n FROM counts;
    """
    assert lines(job, s=ROWS) == ["+ 1 @1", "- 1 @5", "+ 2 @5", "- 2 @6", "+ 1 @6", "- 1 @13", "+ NULL @13"]


def test_a_window_on_a_view_reads_its_insertions() -> None:
    job = """
        CREATE VIEW counts (key, n) AS SELECT k, COUNT(*) FROM s [RANGE 5 SECONDS] GROUP BY k;
        CREATE VIEW v AS SELECT key, n FROM counts [ROWS 2];
    """
    # Insertions: (a 1 @1) (b 1 @2) (a 2 @5) (a 1 @6) (NULL 1 @8)
    assert lines(job, s=ROWS) == [
        "+ a 1 @1", "+ b 1 @2", "- a 1 @5", "+ a 2 @5", "- b 1 @6", "+ a 1 @6", "- a 2 @8", "+ NULL 1 @8",
    ]  # fmt: skip


def test_a_window_on_a_subquery_does_too() -> None:
    query = "SELECT COUNT(*) AS n FROM (SELECT k FROM s [RANGE 1 SECOND] WHERE v > 1) [RANGE 4 SECONDS] x"
    assert lines(query, s=ROWS) == [
        "+ 0 @1", "- 0 @2", "+ 1 @2", "- 1 @5", "+ 2 @5", "- 2 @6", "+ 1 @6", "- 1 @9", "+ 0 @9",
    ]  # fmt: skip


def test_with_and_the_window_of_the_whole_query() -> None:
    query = "WITH big AS (SELECT k, v FROM s WHERE v > 1) SELECT k FROM big WINDOW 2 SECONDS"
    assert lines(query, s=ROWS) == ["+ b @2", "- b @4", "+ a @5", "- a @7"]


def test_streams_without_timestamps_need_their_arrivals() -> None:
    job = STREAMS + "CREATE VIEW v AS SELECT k FROM inside [RANGE 5 SECONDS]"
    oracle = Oracle(job, {"inside": [("a", 1), ("b", 2)]}, stamps={"inside": [1_000_000, "3"]}, until="7")
    assert show(oracle.changelog("v")).splitlines() == ["+ a @1", "+ b @3", "- a @6"]
    with pytest.raises(SashError, match='the rows of "inside" have no timestamps'):
        Oracle(job, {"inside": [("a", 1)]})


def test_rows_may_be_dictionaries_or_arrow() -> None:
    job = STREAMS + "CREATE VIEW v AS SELECT k, v FROM s"
    expected = [Change(1, 1_000_000, ("a", None))]
    assert Oracle(job, {"S": [{"ts": 1, "K": "a"}]}).changelog("v") == expected
    table = pa.table({"k": ["a"], "ts": [datetime(1970, 1, 1, 0, 0, 1)]})
    assert Oracle(job, {"s": table}).changelog("V") == expected


def test_the_answer_at_an_instant() -> None:
    oracle = Oracle(STREAMS + "CREATE VIEW v AS SELECT k FROM s [RANGE 5 SECONDS]", {"s": ROWS})
    assert oracle.end == 8_000_000
    assert oracle.answer("v", 0) == {}
    assert oracle.answer("v", "5") == {("a",): 2, ("b",): 1}
    assert oracle.answer("v") == {("a",): 1, (None,): 1}
    with pytest.raises(SashError, match="after the end"):
        oracle.answer("v", "9")


def test_the_changelog_adds_up_to_the_answer_at_every_instant() -> None:
    generator = random.Random(3)
    rows = sorted((generator.randrange(60), generator.choice("abc"), generator.randrange(5)) for _ in range(120))
    query = "SELECT k, MIN(v) AS low, AVG(v) AS mean FROM s [RANGE 7 SECONDS] GROUP BY k HAVING COUNT(*) > 1"
    oracle = Oracle(STREAMS + f"CREATE VIEW v AS {query}", {"s": rows}, until="80")
    bag: dict[object, int] = {}
    changelog = oracle.changelog("v")
    for place, change in enumerate(changelog):
        bag[change.row] = bag.get(change.row, 0) + change.op
        if place + 1 == len(changelog) or changelog[place + 1].ts > change.ts:
            assert {row: count for row, count in bag.items() if count} == oracle.answer("v", change.ts)
    assert not any(bag.values())


def test_types_are_those_of_the_view() -> None:
    columns = "SUM(v) AS total, AVG(v) AS mean, SUM(CAST(v AS DECIMAL(5, 2))) AS exact, v / 0 AS bad"
    query = f"SELECT {columns} FROM s GROUP BY v"
    job = STREAMS + f"CREATE VIEW v AS {query}"
    (change,) = Oracle(job, {"s": [(1, "a", 3)]}).changelog("v")
    assert [type(value).__name__ for value in change.row] == ["int", "float", "Decimal", "NoneType"]


@pytest.mark.parametrize(
    ("job", "streams", "message"),
    [
        ("", {"t": []}, 'unknown stream or table "t"; there are: s, r, inside, names'),
        ("", {"s": [(1, "a")]}, "a row has 2 values"),
        ("", {"s": [("noon", "a", 1)]}, '"noon" is not an instant'),
        ("ADVANCE TO '2024-01-01'", {}, "leave ADVANCE out"),
    ],
)
def test_mistakes(job: str, streams: dict[str, list[tuple[object, ...]]], message: str) -> None:
    with pytest.raises(SashError, match=message):
        Oracle(STREAMS + job, streams)


def test_an_unknown_view() -> None:
    oracle = Oracle(STREAMS + "CREATE VIEW v AS SELECT k FROM s", {})
    with pytest.raises(SashError, match='unknown view "w"; views are: v'):
        oracle.changelog("w")
    assert_same(oracle.changelog("v"), changes(schema=oracle.schema("v")))


def test_partitions_are_judged_apart() -> None:
    query = "CREATE MATERIALIZED VIEW v AS SELECT k, v FROM s [NOW]"
    rows = [(5, "a", 1), (1, "b", 2), (4, "a", 3), (2, "b", 4), (5, "b", 5), (4, "b", 6)]
    oracle = Oracle(STREAMS + query, {"s": rows}, partitions={"S": [9, 10, 9, 10, 10, 10]})
    assert [row[2] for row in oracle.late("s")] == [3, 6]
    assert [change.row[1] for change in oracle.changelog("v") if change.op > 0] == [2, 4, 1, 5]
    assert [row[2] for row in Oracle(STREAMS + query, {"s": rows}).late("s")] == [2, 3, 4, 6]
