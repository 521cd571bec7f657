"""The law of isolation where conditions and columns are above the joins that views share: nothing tells it from below.

Views are moved above at random, whatever it costs: as they come, with shards, batches and restarts as in `test_shared_joins.py`;
and in whole databases, back and forth while views come and go.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from test_random_queries import examples
from test_shared_joins import KEEPERS, Running, Story, stories

import sash
from sash.operators.shared_join.spec import SharedJoinSpec
from sash.planner.choose import CommonChoice
from sash.planner.common_joins import with_common_joins
from sash.planner.job import Job
from sash.planner.join_sharing import Common, JoinSharing, Own
from sash.testing.tables import Change, from_arrow


class Any:
    """All joins there are."""

    def __contains__(self, join: object) -> bool:
        return isinstance(join, SharedJoinSpec)


class Above(Running):
    """Every other view has its conditions above common joins."""

    def take_up(self, job: Job) -> None:
        if len(self.job.views) < len(job.views):
            view = job.views[-1]
            spec = with_common_joins(view.spec, Any())
            if view.name not in KEEPERS and int(view.name[1:]) % 2 and spec != view.spec:
                job = self.job.with_view(replace(view, spec=spec), self.db.catalog.streams.values())
        super().take_up(job)


def clean(changes: Counter[str]) -> dict[str, int]:
    return {change: op for change, op in changes.items() if op}


@examples(25)
@given(stories(most=6))
def test_what_is_above_a_common_join_is_as_if_below(story: Story) -> None:
    above, below = Above(story.shards, story.restarts).play(story), Running(story.shards, story.restarts).play(story)
    for name in below.changes:
        assert clean(above.changes[name]) == clean(below.changes[name]), name


STREAMS = "".join(f"CREATE STREAM {name} (ts TIMESTAMP, k BIGINT, v BIGINT, x STRING) TIMESTAMP BY ts;" for name in "sr")
KEEPERS_OF_ALL = "".join(
    f"CREATE MATERIALIZED VIEW keeps_{name} AS SELECT COUNT(*) AS n FROM {name} [RANGE 3 SECONDS];" for name in "sr"
)
CONDITIONS = ("a.v = {n}", "a.x = 'x{n}'", "a.v < {m}", "b.v >= {m}", "a.v = {n} AND b.v < {m}", "a.v > {m} AND b.x <> 'x{n}'")
SELECTS = ("a.k, a.v, b.v AS w", "a.k, b.x", "b.v, COUNT(*) AS n")


def a_view(chance: random.Random) -> str:
    select, condition = chance.choice(SELECTS), chance.choice(CONDITIONS).format(n=chance.randrange(20), m=chance.randrange(20))
    group = " GROUP BY b.v" if "COUNT" in select else ""
    seconds = chance.choice([1, 1, 1, 3])
    windows = f"s [RANGE {seconds} SECONDS] a JOIN r [RANGE {seconds} SECONDS] b"
    return f"SELECT {select} FROM {windows} ON a.k = b.k WHERE {condition}{group}"


def rows(chance: random.Random, number: int) -> list[tuple[object, ...]]:
    values = chance.randrange
    return [(number + place / 1000, values(300), values(20), f"x{values(20)}") for place in range(1000)]


def is_above(db: sash.Database, name: str) -> bool:
    return isinstance(db._running_choice(name)[0], CommonChoice)


def play(seed: int, only: str | None = None) -> tuple[dict[str, list[Change]], int]:
    """The changes of all views that are left, or of one that runs alone; and how many shared a join with conditions above it."""
    chance, db, moved = random.Random(seed), sash.connect(), 0
    db.execute(STREAMS + KEEPERS_OF_ALL)
    running: dict[str, str] = {}
    gone: set[str] = set()
    for number in range(14):
        for stream in "sr":
            db.push(stream, rows(chance, number))
            for _ in range(chance.randrange(5)):
                if running and (number > 9 or chance.random() < 0.15):
                    name = chance.choice(sorted(running))
                    del running[name]
                    gone.add(name)
                    if only in (None, name):
                        db.execute(f"DROP VIEW {name}")
                elif number < 10:
                    name = f"q{len(running) + len(gone)}"
                    running[name] = a_view(chance)
                    if only in (None, name):
                        db.execute(f"CREATE MATERIALIZED VIEW {name} AS {running[name]}")
            moved = max(moved, sum(is_above(db, name) for name in running if only is None))
    db.end()
    return {name: from_arrow(db.changes(name)) for name in running if only in (None, name)}, moved


@pytest.mark.parametrize("seed", range(2))
def test_views_move_above_and_below_unseen(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)

    def where(self: JoinSharing, here: Common) -> list[Own]:
        own = list(here.own.values())
        return chance.sample(own, chance.randrange(len(own) + 1))

    with monkeypatch.context() as patched:
        patched.setattr(JoinSharing, "where", where)
        together, moved = play(seed)
    assert moved > 1, "nothing was shared, so nothing was tried"
    for name, changes in together.items():
        assert play(seed, name)[0][name] == changes, name
