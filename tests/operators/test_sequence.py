"""Sequences against a search through all left rows, over random streams cut at random instants."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench import END, Bench, Change, Row, in_order, port, shown, text
from sash.operators.sequence import operator as operator
from sash.operators.sequence.operator import Pairs
from sash.operators.sequence.spec import SequenceSpec
from sash.plan.nodes import Pairing
from sash.plan.patterns import Pattern
from sash.scalar.nodes import Call, Column, Expression
from sash.schema import BIGINT, BOOLEAN, INT, STRING, schema

CASES = schema(("line", STRING), ("size", INT))
PRODUCTS = schema(("id", BIGINT), ("line", STRING), ("size", INT))
FITS = Call("less", (Column(4, INT, "size"), Column(1, INT, "size")), BOOLEAN)  # a product is smaller than its case


def followed_by(
    pairing: Pairing, within: int | None = None, residual: Expression | None = None, keys: bool = True
) -> SequenceSpec:
    left, right = port(CASES, "cases", Pattern.MONOTONIC), port(PRODUCTS, "products", Pattern.MONOTONIC)
    return SequenceSpec(left, right, (0,) if keys else (), (1,) if keys else (), pairing, within, residual)


def slow(spec: SequenceSpec, lefts: list[Change], rights: list[Change]) -> list[Change]:
    waiting, pairs = list(enumerate(lefts)), []
    for ts, right, _ in rights:
        found = [
            place for place, (came, left, _) in waiting
            if came <= ts and (spec.within is None or ts - came < spec.within)
            and (not spec.left_keys or (left[0] == right[1] and left[0] is not None))
            and (spec.residual is None or (None not in (right[2], left[1]) and right[2] < left[1]))
        ]
        if found:
            place = found[-1] if spec.pairing is Pairing.RECENT else found[0]
            pairs.append((ts, (*lefts[place][1], *right), 1))
            if spec.pairing is Pairing.CHRONICLE:
                waiting = [entry for entry in waiting if entry[0] != place]
    instants = sorted({ts for ts, _, _ in pairs})
    return [(now, row, 1) for now in instants for row in in_order([row for ts, row, _ in pairs if ts == now])]


def stream(seed: int, count: int, instants: int, row: Callable[[random.Random], Row]) -> list[Change]:
    chance = random.Random(seed)
    stamps = sorted(chance.randrange(instants) for _ in range(count))
    return [(ts, row(chance), 1) for ts in stamps]


def a_case(chance: random.Random) -> Row:
    return chance.choice(["a", "b", None]), chance.choice([None, 1, 2, 3])


def a_product(chance: random.Random) -> Row:
    return chance.randrange(4), chance.choice(["a", "b", None]), chance.choice([None, 0, 1, 2, 3])


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(list(Pairing)), st.sampled_from([None, 1, 3, 8]), st.booleans(), st.booleans(), st.integers(0, 10**6),
    st.integers(0, 40), st.integers(0, 40), st.integers(1, 20), st.sets(st.integers(0, 20), max_size=5),
)
def test_equals_the_search(
    pairing: Pairing, within: int | None, has_residual: bool, has_keys: bool, seed: int, cases: int, products: int,
    instants: int, cuts: set[int],
) -> None:
    spec = followed_by(pairing, within, FITS if has_residual else None, has_keys)
    lefts, rights = stream(seed, cases, instants, a_case), stream(seed + 1, products, instants, a_product)
    bench = Bench(spec)
    assert bench.run_cut([lefts, rights], cuts) == slow(spec, lefts, rights)
    if within is not None:
        assert isinstance(bench.operator, Pairs)
        waiting = bench.operator.waiting
        assert len(waiting) == 0 and not waiting.table.any() and not bench.held_strings()


@pytest.mark.parametrize("pairing", list(Pairing))
def test_conditions_are_asked_in_parts(pairing: Pairing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operator, "MOST_PAIRS", 7)
    lefts, rights = stream(1, 150, 60, a_case), stream(2, 150, 60, a_product)
    for within in (None, 20):
        spec = followed_by(pairing, within, FITS)
        assert Bench(spec).run_cut([lefts, rights], [20, 33]) == slow(spec, lefts, rights)


def test_recent_and_chronicle() -> None:
    cases = text("+ a 1 @1", "+ a 2 @2", "+ b 9 @3", "+ a 3 @5", schema=CASES)
    products = text("+ 100 a 0 @0", "+ 101 a 0 @2", "+ 102 a 0 @4", "+ 103 a 0 @5", "+ 104 a 0 @6", schema=PRODUCTS)
    assert shown(Bench(followed_by(Pairing.RECENT)).run([cases, products], END)) == [
        "+ a 2 101 a 0 @2", "+ a 2 102 a 0 @4", "+ a 3 103 a 0 @5", "+ a 3 104 a 0 @6",
    ]
    assert shown(Bench(followed_by(Pairing.CHRONICLE)).run([cases, products], END)) == [
        "+ a 1 101 a 0 @2", "+ a 2 102 a 0 @4", "+ a 3 103 a 0 @5",
    ]


def test_the_limit_is_not_within() -> None:
    cases, products = [(10, ("a", 1), 1)], [(14, (1, "a", 0), 1), (15, (2, "a", 0), 1)]
    for pairing in Pairing:
        found = Bench(followed_by(pairing, within=5)).run([cases, products], END)
        assert [row[2] for _, row, _ in found] == [1]
        late = Bench(followed_by(pairing, within=5)).run([cases, products[1:]], END)
        assert late == []


def test_recent_keeps_one_row_a_key() -> None:
    bench = Bench(followed_by(Pairing.RECENT))
    bench.run([[(ts, ("ab"[ts % 2], ts), 1) for ts in range(1000)], []], END)
    assert isinstance(bench.operator, Pairs)
    assert len(bench.operator.waiting) == 2


def test_used_rows_are_forgotten() -> None:
    for residual in (None, FITS):
        bench = Bench(followed_by(Pairing.CHRONICLE, residual=residual))
        cases, products = [(ts, ("a", 9), 1) for ts in range(500)], [(ts + 1, (ts, "a", 1), 1) for ts in range(500)]
        assert len(bench.run([cases, products], END)) == 500
        assert isinstance(bench.operator, Pairs)
        assert len(bench.operator.waiting) == 0 and not bench.held_strings()


def test_equal_pairs_come_each() -> None:
    products = [(1, (1, "a", 0), 1), (1, (1, "a", 0), 1)]
    assert Bench(followed_by(Pairing.RECENT)).run([[(1, ("a", 1), 1)], products], 2) == [(1, ("a", 1, 1, "a", 0), 1)] * 2
