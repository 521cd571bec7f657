"""ISTREAM, DSTREAM, RSTREAM and EMIT EVERY against their definitions."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from bench import COLUMNS, END, Bench, Change, Row, history, in_order, net, port, recomputed, shown, text
from sash.operators.streams.emit import Emit
from sash.operators.streams.snapshots import Snapshots
from sash.operators.streams.spec import DeletionsSpec, EmitSpec, InsertionsSpec, SnapshotsSpec
from sash.operators.time.spec import time_port
from sash.schema import BIGINT, STRING, schema

PEOPLE = schema(("name", STRING), ("n", BIGINT))

CHANGES = text(
    "+ ann 1 @1", "+ bob 2 @1", "+ bob 2 @1", "- ann 1 @2", "+ ann 1 @2", "- bob 2 @3", "- bob 2 @3", "- ann 1 @3",
    schema=PEOPLE,
)

HISTORIES = st.builds(
    history, st.integers(0, 10**6), st.integers(0, 30), st.integers(1, 12), st.sampled_from([(1,), (0, 2), (0, 1, 4)])
)
CUTS = st.sets(st.integers(0, 12), max_size=4)


def bag_after_instants(changes: list[Change]) -> list[tuple[int, Counter[Row]]]:
    """The rows after every instant that really changed something."""
    result: list[tuple[int, Counter[Row]]] = []

    def look(instant: int, bags: list[Counter[Row]]) -> Counter[Row]:
        result.append((instant, bags[0].copy()))
        return bags[0]

    changed = {instant for instant, _ in recomputed([changes], look)}
    return [(instant, bag) for instant, bag in result if instant in changed]


@settings(max_examples=50, deadline=None)
@given(HISTORIES, CUTS)
def test_what_comes_and_what_goes(changes: list[Change], cuts: set[int]) -> None:
    wanted = recomputed([changes], lambda _, bags: bags[0])
    for spec, sign in ((InsertionsSpec(port(COLUMNS)), 1), (DeletionsSpec(port(COLUMNS)), -1)):
        found = Bench(spec).run_cut([changes], cuts)
        assert all(weight == 1 for _, _, weight in found)
        assert net(found) == {key: abs(weight) for key, weight in wanted.items() if weight * sign > 0}
        for instant in {ts for ts, _, _ in found}:
            rows = [row for ts, row, _ in found if ts == instant]
            assert rows == in_order(rows)


@settings(max_examples=50, deadline=None)
@given(HISTORIES, CUTS)
def test_all_rows_at_every_change(changes: list[Change], cuts: set[int]) -> None:
    expected = [
        (instant, row, 1) for instant, bag in bag_after_instants(changes) for row in in_order(list(bag.elements()))
    ]
    assert Bench(SnapshotsSpec(port(COLUMNS))).run_cut([changes], cuts) == expected


def test_the_same_changes_three_ways() -> None:
    streams = {
        spec: shown(Bench(spec(port(PEOPLE))).run([CHANGES], END)) for spec in (InsertionsSpec, DeletionsSpec, SnapshotsSpec)
    }
    assert streams[InsertionsSpec] == streams[SnapshotsSpec] == ["+ ann 1 @1", "+ bob 2 @1", "+ bob 2 @1"]
    assert streams[DeletionsSpec] == ["+ ann 1 @3", "+ bob 2 @3", "+ bob 2 @3"]


def test_snapshots_keep_nothing_of_an_empty_view() -> None:
    bench = Bench(SnapshotsSpec(port(COLUMNS)))
    bench.run_cut([history(1, 300, 40, (0, 1, 2), all_leave=True)], range(0, 40, 7))
    assert isinstance(bench.operator, Snapshots)
    assert len(bench.operator.ranking) == 0 and not bench.held_strings()


def slow_emit(changes: list[Change], period: int) -> dict[tuple[int, Row], int]:
    return net([(-(-ts // period) * period, row, weight) for ts, row, weight in changes])


@settings(max_examples=50, deadline=None)
@given(HISTORIES, CUTS, st.integers(1, 5), st.integers(-20, 5))
def test_changes_of_a_period_at_its_end(changes: list[Change], cuts: set[int], period: int, shift: int) -> None:
    changes = [(ts + shift, row, weight) for ts, row, weight in changes]
    bench = Bench(EmitSpec(port(COLUMNS), time_port(1, ()), period))
    found = bench.run_cut([changes, []], [cut + shift for cut in cuts])
    assert net(found) == slow_emit(changes, period) and len(net(found)) == len(found)
    assert isinstance(bench.operator, Emit)
    assert len(bench.operator.bag) == 0 and not bench.held_strings()


def test_a_period_ends_with_its_last_instant() -> None:
    bench = Bench(EmitSpec(port(PEOPLE), time_port(1, ()), 10))
    assert bench.run([[(3, ("ann", 1), 1), (4, ("bob", 1), 1)], []], 10) == []
    assert bench.run([[(10, ("ann", 1), -1)], []], 11) == [(10, ("bob", 1), 1)]
    assert bench.run([[(20, ("bob", 1), -1)], []], 21) == [(20, ("bob", 1), -1)]


def test_the_rest_is_there_for_the_end_of_the_input() -> None:
    bench = Bench(EmitSpec(port(PEOPLE), time_port(1, ()), 10))
    assert bench.run([[(3, ("ann", 1), 1), (4, ("bob", 1), 2), (5, ("ann", 1), -1)], []], 6) == []
    bench.attach()
    assert isinstance(bench.operator, Emit)
    rest = bench.operator.rest(5)
    assert rest.ts.tolist() == [5] and rest.weight.tolist() == [2]
    assert len(bench.operator.rest(5)) == 0 and len(bench.operator.bag) == 0
