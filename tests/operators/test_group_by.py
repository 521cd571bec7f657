"""GROUP BY against a slow one that sorts every bag anew, over random changes, cut at random instants."""

from __future__ import annotations

import datetime
import math
import random
import struct
from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sash.deltas import Delta, Layout
from sash.logical.nodes import AggregateCall, Function
from sash.logical.patterns import Pattern
from sash.operators.base import Surroundings
from sash.operators.group_by import GroupBy
from sash.physical.specs import GroupBySpec, PortSpec
from sash.scalar.evaluate import Failures
from sash.schema import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FOREVER,
    INT,
    STRING,
    TIMESTAMP,
    Kind,
    Type,
    decimal,
    schema,
)
from sash.state.arena import Arena
from sash.state.interner import Interner
from sash.state.lanes import decode, encode

Row = tuple[object, ...]
Change = tuple[int, Row, int]  # instant, row, weight
Calls = Sequence[tuple[Function, int | None]]
COUNT, SUM, AVG, MIN, MAX = Function.COUNT, Function.SUM, Function.AVG, Function.MIN, Function.MAX


# The slow twin.


def nearest(exact: Fraction) -> float:
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def slow_double(values: list[float], divisor: int) -> float:
    if any(math.isnan(v) for v in values) or {math.inf, -math.inf} <= set(values):
        return math.nan
    infinite = [v for v in values if math.isinf(v)]
    if infinite:
        return infinite[0]
    return nearest(sum((Fraction(v) for v in values), Fraction(0)) / divisor) + 0.0


def slow_decimal(values: list[Decimal], divisor: int, type_: Type) -> Decimal | None:
    with localcontext(prec=200):
        result = (sum(values, Decimal(0)) / divisor).quantize(Decimal(1).scaleb(-type_.scale), ROUND_HALF_UP)
        return result if abs(result) < Decimal(10) ** (type_.precision - type_.scale) else None


def rank(value: object) -> object:
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value)
    return value.encode() if isinstance(value, str) else value


def slow_call(call: AggregateCall, rows: list[Row]) -> object:
    if call.argument is None:
        return len(rows)
    values = [row[call.argument] for row in rows if row[call.argument] is not None]
    if call.function is COUNT:
        return len(values)
    if not values:
        return None
    if call.function in (MIN, MAX):
        found = (min if call.function is MIN else max)(values, key=rank)
        return found + 0.0 if isinstance(found, float) else found
    divisor = len(values) if call.function is AVG else 1
    if call.argument_type == DOUBLE:
        return slow_double(values, divisor)
    if call.argument_type is not None and call.argument_type.kind is Kind.DECIMAL:
        return slow_decimal(values, divisor, call.type)
    total = sum(values)
    if call.function is AVG:
        return nearest(Fraction(total, divisor))
    return total if -(2**63) <= total < 2**63 else None


def slow_answer(spec: GroupBySpec, bag: Counter[Row]) -> list[Row]:
    groups: dict[Row, list[Row]] = {} if spec.keys else {(): []}
    for row in bag.elements():
        groups.setdefault(tuple(printed(row[key]) for key in spec.keys), []).append(row)
    return [
        (*key, *(printed(slow_call(call, rows)) for call in spec.calls)) for key, rows in groups.items()
    ]


def printed(value: object) -> object:
    """Doubles as text: zeros are one, NaNs are equal. Decimals without their scale."""
    if isinstance(value, Decimal):
        return f"decimal {Fraction(value)}"
    return "double " + repr(value + 0.0) if isinstance(value, float) else value


def slow_changes(spec: GroupBySpec, changes: Sequence[Change], begin: int | None) -> list[tuple[int, Row, int]]:
    bag: Counter[Row] = Counter()
    shown: Counter[Row] = Counter()
    result = []
    instants = {ts for ts, _, _ in changes} | ({begin} if begin is not None and not spec.keys else set())
    for instant in sorted(instants):
        for ts, row, weight in changes:
            if ts == instant:
                bag[row] += weight
        hidden = not spec.keys and (begin is None or instant < begin)
        answer = Counter([] if hidden else slow_answer(spec, bag))
        result += [(instant, row, -1) for row in (shown - answer).elements()]
        result += [(instant, row, 1) for row in (answer - shown).elements()]
        shown = answer
    return result


# The fast one, fed with Python values.


class Bench:
    """A GROUP BY over columns of some types."""

    def __init__(self, types: Sequence[Type], keys: Sequence[int], calls: Calls) -> None:
        columns = schema(*((f"c{place}", type_) for place, type_ in enumerate(types)))
        made = tuple(AggregateCall(f, a, None if a is None else types[a]) for f, a in calls)
        names = tuple(f"o{place}" for place in range(len(keys) + len(made)))
        self.spec = GroupBySpec(PortSpec(1, columns, Pattern.STRICT, ()), tuple(keys), made, names)
        self.layout = self.spec.input.layout
        self.arena = Arena.anonymous()
        self.attach()

    def attach(self) -> None:
        self.interner = Interner(self.arena)
        self.operator = GroupBy(self.spec, Surroundings(self.arena.scope("group"), self.interner, Failures()))

    def delta(self, changes: Sequence[Change]) -> Delta:
        types = self.layout.schema.types
        columns = [[row[place] for _, row, _ in changes] for place in range(len(types))]
        arrays = [pa.array(column, type_.arrow) for column, type_ in zip(columns, types, strict=True)]
        rows = encode(arrays, self.layout, self.interner)
        for place, type_ in enumerate(types):
            if type_ == DOUBLE:  # as they are, negative zeros too
                raw = [struct.unpack("<q", struct.pack("<d", v))[0] if v is not None else 0 for v in columns[place]]
                rows[:, self.layout.lanes[place]] = raw
        ts, weight = np.array([c[0] for c in changes], np.int64), np.array([c[2] for c in changes], np.int64)
        return Delta(rows, ts, np.full(len(changes), FOREVER), weight)

    def run(self, changes: Sequence[Change], now: int, begin: int | None = None) -> list[tuple[int, Row, int]]:
        out = self.operator.run([self.delta(changes)], now, begin)
        assert (np.diff(out.ts) >= 0).all() and (out.expiry == FOREVER).all() and (out.ts < now).all()
        columns = [column.to_pylist() for column in decode(out.rows, self.spec.layout, self.interner)]
        rows = [tuple(printed(v) for v in row) for row in zip(*columns, strict=True)] if columns else [()] * len(out)
        return list(zip(out.ts.tolist(), rows, out.weight.tolist(), strict=True))

    def run_cut(self, changes: Sequence[Change], cuts: Iterable[int], begin: int | None) -> list[tuple[int, Row, int]]:
        result, before = [], -100
        for now in [*sorted(cuts), 10**9]:
            part = [change for change in changes if before <= change[0] < now]
            result += self.run(part, now, begin if begin is not None and begin < now else None)
            before = now
        return result


def by_instant(changes: list[tuple[int, Row, int]]) -> list[tuple[int, str, int]]:
    return sorted((ts, repr(row), weight) for ts, row, weight in changes)


# Random histories.

MANY = [BOOLEAN, INT, BIGINT, DOUBLE, decimal(9, 2), decimal(30, 4), decimal(38, 0), STRING, TIMESTAMP, DATE]
VALUES: list[list[object]] = [
    [True, False],
    [-(2**31), -1, 0, 5, 2**31 - 1],
    [-(2**63), 2**63 - 1, 2**62, 3, -7],
    [0.0, -0.0, 0.1, 1e300, -1e300, 5e-324, 1.5, math.nan, math.inf, -math.inf, -2.25],
    [Decimal("0.01"), Decimal("-9999999.99"), Decimal("1.50")],
    [Decimal("0.0001"), Decimal("-12345678901234567890.1234"), Decimal("18446744073709551616"), Decimal("7")],
    [Decimal(10**38 - 1), Decimal(1 - 10**38), Decimal(1), Decimal(-3)],
    ["", "a", "ab", "b", "é", "zebra", "\U0001f600"],
    [datetime.datetime(2020, 1, 1), datetime.datetime(1960, 5, 5)],
    [datetime.date(2020, 1, 1), datetime.date(1960, 5, 5)],
]
ALL_CALLS = [(COUNT, None)] + [(COUNT, c) for c in (3, 7)]
ALL_CALLS += [(f, c) for f in (SUM, AVG) for c in (1, 2, 3, 4, 5, 6)] + [(f, c) for f in (MIN, MAX) for c in range(10)]


def history(seed: int, lifetimes: int, instants: int, columns: Sequence[int]) -> list[Change]:
    """Rows that come and (most of them) go; at one instant in any order."""
    chance = random.Random(seed)
    changes = []
    for _ in range(lifetimes):
        row = tuple(chance.choice([None, *VALUES[c]]) if c in columns else None for c in range(len(MANY)))
        weight = chance.choice([1, 1, 1, 2, 5])
        start = chance.randrange(instants)
        changes.append((start, row, weight))
        if chance.random() < 0.8:
            end = chance.randrange(start, instants)
            leaving = chance.choice([weight, 1])
            changes.append((end, row, -leaving))
            if leaving < weight:
                changes.append((chance.randrange(end, instants), row, leaving - weight))
    chance.shuffle(changes)
    return sorted(changes, key=lambda change: change[0])


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 10**9), st.integers(0, 40), st.integers(1, 12),
    st.sampled_from([(), (0,), (3,), (7, 5), (1, 3, 6, 9)]), st.sets(st.integers(-5, 20), max_size=6), st.booleans(),
)
def test_equals_the_slow_one(
    seed: int, lifetimes: int, instants: int, keys: tuple[int, ...], cuts: set[int], is_early: bool
) -> None:
    bench = Bench(MANY, keys, ALL_CALLS)
    changes = history(seed, lifetimes, instants, range(len(MANY)))
    begin = -3 if is_early else (changes[0][0] if changes else None)
    fast = bench.run_cut(changes, cuts, begin)
    assert by_instant(fast) == by_instant(slow_changes(bench.spec, changes, begin))


@settings(max_examples=100, deadline=None)
@given(
    st.integers(0, 10**9), st.sampled_from([(3,), (7, 5)]), st.sampled_from([(SUM, 3), (AVG, 3), (MAX, 7), (MIN, 6)])
)
def test_few_values_many_changes(seed: int, keys: tuple[int, ...], call: tuple[Function, int]) -> None:
    bench = Bench(MANY, keys, [call])
    changes = history(seed, 120, 60, [*keys, call[1]])
    whole = Bench(MANY, keys, [call]).run_cut(changes, [], None)
    assert bench.run_cut(changes, range(60), None) == whole
    assert by_instant(whole) == by_instant(slow_changes(bench.spec, changes, None))


def random_doubles(count: int, chance: random.Random) -> list[Change]:
    values = [chance.choice([chance.gauss(0, 1e3), chance.uniform(-1, 1) * 10.0 ** chance.randrange(-300, 300)])
              for _ in range(count)]
    return [(place, (chance.randrange(5), value), 1) for place, value in enumerate(values)]


def test_state_returns_to_empty() -> None:
    chance = random.Random(7)
    bench = Bench([INT, DOUBLE], [0], [(SUM, 1), (AVG, 1), (MIN, 1), (MAX, 1)])
    entering = random_doubles(500, chance)
    leaving = [(ts + 600, row, -1) for ts, (_, row, _) in enumerate(chance.sample(entering, len(entering)))]
    bench.run(entering, 600)
    assert bench.operator.groups.live_groups == 5
    assert bench.operator.groups.live_values == 1000
    last = bench.run(leaving, 2000)[-1]
    assert last[0] == 1099 and last[2] == -1
    assert bench.operator.groups.live_groups == bench.operator.groups.live_values == 0
    assert not bench.operator.groups.table.any() and not bench.operator.groups.node_table.any()
    size = bench.arena.used
    for round_ in range(1, 4):
        shift = 2000 * round_
        bench.run([(ts + shift, row, w) for ts, row, w in entering + leaving], shift + 2000)
    assert bench.arena.used == size


def test_groups_grow_and_are_used_again() -> None:
    bench = Bench([BIGINT], [0], [(COUNT, None)])
    for start in range(0, 30_000, 3_000):
        entering = [(start, (start + place,), 1) for place in range(3_000)]
        out = bench.run(entering + [(start + 1, row, -1) for _, row, _ in entering], start + 2)
        assert len(out) == 6_000
    assert bench.operator.groups.live_groups == 0
    assert len(bench.operator.groups.lines) == 4096


@pytest.mark.parametrize("at_once", [1, 700])
def test_extremes_of_many_values_in_any_order(at_once: int) -> None:
    chance = random.Random(5)
    words = sorted({f"{chance.randrange(10**6):x}" for _ in range(2000)})
    bench = Bench([BIGINT, STRING], [], [(MIN, 0), (MAX, 0), (MIN, 1), (MAX, 1)])
    rows = [(place, word) for place, word in enumerate(words)]
    entering, leaving = chance.sample(rows, len(rows)), chance.sample(rows, len(rows) - 1)
    stamps = [place // at_once for place in range(len(entering) + len(leaving))]
    changes = list(zip(stamps, entering + leaving, [1] * len(entering) + [-1] * len(leaving), strict=True))
    out = bench.run(changes, 10**6, 0)
    answers = {ts: row for ts, row, weight in out if weight > 0}
    live: set[tuple[int, str]] = set()
    answer: Row = (None,) * 4
    for place, (ts, row, weight) in enumerate(changes):
        (live.add if weight > 0 else live.remove)(row)
        if place + 1 == len(changes) or changes[place + 1][0] != ts:
            answer = answers.get(ts, answer)
            first, last = min(live), max(live)
            assert answer == (first[0], last[0], first[1], last[1])
    assert bench.operator.groups.live_values == 4


def test_attaching_continues() -> None:
    chance = random.Random(3)
    changes = random_doubles(200, chance)
    changes += [(300 + ts, row, -1) for ts, (_, row, _) in enumerate(changes)]
    whole = Bench([INT, DOUBLE], [0], [(SUM, 1), (MIN, 1)])
    expected = whole.run(changes, 1000)
    bench = Bench([INT, DOUBLE], [0], [(SUM, 1), (MIN, 1)])
    result = []
    for now in range(0, 1000, 50):
        bench.attach()
        result += bench.run([change for change in changes if now <= change[0] < now + 50], now + 50)
    assert result == expected


# One thing at a time.


def test_one_group_in_time() -> None:
    bench = Bench([STRING, BIGINT], [0], [(COUNT, None), (SUM, 1)])
    assert bench.run([(10, ("ann", 5), 1)], 11) == [(10, ("ann", 1, 5), 1)]
    assert bench.run([(12, ("ann", 5), -1), (12, ("ann", 5), 1)], 13) == []
    assert bench.run([(14, ("ann", None), 1)], 15) == [(14, ("ann", 1, 5), -1), (14, ("ann", 2, 5), 1)]
    assert bench.run([(16, ("ann", 5), -1), (17, ("ann", None), -1)], 18) == [
        (16, ("ann", 2, 5), -1), (16, ("ann", 1, None), 1), (17, ("ann", 1, None), -1),
    ]
    assert bench.run([], 30) == []


def test_without_keys_there_is_a_row_from_the_beginning_on() -> None:
    bench = Bench([BIGINT], [], [(COUNT, None), (SUM, 0), (MAX, 0)])
    assert bench.run([], 5, None) == []
    assert bench.run([], 5, 5) == []
    assert bench.run([], 9, 5) == [(5, (0, None, None), 1)]
    assert bench.run([], 12, 5) == []
    assert bench.run([(12, (4,), 1)], 13, 5) == [(12, (0, None, None), -1), (12, (1, 4, 4), 1)]
    bench.attach()
    assert bench.run([(13, (4,), -1)], 14, 5) == [(13, (1, 4, 4), -1), (13, (0, None, None), 1)]


def test_without_keys_the_first_row_is_netted_with_the_beginning() -> None:
    bench = Bench([BIGINT], [], [(COUNT, None)])
    assert bench.run([(5, (1,), 2), (6, (1,), -2)], 9, 5) == [(5, (2,), 1), (6, (2,), -1), (6, (0,), 1)]


def test_without_keys_rows_before_the_beginning_wait_for_it() -> None:
    bench = Bench([BIGINT], [], [(SUM, 0)])
    assert bench.run([(1, (3,), 1)], 2, None) == []
    assert bench.run([(3, (4,), 1), (8, (5,), 1)], 9, 6) == [(6, (7,), 1), (8, (7,), -1), (8, (12,), 1)]


def test_without_columns_at_all() -> None:
    bench = Bench([], [], [])
    assert bench.run([], 9, 5) == [(5, (), 1)]
    assert bench.run([(9, (), 1)], 10, 5) == []


def test_keys_only() -> None:
    bench = Bench([DOUBLE], [0], [])
    assert bench.run([(1, (-0.0,), 1), (1, (math.nan,), 1), (2, (0.0,), 1), (3, (None,), 1)], 4) == [
        (1, ("double nan",), 1), (1, ("double 0.0",), 1), (3, (None,), 1),
    ]


def test_more_keys_than_a_mask_lane_has_bits() -> None:
    bench = Bench([INT] * 40, range(40), [(COUNT, None)])
    full, holes = tuple(range(40)), tuple(None if place in (3, 37) else place for place in range(40))
    assert bench.run([(1, full, 1), (2, holes, 1), (3, holes, 1), (4, full, -1)], 9) == [
        (1, (*full, 1), 1), (2, (*holes, 1), 1), (3, (*holes, 1), -1), (3, (*holes, 2), 1), (4, (*full, 1), -1),
    ]


def test_infinities_leave_no_trace() -> None:
    bench = Bench([DOUBLE], [], [(SUM, 0)])
    rows = [(1, (0.1,), 1), (2, (math.inf,), 1), (3, (-math.inf,), 1), (4, (math.inf,), -1), (5, (math.nan,), 1)]
    rows += [(6, (-math.inf,), -1), (7, (math.nan,), -1)]
    shown = [row[0] for _, row, weight in bench.run(rows, 9, 1) if weight > 0]
    assert shown == ["double 0.1", "double inf", "double nan", "double -inf", "double nan", "double 0.1"]


def test_an_all_cancelled_sum_is_zero() -> None:
    bench = Bench([DOUBLE], [], [(SUM, 0), (AVG, 0)])
    assert bench.run([(1, (0.1,), 1), (1, (-0.1,), 1)], 2, 1) == [(1, ("double 0.0", "double 0.0"), 1)]


def test_overflow_is_null_and_counted_and_comes_back() -> None:
    bench = Bench([BIGINT], [], [(SUM, 0), (AVG, 0)])
    shown = bench.run([(1, (2**63 - 1,), 1), (2, (2**63 - 1,), 1), (3, (2**63 - 1,), -1)], 9, 1)
    assert [row[0] for _, row, weight in shown if weight > 0] == [2**63 - 1, None, 2**63 - 1]
    assert bench.operator.groups.overflows == 1


def test_strings_that_are_kept_are_held() -> None:
    bench = Bench([STRING, STRING], [0], [(MAX, 1)])
    bench.run([(1, ("key", "a"), 1), (1, ("key", "b"), 1), (2, ("gone", "c"), 1), (3, ("gone", "c"), -1)], 4)
    held = set()
    for holder in bench.interner._holders:
        rows, lanes = holder()
        held |= {code for lane in lanes for code in rows[:, lane].tolist() if code}
    codes = np.array(sorted(held), np.int64)
    assert sorted(bench.interner.decode(codes).to_pylist()) == ["a", "b", "key"]
