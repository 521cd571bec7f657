"""The law of isolation for mixes of all that is shared: 2 to 30 joins, aggregates over windows that jump or slide, DISTINCT and set
operators over many windows come and go at any moment, while schedules change, on any number of shards, over restarts. Each changes
as if it were alone, where its rows come in other batches, it is run by the schedule that is usual, and its operators share nothing.
"""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st
from test_random_queries import examples
from test_shared_joins import LONGEST, WINDOWS, Event, Story, a_join, check, told
from test_slices_law import an_aggregate

from sash.planner.placement import Expiry

SCHEDULES = ("auto", "dfs", "bfs", "rr", "batch:1", "batch:3", "memory")
CALLS = ("COUNT(*) AS n", "SUM(v) AS s, MIN(v) AS l", "MAX(x) AS m", "COUNT(DISTINCT v) AS d", "SUM(v) FILTER (WHERE v > {n}) AS s")
ALONE = 8  # views of a mix that are run alone


def _sliding(chance: random.Random) -> str:
    group = chance.choice(["", "k", "x, k"])
    calls = chance.choice(CALLS).format(n=chance.randrange(4))
    where = chance.choice(["", f" WHERE k = {chance.randrange(3)}", f" WHERE k = {chance.randrange(3)} AND v > {chance.randrange(3)}"])
    keys, groups = (f"{group}, ", f" GROUP BY {group}") if group else ("", "")
    return f"SELECT {keys}{calls} FROM s [RANGE {chance.choice(WINDOWS)} SECONDS]{where}{groups}"


def _set(chance: random.Random) -> str:
    operator = chance.choice(["EXCEPT", "INTERSECT", "UNION", "EXCEPT ALL"])
    sides = [f"SELECT k FROM {one} [RANGE {chance.choice(WINDOWS)} SECONDS]" for one in "sr"]
    return f"{sides[0]} {operator} {sides[1]}"


def _distinct(chance: random.Random) -> str:
    columns = chance.choice(["k", "x", "x, k"])
    return f"SELECT DISTINCT {columns} FROM s [RANGE {chance.choice(WINDOWS)} SECONDS] WHERE v <> {chance.randrange(3)}"


@st.composite
def stories(draw: st.DrawFn, most: int) -> Story:
    chance = random.Random(draw(st.integers(0, 1 << 30)))
    kinds = (a_join, a_join, an_aggregate, an_aggregate, _sliding, _sliding, _set, _distinct)
    views = {f"q{number}": chance.choice(kinds)(chance) for number in range(draw(st.integers(2, most)))}
    story = told(draw, chance, views)
    events = list(story.events)
    for _ in range(chance.randrange(4)):
        events.insert(chance.randrange(len(events) + 1), Event(schedule=chance.choice(SCHEDULES)))
    return Story(story.views, tuple(events), story.shards, story.restarts)


@examples(12)
@given(stories(most=30), st.integers(0, 1000))
def test_every_query_of_a_mix_is_as_if_alone(story: Story, pieces: int) -> None:
    check(story, alone_by=Expiry.DIRECT, most=ALONE, pieces=pieces)


def test_a_large_mix_shares() -> None:
    """The law would be worth little if nothing ran together."""
    chance = random.Random(4)
    views = {f"q{number}": (a_join, an_aggregate)[number % 2](chance) for number in range(30)}
    rows = tuple(Event(stream, ((float(at), at % 3, at % 5, "x1"),)) for at in range(12) for stream in "sr")
    story = Story(views, (*(Event(comes=name) for name in views), *rows), 2, restarts=True)
    assert check(story, Expiry.DIRECT, most=2, pieces=1) >= 3
    assert max(WINDOWS) == LONGEST
