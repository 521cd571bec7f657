"""Answers worked out by hand, for queries written in DuckDB's SQL."""

import time

import pyarrow as pa
import pytest

from sash.plan.windows import RangeWindow, RowsWindow, WindowShape
from sash.schema import BIGINT, DOUBLE, STRING, Schema, schema
from sash.testing.recompute import Constant, Duck, Recomputed, Relation, Windowed
from sash.testing.tables import Change, changes, show
from sash.testing.windows import Arrival

KV = schema(("k", STRING), ("v", BIGINT))
COUNT = schema(("n", BIGINT))
RANGE_10 = RangeWindow(10_000_000)


def windowed(*lines: str, spec: WindowShape = RANGE_10) -> Windowed:
    """A stream of (k, v), written as the arrivals of a changelog."""
    arrivals = [Arrival(change.ts, change.row) for change in changes(*lines, schema=KV)]
    return Windowed(arrivals, KV, spec)


def recomputed(text: str, result: Schema, *inputs: Relation, begin: int = 1) -> Recomputed:
    return Recomputed(Duck(), text, inputs, result, begin * 1_000_000)


def lines(view: Recomputed, end: int = 100) -> list[str]:
    return show(view.changelog(end * 1_000_000)).splitlines()


def test_a_selection_shows_rows_entering_and_leaving() -> None:
    view = recomputed("SELECT * FROM input_0 WHERE v > 1", KV, windowed("+ a 1 @1", "+ b 2 @2", "+ c 3 @5"))
    assert lines(view) == ["+ b 2 @2", "+ c 3 @5", "- b 2 @12", "- c 3 @15"]


def test_nothing_after_the_end() -> None:
    view = recomputed("SELECT * FROM input_0", KV, windowed("+ a 1 @1", "+ b 2 @11"))
    assert lines(view, end=11) == ["+ a 1 @1", "- a 1 @11", "+ b 2 @11"]


def test_rows_that_cancel_at_one_instant_are_not_shown() -> None:
    view = recomputed("SELECT * FROM input_0", KV, windowed("+ a 1 @1", "+ a 1 @11"))
    assert lines(view) == ["+ a 1 @1", "- a 1 @21"]


def test_duplicates_are_changes_of_their_own() -> None:
    view = recomputed("SELECT * FROM input_0", KV, windowed("+ a 1 @1", "+ a 1 @1"))
    assert lines(view) == ["+ a 1 @1", "+ a 1 @1", "- a 1 @11", "- a 1 @11"]


def test_a_global_aggregate_has_its_row_from_the_first_row_before_filters() -> None:
    view = recomputed("SELECT count(*) FROM input_0 WHERE v > 1", COUNT, windowed("+ a 1 @1", "+ b 2 @2"))
    assert lines(view) == ["+ 0 @1", "- 0 @2", "+ 1 @2", "- 1 @12", "+ 0 @12"]
    assert view.bag(0) == {}
    assert view.bag(50_000_000) == {(0,): 1}


def test_a_slide_hides_the_first_row_but_the_aggregate_begins_with_it() -> None:
    spec = RangeWindow(10_000_000, slide=10_000_000)
    view = recomputed("SELECT count(*) FROM input_0", COUNT, windowed("+ a 1 @3", spec=spec), begin=3)
    assert lines(view) == ["+ 0 @3", "- 0 @10", "+ 1 @10", "- 1 @20", "+ 0 @20"]


def test_a_join() -> None:
    left, right = windowed("+ a 1 @1", "+ b 2 @3"), windowed("+ a 7 @8")
    text = "SELECT l.k, r.v FROM input_0 l JOIN input_1 r ON l.k = r.k"
    assert lines(recomputed(text, KV, left, right)) == ["+ a 7 @8", "- a 7 @11"]
    assert lines(recomputed(f"SELECT count(*) FROM ({text})", COUNT, left, right))[0] == "+ 0 @1"


def test_null_is_a_group_but_joins_nothing() -> None:
    rows = ("+ NULL 1 @1", "+ NULL 2 @1", "+ a NULL @1")
    grouped = recomputed("SELECT k, sum(v) FROM input_0 GROUP BY k", KV, windowed(*rows))
    assert lines(grouped, end=1) == ["+ NULL 3 @1", "+ a NULL @1"]
    joined = recomputed("SELECT l.* FROM input_0 l JOIN input_1 r ON l.k = r.k", KV, windowed(*rows), windowed(*rows))
    assert lines(joined, end=1) == ["+ a NULL @1"]


def test_a_table_was_always_there_but_starts_nothing() -> None:
    table = Constant([("a", 7), ("b", 8)], KV)
    text = "SELECT l.k, r.v FROM input_0 l JOIN input_1 r ON l.k = r.k"
    assert lines(recomputed(text, KV, windowed("+ a 1 @1"), table)) == ["+ a 7 @1", "- a 7 @11"]
    assert lines(recomputed("SELECT count(*) FROM input_1", COUNT, windowed("+ a 1 @1"), table)) == ["+ 2 @1"]


def test_a_view_is_read_as_what_it_holds() -> None:
    counts = recomputed("SELECT k, count(*) FROM input_0 GROUP BY k", KV, windowed("+ a 1 @1", "+ a 1 @2", "+ b 1 @2"))
    greatest = recomputed("SELECT max(v) FROM input_0", COUNT, counts)
    assert lines(greatest) == ["+ 1 @1", "- 1 @2", "+ 2 @2", "- 2 @11", "+ 1 @11", "- 1 @12", "+ NULL @12"]


def test_insertions_of_one_instant_come_in_the_order_of_their_rows() -> None:
    view = recomputed("SELECT * FROM input_0", KV, windowed("+ b 1 @1", "+ NULL 5 @1", "+ a 2 @1", "+ a NULL @1"))
    rows = [arrival.row for arrival in view.stream("ISTREAM", 100_000_000)]
    assert rows == [(None, 5), ("a", None), ("a", 2), ("b", 1)]


def test_a_failing_expression_is_null_and_a_sum_is_an_int() -> None:
    result = schema(("x", DOUBLE), ("s", BIGINT))
    view = recomputed("SELECT 1 / min(v), sum(v) FROM input_0", result, windowed("+ a 0 @1"))
    assert view.changelog(1_000_000) == [Change(1, 1_000_000, (None, 0))]
    assert type(view.changelog(1_000_000)[0].row[1]) is int


def test_nan_is_one_value() -> None:
    numbers = schema(("x", DOUBLE))
    arrivals = [Arrival(ts, (float("nan"),)) for ts in (0, 5_000_000)]
    view = recomputed("SELECT sum(x) FROM input_0", numbers, Windowed(arrivals, numbers, RANGE_10), begin=0)
    assert [(change.op, change.ts) for change in view.changelog(9_000_000)] == [(1, 0)]


def test_the_text_sees_the_declared_types_even_when_empty() -> None:
    assert Constant([], KV).table(0).schema == pa.schema([("k", pa.string()), ("v", pa.int64())])


def test_two_hundred_rows_take_a_second_or_two() -> None:
    stream = windowed(*(f"+ k{n % 7} {n} @{n}" for n in range(200)))
    text = "SELECT l.k, count(*) FROM input_0 l JOIN input_1 r ON l.k = r.k GROUP BY l.k"
    started = time.perf_counter()
    assert len(lines(recomputed(text, KV, stream, stream), end=300)) > 300
    assert time.perf_counter() - started < 20  # a machine may be busy; usually it is one


@pytest.mark.parametrize("size", [1, 3])
def test_a_window_of_rows(size: int) -> None:
    spec = RowsWindow(size)
    view = recomputed("SELECT sum(v) FROM input_0", COUNT, windowed("+ a 1 @1", "+ b 2 @2", "+ c 4 @3", spec=spec))
    assert [line for line in lines(view) if line.startswith("+")] == {
        1: ["+ 1 @1", "+ 2 @2", "+ 4 @3"],
        3: ["+ 1 @1", "+ 3 @2", "+ 7 @3"],
    }[size]
