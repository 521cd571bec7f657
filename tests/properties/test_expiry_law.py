"""The law for expiry strategies: all give the same changelog; input-triggered gives the same answers, some of them late.

What the changelog must be is known from `test_oracle_law.py`, which plays the default strategy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

import sash
from lengths import LONG, share
from sash.testing.comparing import assert_same
from sash.testing.tables import Change, from_arrow
from shapes import INPUTS, SHAPES, STREAMS, Shape, make_rows

Rows = dict[str, list[tuple[object, ...]]]
Bag = Counter[tuple[object, ...]]
OTHERS = ("direct", "negative", "time-message", "piggyback")
LATE = ("bids", "asks", "quiet")


def played(shape: Shape, rows: Rows, size: int, expiry: str) -> sash.Database:
    db = sash.connect(expiry=expiry)
    db.execute(STREAMS + shape.sql)
    db.push("sellers", rows["sellers"])
    for start in range(0, max(map(len, rows.values())), size):
        for name in LATE:
            if part := rows[name][start : start + size]:
                db.push(name, part)
    db.end()
    return db


def changelog(shape: Shape, rows: Rows, size: int, expiry: str) -> list[Change]:
    return from_arrow(played(shape, rows, size, expiry).changes(shape.name))


def answers(changes: Sequence[Change], instants: Sequence[object]) -> list[Bag]:
    """What the changes add up to after each of these instants."""
    found, bag, place = [], Counter[tuple[object, ...]](), 0
    for instant in instants:
        while place < len(changes) and changes[place].ts <= instant:  # type: ignore[operator]
            bag[tuple(map(repr, changes[place].row))] += changes[place].op
            place += 1
        found.append(Counter({row: count for row, count in bag.items() if count}))
    return found


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_strategies_give_the_same_changelog(shape: Shape) -> None:
    """Two of them and, for every second shape, the late one, or all."""
    rows, place = INPUTS["many"], SHAPES.index(shape)
    expected = changelog(shape, rows, 1000, "auto")
    for size, expiry in share(list(zip((1000, 1000, 7, 5), OTHERS, strict=True)), place, 2):
        assert_same(expected, changelog(shape, rows, size, expiry))
    if not LONG and place // 2 % 2:
        return
    late = changelog(shape, rows, 7, "input-triggered")
    assert_same(late, changelog(shape, rows, 1000, "input-triggered"))
    instants = [*sorted({change.ts for change in late}), max(change.ts for change in (*expected, *late))]
    assert answers(late, instants) == answers(expected, instants)


@pytest.mark.parametrize("name", ["join", "join_more", "three_way", "table_group", "union_all", "distinct_rows", "self_join"])
@pytest.mark.parametrize("rows", [INPUTS["one"], INPUTS["empty"], make_rows(11, 40)], ids=["one", "empty", "other"])
def test_other_rows_one_at_a_time(name: str, rows: Rows) -> None:
    shape = next(shape for shape in SHAPES if shape.name == name)
    expected = changelog(shape, rows, 1000, "auto")
    for expiry in OTHERS:
        assert_same(expected, changelog(shape, rows, 1, expiry))


def test_late_answers_tell_how_late() -> None:
    shape = next(shape for shape in SHAPES if shape.name == "filtered")
    rows = INPUTS["many"]
    delay = played(shape, rows, 7, "input-triggered").metrics()["views"]["filtered"]["delay"]["event_time"]
    assert 0 < delay["average"] < delay["maximum"]
    assert played(shape, rows, 7, "time-message").metrics()["views"]["filtered"]["delay"]["event_time"]["maximum"] == 0


def test_a_view_looks_as_far_as_time_has_gone() -> None:
    db = sash.connect(expiry="input-triggered")
    db.execute("CREATE STREAM s (ts TIMESTAMP, v INT) TIMESTAMP BY ts")
    db.execute("CREATE MATERIALIZED VIEW v AS SELECT v FROM s [RANGE 5 SECONDS] WHERE v > 0")
    db.push("s", [(0, 1), (1, 2), (9, 0)])
    assert len(db.view("v")) == 0
    assert db.changes("v").num_rows == 2
    db.end()
    assert [(change.op, change.row) for change in from_arrow(db.changes("v"))[2:]] == [(-1, (1,)), (-1, (2,))]
