"""Top-k against sorting every partition anew, over random changes cut at random instants."""

from __future__ import annotations

import random
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from bench import COLUMNS, END, Bench, Change, Row, history, in_order, net, port, recomputed, shown, text
from sash.operators.top.operator import Top
from sash.operators.top.spec import TopSpec
from sash.plan.nodes import Order
from sash.schema import BIGINT, INT, STRING, schema

PEOPLE = schema(("name", STRING), ("n", BIGINT))


def slow(spec: TopSpec, changes: list[Change]) -> dict[tuple[int, Row], int]:
    def answer(_: int, bags: list[Counter[Row]]) -> Counter[Row]:
        groups: dict[Row, list[Row]] = {}
        for row in bags[0].elements():
            groups.setdefault(tuple(row[column] for column in spec.partition), []).append(row)
        result: Counter[Row] = Counter()
        for rows in groups.values():
            for number, row in enumerate(in_order(rows, spec.order)):
                if spec.offset <= number < spec.offset + spec.count:
                    result[row if spec.numbered is None else (*row, number + 1)] += 1
        return result

    return recomputed([changes], answer)


ORDERS = st.lists(st.builds(Order, st.integers(0, 4), st.booleans(), st.booleans()), max_size=3).map(tuple)


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 10**6), st.integers(0, 40), st.integers(1, 12), st.sampled_from([(), (0,), (1, 2)]), ORDERS,
    st.sampled_from([0, 1, 2, 5, 100, 2**63 - 1]), st.sampled_from([0, 1, 3]), st.booleans(),
    st.sets(st.integers(0, 12), max_size=4), st.sampled_from([(0, 1), (1, 2), (3, 4), (0, 1, 2, 3, 4)]),
)
def test_equals_the_slow_one(
    seed: int, lifetimes: int, instants: int, partition: tuple[int, ...], order: tuple[Order, ...], count: int, offset: int,
    is_numbered: bool, cuts: set[int], columns: tuple[int, ...],
) -> None:
    spec = TopSpec(port(COLUMNS), partition, order, count, offset, "number" if is_numbered else None)
    changes = history(seed, lifetimes, instants, columns)
    found = Bench(spec).run_cut([changes], cuts)
    assert net(found) == slow(spec, changes)
    assert len(net(found)) == len(found)


def test_the_two_best_in_time() -> None:
    spec = TopSpec(port(PEOPLE), (), (Order(1, is_descending=True, nulls_first=False),), 2)
    best = Bench(spec)
    changes = text(
        "+ ann 1 @1", "+ bob 2 @2", "+ cleo 3 @3", "+ dan NULL @4", "- bob 2 @5", "- cleo 3 @6", "- ann 1 @6", schema=PEOPLE
    )
    assert shown(best.run([changes], END)) == [
        "+ ann 1 @1", "+ bob 2 @2", "- ann 1 @3", "+ cleo 3 @3", "- bob 2 @5", "+ ann 1 @5",
        "- ann 1 @6", "- cleo 3 @6", "+ dan NULL @6",
    ]


def test_rows_whose_number_changes_come_again() -> None:
    spec = TopSpec(port(PEOPLE), (0,), (Order(1),), 2, numbered="place")
    changes = text("+ ann 5 @1", "+ ann 3 @2", "+ bob 9 @2", "+ ann 4 @3", "- ann 3 @4", schema=PEOPLE)
    assert shown(Bench(spec).run([changes], END)) == [
        "+ ann 5 1 @1",
        "- ann 5 1 @2", "+ ann 3 1 @2", "+ ann 5 2 @2", "+ bob 9 1 @2",
        "- ann 5 2 @3", "+ ann 4 2 @3",
        "- ann 3 1 @4", "- ann 4 2 @4", "+ ann 4 1 @4", "+ ann 5 2 @4",
    ]


def test_equal_rows_count_each() -> None:
    spec = TopSpec(port(PEOPLE), (), (Order(1),), 3, offset=1)
    changes = [(1, ("a", 1), 3), (2, ("b", 0), 2), (3, ("b", 0), -1), (4, ("a", 1), -3)]
    assert Bench(spec).run([changes], END) == [
        (1, ("a", 1), 2), (2, ("b", 0), 1), (3, ("b", 0), -1), (3, ("a", 1), 1), (4, ("a", 1), -3),
    ]


def test_a_mask_lane_more_for_the_number() -> None:
    columns = schema(*((f"c{place}", INT) for place in range(32)))
    spec = TopSpec(port(columns), (), (Order(31),), 1, numbered="place")
    row = tuple(None if place in (0, 31) else place for place in range(32))
    assert Bench(spec).run([[(1, row, 1)]], 2) == [(1, (*row, 1), 1)]


def test_without_columns() -> None:
    spec = TopSpec(port(schema()), (), (), 2)
    assert Bench(spec).run([[(1, (), 1), (2, (), 4), (3, (), -4)]], 9) == [(1, (), 1), (2, (), 1), (3, (), -1)]


def test_state_returns_to_empty_and_is_used_again() -> None:
    bench = Bench(TopSpec(port(COLUMNS), (0,), (Order(1),), 3))
    changes = history(5, 500, 60, (0, 1, 2, 3), all_leave=True)
    bench.run_cut([changes], range(0, 60, 11))
    bench.run([changes], END)
    size = bench.arena.used
    for _ in range(3):
        bench.run([changes], END)
    assert isinstance(bench.operator, Top)
    ranking = bench.operator.ranking
    assert len(ranking) == ranking.live_partitions == 0 and not ranking.table.any() and not bench.held_strings()
    assert bench.arena.used == size


def test_many_rows_of_one_partition() -> None:
    chance = random.Random(1)
    spec = TopSpec(port(schema(("n", BIGINT))), (), (Order(0, is_descending=True),), 10)
    bench = Bench(spec)
    numbers = list(range(20_000))
    chance.shuffle(numbers)
    found = bench.run([[(place, (number,), 1) for place, number in enumerate(numbers)]], END)
    answer: Counter[Row] = Counter()
    for _, row, weight in found:
        answer[row] += weight
    assert +answer == Counter({(number,): 1 for number in range(19_990, 20_000)})
    # A row enters the best ten with falling odds: few changes come out of many rows.
    assert len(found) < 400
