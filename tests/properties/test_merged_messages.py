"""Piggybacking: whatever the schedule, at most one message waits in an arc, and nothing else is changed by that.

What a row stands for leaves when its time comes, also where the row itself has to wait for another input.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache

import pyarrow as pa
import pytest
from playing import Way, played

import sash
from lengths import share
from sash.deltas import Delta
from sash.planner.placement import Expiry
from sash.runtime.node import Node
from sash.schema import FOREVER
from shapes import SHAPES, STREAMS, Shape, make_rows

pytestmark = pytest.mark.xdist_group("merged messages")  # what is expected is played once
SCHEDULES = ("auto", "dfs", "bfs", "bfs:1", "bfs:3", "rr", "rr:1", "batch:1", "batch:7", "memory")
COUNT = 40
NAMES = ("bids", "asks", "quiet")
ROWS = make_rows(17, COUNT)


def playing(expiry: str, size: int, schedule: str = "auto", shapes: Sequence[Shape] = SHAPES) -> Iterator[sash.Database]:
    """Shapes in one engine: after every push, and at the end."""
    db = sash.connect(expiry=expiry, schedule=schedule)
    db.execute(STREAMS + "\n".join(shape.sql for shape in shapes))
    db.push("sellers", ROWS["sellers"])
    yield db
    for start in range(0, COUNT, size):
        for name in NAMES:
            if part := ROWS[name][start : start + size]:
                db.push(name, part)
                yield db
    db.end()
    yield db


def changelogs(db: sash.Database, shapes: Sequence[Shape] = SHAPES) -> dict[str, pa.Table]:
    return {shape.name: db.changes(shape.name) for shape in shapes}


@cache
def expected() -> dict[str, pa.Table]:
    *_, db = playing("auto", COUNT)
    return changelogs(db)


@cache
def after_every_push() -> list[dict[str, pa.Table]]:
    return [changelogs(db) for db in playing("auto", 5)]


def of(shapes: Sequence[Shape], logs: dict[str, pa.Table]) -> dict[str, pa.Table]:
    return {shape.name: logs[shape.name] for shape in shapes}


class Waiting:
    """How many arcs were seen with how many messages in them."""

    def __init__(self) -> None:
        self.seen = Counter[int]()

    def __call__(self, node: Node, count: int, delta: Delta) -> None:
        for arc in node.output.arcs:
            self.seen[int((arc.buffer.read(arc.head, FOREVER).weight == 0).sum())] += 1


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_at_most_one_message_waits_in_an_arc_under_every_schedule(schedule: str) -> None:
    waiting, shapes = Waiting(), share(SHAPES, SCHEDULES.index(schedule), 4)
    for db in playing("piggyback", 13, schedule, shapes):
        db._running().graph.watch(waiting)
    assert waiting.seen[1] > 0
    assert max(waiting.seen) == 1
    assert changelogs(db, shapes) == of(shapes, expected())


def test_without_merging_many_messages_wait() -> None:
    waiting = Waiting()
    for db in playing("time-message", 13, "bfs:1", share(SHAPES, 0, 4)):
        db._running().graph.watch(waiting)
    assert max(waiting.seen) > 10


@pytest.mark.parametrize("schedule", ["auto", "rr:1", "bfs"])
def test_what_is_final_is_the_same_after_every_push(schedule: str) -> None:
    shapes = share(SHAPES, SCHEDULES.index(schedule), 4)
    for logs, db in zip(after_every_push(), playing("piggyback", 5, schedule, shapes), strict=True):
        assert of(shapes, logs) == changelogs(db, shapes)


def test_a_row_that_waits_for_another_input_holds_back_nothing_that_leaves_before() -> None:
    db = sash.connect(expiry="piggyback")
    db.execute(
        "CREATE STREAM a (ts TIMESTAMP, k INT, v INT) TIMESTAMP BY ts; CREATE STREAM b (ts TIMESTAMP, k INT, w INT) TIMESTAMP BY ts;"
        "CREATE MATERIALIZED VIEW v AS SELECT MAX(a.v) AS m FROM a [RANGE 5 SECONDS] a JOIN b [RANGE 99 SECONDS] b ON a.k = b.k "
        "WHERE b.w > 0"
    )
    db.push("a", [(0, 1, 1), (8, 2, 2), (9, 3, 3)])  # the second row stands for the message of the first
    db.push("b", [(0, 1, 1), (7, 5, -1)])  # so much is final, and nothing of it reaches the join
    assert db.changes("v")["m"].to_pylist() == [1, 1, None]


@pytest.mark.parametrize("name", ["join", "three_way", "table_group", "union_all", "self_join", "join_more"])
def test_messages_that_wait_outlive_a_restart(name: str) -> None:
    shape = next(shape for shape in SHAPES if shape.name == name)
    job = STREAMS + shape.sql
    direct = played(job, ROWS, Way(3), view=name)
    for seed in range(3):
        assert played(job, ROWS, Way(3, seed=seed, restarts=True, expiry=Expiry.PIGGYBACK), view=name) == direct
