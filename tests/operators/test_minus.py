"""Negation against its definition, over random changes cut at random instants."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from bench import COLUMNS, END, Bench, Change, Row, history, in_order, net, port, recomputed, shown, text
from sash.operators.sets.minus import Minus
from sash.operators.sets.spec import MinusSpec
from sash.plan.nodes import Order
from sash.schema import BIGINT, INT, STRING, schema

CALLS = schema(("source", STRING), ("n", BIGINT))
ANSWERS = schema(("k", INT), ("source", STRING))
ON_SOURCE = MinusSpec(port(CALLS, "l"), port(ANSWERS, "r"), (0,), (1,))
DESCENDING = [Order(column, is_descending=True, nulls_first=False) for column in range(len(COLUMNS))]


def slow(spec: MinusSpec, histories: list[list[Change]]) -> dict[tuple[int, Row], int]:
    instants: dict[Row, list[int]] = {}  # when every one of equal rows came, the oldest first

    def answer(instant: int, bags: list[Counter[Row]]) -> Counter[Row]:
        left, right = bags
        for row in {*left, *instants}:
            came = instants.setdefault(row, [])
            del came[: max(0, len(came) - left[row])]
            came += [instant] * (left[row] - len(came))
        against = Counter(tuple(row[key] for key in spec.right_keys) for row in right.elements())
        keys: dict[Row, list[tuple[int, Row]]] = {}
        places = {row: place for place, row in enumerate(in_order(list(left), DESCENDING))}
        for row, came in instants.items():
            for ts in came:
                keys.setdefault(tuple(row[key] for key in spec.left_keys), []).append((ts, row))
        shown: Counter[Row] = Counter()
        for key, rows in keys.items():
            rows.sort(key=lambda pair: (-pair[0], places[pair[1]]))
            shown += Counter(row for _, row in rows[: max(0, len(rows) - against[key])])
        return shown

    return recomputed(histories, answer)


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 10**6), st.integers(0, 40), st.integers(0, 40), st.integers(1, 15),
    st.sampled_from([(), (1,), (0, 2), (4,)]), st.sets(st.integers(0, 15), max_size=4),
)
def test_equals_the_definition(
    seed: int, lefts: int, rights: int, instants: int, keys: tuple[int, ...], cuts: set[int]
) -> None:
    spec = MinusSpec(port(COLUMNS, "l"), port(COLUMNS, "r"), keys, keys)
    histories = [history(seed, lefts, instants, (*keys, 1)), history(seed + 1, rights, instants, (*keys, 0))]
    found = Bench(spec).run_cut(histories, cuts)
    assert net(found) == slow(spec, histories)
    assert len(net(found)) == len(found)


def test_the_oldest_goes_first() -> None:
    left = text("+ ann 1 @1", "+ ann 2 @2", "+ bob 9 @2", "- ann 1 @6", schema=CALLS)
    right = text("+ 7 ann @3", "+ 8 ann @4", "+ 9 ann @5", "- 7 ann @7", "- 8 ann @8", "- 9 ann @9", schema=ANSWERS)
    assert shown(Bench(ON_SOURCE).run([left, right], END)) == [
        "+ ann 1 @1", "+ ann 2 @2", "+ bob 9 @2", "- ann 1 @3", "- ann 2 @4", "+ ann 2 @9",
    ]


def test_a_younger_row_takes_the_place() -> None:
    left = text("+ ann 1 @2", "+ ann 2 @3", "- ann 2 @4", schema=CALLS)
    right = text("+ 7 ann @1", schema=ANSWERS)
    assert shown(Bench(ON_SOURCE).run([left, right], END)) == ["+ ann 2 @3", "- ann 2 @4"]


def test_null_is_a_key_like_any_other() -> None:
    left, right = text("+ NULL 1 @1", schema=CALLS), text("+ 7 NULL @2", schema=ANSWERS)
    assert shown(Bench(ON_SOURCE).run([left, right], END)) == ["+ NULL 1 @1", "- NULL 1 @2"]


def test_at_one_instant_the_greater_row_is_younger() -> None:
    left, right = text("+ ann 2 @1", "+ ann 1 @1", schema=CALLS), text("+ 7 ann @0", schema=ANSWERS)
    assert shown(Bench(ON_SOURCE).run([left, right], END)) == ["+ ann 2 @1"]


def test_equal_rows_that_came_at_many_instants_leave_at_once() -> None:
    left = [(ts, ("ann", 1), 2) for ts in range(5)] + [(6, ("ann", 1), -9), (7, ("ann", 1), -1)]
    right = [(2, (0, "ann"), 3), (8, (0, "ann"), -3)]
    found = Bench(ON_SOURCE).run([left, right], END)
    assert found == [(0, ("ann", 1), 2), (1, ("ann", 1), 2), (2, ("ann", 1), -1), (3, ("ann", 1), 2), (4, ("ann", 1), 2),
                     (6, ("ann", 1), -7)]


def test_state_returns_to_empty_and_is_used_again() -> None:
    bench = Bench(MinusSpec(port(COLUMNS, "l"), port(COLUMNS, "r"), (0, 1), (0, 1)))
    histories = [history(3, 400, 60, (0, 1, 2), all_leave=True), history(4, 200, 60, (0, 1), all_leave=True)]
    bench.run_cut(histories, range(0, 60, 11))
    bench.run(histories, END)
    size = bench.arena.used
    for _ in range(3):
        assert sum(weight for _, _, weight in bench.run(histories, END)) == 0
    assert isinstance(bench.operator, Minus)
    ranking = bench.operator.ranking
    assert len(ranking) == ranking.live_partitions == 0 and not bench.held_strings()
    assert not ranking.table.any() and not ranking.row_table.any()
    assert bench.arena.used == size


def test_a_key_of_the_right_side_only_is_held() -> None:
    bench = Bench(ON_SOURCE)
    bench.run([[], text("+ 7 ann @1", schema=ANSWERS)], END)
    assert bench.held_strings() == {"ann"}
