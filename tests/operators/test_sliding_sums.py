"""Counts and sums that slide give the changes of the plain GROUP BY, whose windows send negative rows."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest

import sash
from sash.operators.group_by import sliding_sums
from sash.operators.group_by.kernels.sliding_shapes import kernel_for, slide_one, slide_two
from sash.operators.group_by.kernels.sliding_sums import slide_sums
from sash.operators.group_by.spec import SlidingGroupBySpec
from sash.operators.spec import Spec

STREAM = "CREATE STREAM s (ts TIMESTAMP, k STRING, x DOUBLE, v BIGINT, w BIGINT) TIMESTAMP BY ts;"
VIEWS = {
    "by text": "SELECT k, COUNT(*) AS n, SUM(v) AS s, COUNT(w) AS c FROM s [RANGE 5 SECONDS] GROUP BY k",
    "by double and integer": "SELECT x, w, AVG(v) AS m FROM s [RANGE 2 SECONDS] GROUP BY x, w",
    "only a sum": "SELECT k, SUM(w) AS s FROM s [RANGE 1 SECOND] GROUP BY k",
    "a sum and a count of its values": "SELECT x, SUM(v) AS s, COUNT(v) AS c FROM s [RANGE 2 SECONDS] GROUP BY x",
    "a count and a sum": "SELECT k, COUNT(*) AS n, SUM(v) AS s FROM s [RANGE 2 SECONDS] GROUP BY k",
    "a mean and a count": "SELECT w, AVG(v) AS m, COUNT(*) AS n FROM s [RANGE 3 SECONDS] GROUP BY w",
    "of one instant": "SELECT k, SUM(v) AS s, SUM(w) AS t FROM s [NOW] GROUP BY k",
    "extremes": "SELECT k, MIN(v) AS a, MAX(x) AS b, COUNT(*) AS n, SUM(w) AS s, MAX(v) AS c FROM s [RANGE 5 SECONDS] GROUP BY k",
    "extremes of doubles and times": "SELECT k, w, MIN(x) AS a, MAX(ts) AS b FROM s [RANGE 3 SECONDS] GROUP BY k, w",
    "extremes, jumping": "SELECT x, MAX(v) AS a, MIN(w) AS b FROM s [RANGE 4 SECONDS SLIDE 2 SECONDS] GROUP BY x",
    "jumping": "SELECT k, COUNT(*) AS n, SUM(v) AS s FROM s [RANGE 4 SECONDS SLIDE 2 SECONDS] GROUP BY k",
}
START = datetime(2024, 1, 1)


def rows(seed: int, count: int) -> list[tuple[object, ...]]:
    """Many at one instant, NULLs, negative zero and NaN as keys, sums that do not fit 64 bits."""
    chance, at, found = random.Random(seed), 0, []
    for _ in range(count):
        at += chance.choice((0, 0, 0, 100, 900, 3000))
        key, number = chance.choice(("ann", "bob", "ida", None)), chance.choice((0.0, -0.0, float("nan"), 1.5, None))
        value = chance.choice((1, -1, 0, 7, 2**63 - 1, -(2**63), None))
        found.append((START + timedelta(milliseconds=at), key, number, value, chance.choice((0, 0, 5, None))))
    return found


def changes(sql: str, expiry: str, given: list[tuple[object, ...]], pieces: int) -> list[str]:
    db = sash.connect(expiry=expiry)
    db.execute(STREAM + f"CREATE MATERIALIZED VIEW answer AS {sql};")
    size = -(-len(given) // pieces)
    for start in range(0, len(given), size):
        db.push("s", given[start : start + size])
    db.advance("2024-01-01 01:00:00")
    return [repr(row) for row in db.changes("answer").to_pylist()]


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("pieces", [1, 7, 60])
def test_the_same_changes_as_with_negative_rows(name: str, pieces: int) -> None:
    given = rows(pieces, 240)
    assert changes(VIEWS[name], "auto", given, pieces) == changes(VIEWS[name], "negative", given, 1)


KNOWN = {
    "only a sum": slide_one, "a count and a sum": slide_two, "a sum and a count of its values": slide_two, "a mean and a count": slide_two,
    "by text": slide_sums, "of one instant": slide_sums, "by double and integer": slide_sums, "extremes": slide_sums,
}


@pytest.mark.parametrize("name", KNOWN)
def test_the_kernel_that_knows_most_of_the_groups_is_taken(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And none that knows another shape than they have."""
    taken: list[Callable[..., int]] = []

    def spy(*facts: Any) -> Callable[..., int]:
        taken.append(kernel_for(*facts))
        return taken[-1]

    monkeypatch.setattr(sliding_sums, "kernel_for", spy)
    changes(VIEWS[name], "auto", rows(1, 20), 2)
    assert taken == [KNOWN[name]]


@pytest.mark.parametrize("name", [name for name, kernel in KNOWN.items() if kernel is not slide_sums])
def test_what_a_kernel_knows_changes_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = rows(5, 400)
    known = changes(VIEWS[name], "auto", given, 9)
    monkeypatch.setattr(sliding_sums, "kernel_for", lambda *_: slide_sums)
    assert known == changes(VIEWS[name], "auto", given, 9)


def test_one_instant_with_more_rows_than_room_is_made_for() -> None:
    many = [(START + timedelta(seconds=second), f"k{n % 5000}", None, n, 1) for second in (0, 3) for n in range(20_000)]
    sql = VIEWS["only a sum"]
    assert changes(sql, "auto", many, 1) == changes(sql, "negative", many, 3)


def test_extremes_outlive_a_ring_that_grows() -> None:
    """A deque is linked through the ring, by numbers of rows that stay the same."""
    falling = [(START + timedelta(milliseconds=n), f"k{n % 3}", None, -n, n % 7) for n in range(3000)]
    sql = VIEWS["extremes"]
    assert changes(sql, "auto", falling, 100) == changes(sql, "negative", falling, 1)


@pytest.mark.parametrize("name", VIEWS)
def test_it_is_chosen(name: str) -> None:
    db = sash.connect()
    db.execute(STREAM + f"CREATE MATERIALIZED VIEW answer AS {VIEWS[name]};")
    assert any(isinstance(spec, SlidingGroupBySpec) for spec in parts(db.planned(1).views[0].spec))


def parts(spec: Spec) -> Iterator[Spec]:
    yield spec
    for below in spec.inputs:
        yield from parts(below)
