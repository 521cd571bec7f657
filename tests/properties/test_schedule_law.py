"""The law: no schedule shows in the changelog, nor a switch in the middle of a step, nor break nodes that come and go.

All shapes run as views of one engine, so that its graph has forks, parts with schedules of their own, and many to choose from.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import cache

import pytest

import sash
from lengths import share
from sash.runtime.graph import Graph
from sash.runtime.schedule import parse_schedule
from sash.runtime.time_propagation import Timing
from sash.testing.tables import Change, from_arrow
from shapes import SHAPES, STREAMS, Shape, make_rows

KINDS = ("dfs", "bfs", "rr", "batch:3", "memory")
PARTS = (*KINDS, "auto", "bfs:3", "rr:1")
SEED, COUNT = 5, 30
LATER = "2024-05-01 00:30:00"  # when all windows are empty


def play(
    prepare: Callable[[Graph, random.Random], None], pieces: int, until: str | None = None, shapes: Sequence[Shape] = SHAPES
) -> dict[str, list[Change]]:
    """The changelogs of shapes, to the end of their streams or to an instant; rows come in so many pieces of random length."""
    db = sash.connect()
    db.execute(STREAMS + "\n".join(shape.sql for shape in shapes))
    rows, chance = make_rows(SEED, COUNT), random.Random(SEED)
    db.push("sellers", rows["sellers"])
    prepare(db._running().graph, chance)
    cuts = {name: sorted(chance.sample(range(1, COUNT), pieces - 1)) for name in ("bids", "asks", "quiet")}
    for piece in range(pieces):
        for name, places in cuts.items():
            start, stop = (places[piece - 1] if piece else 0), (places[piece] if piece < len(places) else COUNT)
            if rows[name][start:stop]:
                db.push(name, rows[name][start:stop])
    if until is None:
        db.end()
    else:
        db.advance(until)
    return {shape.name: from_arrow(db.changes(shape.name)) for shape in shapes}


@cache
def expected() -> dict[str, list[Change]]:
    return play(lambda graph, chance: None, 1)


def assert_same(found: dict[str, list[Change]]) -> None:
    for name, changes in found.items():
        assert changes == expected()[name], name


@pytest.mark.parametrize("kind", KINDS)
def test_any_schedule(kind: str) -> None:
    assert_same(play(lambda graph, chance: graph.use(parse_schedule(kind)), 3, shapes=share(SHAPES, KINDS.index(kind), 3)))


@pytest.mark.parametrize("timing", [Timing.DIRECT, Timing.PUNCTUATION])
def test_switches_and_breaks_at_random_moments(timing: Timing) -> None:
    def prepare(graph: Graph, chance: random.Random) -> None:
        specs = sorted(graph.specs, key=lambda spec: spec.fingerprint)
        graph.move_time(timing)

        def change(*_: object) -> None:
            if chance.random() < 0.01:
                part = None if chance.random() < 0.2 else chance.sample(specs, len(specs) // 3)
                graph.use(parse_schedule(chance.choice(PARTS)), part)
            if chance.random() < 0.01:
                graph.break_at(chance.sample(specs, chance.choice([0, 1, 20])))

        graph.watch(change)

    assert_same(play(prepare, 4))


def test_nothing_is_left_between_operators() -> None:
    graphs: list[Graph] = []
    # At the end of its own streams a view may leave what other views made of later instants; at one instant for all, none does.
    play(lambda graph, chance: graphs.append(graph), 4, until=LATER)
    assert graphs[0].buffered == 0
