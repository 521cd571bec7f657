"""Joins of windows whose rows have many copies: equal rows are one line, and leave one by one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sash.database.embedded import EmbeddedDatabase
from sash.operators.join.kernels.merging import COUNT, MERGES
from sash.operators.join.leaving import MET, LeavingJoin
from sash.operators.shared_join.operator import SharedJoin
from sash.testing import Oracle
from sash.testing.comparing import assert_same
from sash.testing.tables import from_arrow

STREAMS = """
CREATE STREAM a (ts TIMESTAMP, k BIGINT, v BIGINT) TIMESTAMP BY ts;
CREATE STREAM b (ts TIMESTAMP, k BIGINT, w STRING) TIMESTAMP BY ts;
"""
VIEW = "CREATE MATERIALIZED VIEW j AS SELECT a.k, a.v, b.w FROM a [RANGE {0} SECONDS] JOIN b [RANGE {1} SECONDS] ON a.k = b.k;"
SECOND = 1_000_000


def rows(seed: int, count: int, keys: int, values: int, every: int) -> list[tuple[object, ...]]:
    """Several of one instant now and then, NULLs among keys and values, key 0 most of the time."""
    random = np.random.default_rng(seed)
    instants = np.sort(random.integers(0, count * every // SECOND + 1, count))
    drawn = np.minimum(random.integers(0, 4 * keys, count), keys) % keys
    return [
        (int(instant), None if place % 17 == 5 else int(key), None if value == 0 else int(value))
        for place, (instant, key, value) in enumerate(zip(instants, drawn, random.integers(0, values, count), strict=True))
    ]


def played(job: str, pushes: int, seed: int, values: int, expiry: str = "auto", count: int = 1_500) -> EmbeddedDatabase:
    db = EmbeddedDatabase(expiry=expiry)
    db.execute(job)
    left, right = rows(seed, count, 3, values, SECOND), rows(seed + 1, count, 3, values, SECOND)
    for start in range(0, count, pushes):
        db.push("a", left[start : start + pushes])
        db.push("b", [(ts, k, None if v is None else f"text {v}") for ts, k, v in right[start : start + pushes]])
    return db


def the_join(db: EmbeddedDatabase) -> LeavingJoin:
    host = db._host
    assert host is not None
    (shared,) = [node.operator for node in host._shard.graph.nodes if isinstance(node.operator, SharedJoin)]
    (found,) = shared._apart.values()
    return found


def counting(join: LeavingJoin) -> tuple[int, int]:
    """How many lines stand for rows, and how many rows there are."""
    lines = [log._held()[:, log._width + COUNT] for log in join._logs]
    return sum(int((one > 0).sum()) for one in lines), sum(map(len, lines))


@pytest.mark.parametrize(("values", "windows"), [(2, (12, 12)), (5, (40, 5)), (60, (10, 25))])
def test_copies_change_nothing(values: int, windows: tuple[int, int]) -> None:
    job = STREAMS + VIEW.format(*windows)
    changes: list[pa.Table] = []
    for expiry, pushes in (("negative", 500), ("auto", 1_500), ("auto", 61), ("auto", 7)):
        db = played(job, pushes, values, values, expiry)
        db.advance(10_000 * SECOND)
        found = db.changes("j")
        changes.append(found.sort_by([(name, "ascending") for name in ("_ts", "k", "v", "w", "_op")]))
        if expiry == "auto":
            assert the_join(db).kept == 0
    assert changes[0].num_rows > 10_000
    assert all(other.equals(changes[0]) for other in changes[1:])


def test_long_chains() -> None:
    """Of more rows than are met at once; the output is full in their midst."""
    changes = []
    for expiry, pushes in (("negative", 700), ("auto", 700), ("auto", 13)):
        db = played(STREAMS + VIEW.format(500, 450), pushes, 3, 100_000, expiry, count=700)
        if expiry == "auto":
            assert counting(the_join(db))[0] > 2 * MET
        db.advance(10_000 * SECOND)
        changes.append(db.changes("j").sort_by([(name, "ascending") for name in ("_ts", "k", "v", "w", "_op")]))
    assert changes[0].num_rows > 200_000
    assert all(other.equals(changes[0]) for other in changes[1:])


@pytest.mark.parametrize(("values", "looks"), [(1_000, True), (10_000_000, False)])
def test_whether_copies_are_looked_for_is_a_matter_of_pairs(values: int, looks: bool) -> None:
    """The first of some hundred partners rarely has a copy among the next ones, and yet many do in all."""
    db = played(STREAMS + VIEW.format(300, 300), 1_500, 5, values)
    assert [bool(log.registers[MERGES]) for log in the_join(db)._logs] == [looks, looks]


def test_copies_are_not_looked_for_where_hardly_anybody_meets_them() -> None:
    """Ten rows come to one side for every one on the other, which meets five copies of each."""
    db = EmbeddedDatabase()
    db.execute(STREAMS + VIEW.format(100, 100))
    db.push("a", [(place // 10, place % 200, 1) for place in range(8_000)])
    db.push("b", [(place, place * 7 % 200, str(place)) for place in range(800)])
    left, _ = the_join(db)._logs
    assert len(left) > 900 and not left.registers[MERGES]


@pytest.mark.parametrize("pushes", [100, 1_500])
def test_most_copies_are_one_line(pushes: int) -> None:
    db = played(STREAMS + VIEW.format(300, 300), pushes, 9, 4)
    lines, kept = counting(the_join(db))
    assert kept > 400 and lines < kept // 4


def test_copies_are_looked_for_while_there_are_some() -> None:
    db = EmbeddedDatabase()
    db.execute(STREAMS + VIEW.format(100, 100))
    looked = []
    for phase, values in enumerate((1, 1_000_000, 1)):
        start = 1_000 * phase
        db.push("a", [(start + i // 10, i % 5, i % values) for i in range(2_000)])
        db.push("b", [(start + i // 10, i % 5, str(i % values)) for i in range(2_000)])
        db.advance((start + 201) * SECOND)
        looked.append([bool(log.registers[MERGES]) for log in the_join(db)._logs])
    assert looked == [[True, True], [False, False], [True, True]]


def test_copies_against_the_oracle() -> None:
    job = STREAMS + VIEW.format(6, 4)
    left, right = rows(1, 60, 2, 2, SECOND), rows(2, 60, 2, 2, SECOND)
    texts = [(ts, k, None if v is None else str(v)) for ts, k, v in right]
    oracle = Oracle(job, {"a": left, "b": texts}, until="80")
    db = EmbeddedDatabase()
    db.execute(job)
    for start in range(0, 60, 9):
        db.push("a", left[start : start + 9])
        db.push("b", texts[start : start + 9])
    db.advance(81 * SECOND)
    assert_same(oracle.changelog("j"), from_arrow(db.changes("j")))
