"""The law of isolation where rows go to filters by a look-up: random mixes of aggregates that differ in constants come and go between
batches of any size, on any number of shards, over restarts; each changes as if it were alone.

All are spread by the key, as the rows are that are in memory in both runs.
"""

from __future__ import annotations

import random
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st
from test_random_queries import examples
from test_shared_joins import Story, check, told

from sash.operators.filter import routing

QUERIES = (
    "SELECT k, COUNT(*) AS n, SUM(v) AS t FROM {0} [RANGE {1} SECONDS] WHERE k = {2} AND v > {3} GROUP BY k",
    "SELECT k, MIN(x) AS x, COUNT(*) AS n FROM {0} [RANGE {1} SECONDS] WHERE x = 'x{3}' AND k = {2} GROUP BY k",
    "SELECT k, MAX(v) AS m FROM {0} [RANGE {1} SECONDS] WHERE x = 'x{3}' GROUP BY k",
    "SELECT k, COUNT(*) AS n FROM {0} [RANGE {1} SECONDS] WHERE k = {2} AND 6 / v > 1 GROUP BY k",
)


@st.composite
def stories(draw: st.DrawFn) -> Story:
    chance = random.Random(draw(st.integers(0, 1 << 30)))
    return told(draw, chance, {f"q{number}": _query(chance) for number in range(draw(st.integers(9, 16)))})


def _query(chance: random.Random) -> str:
    select = chance.choice([QUERIES[0], *QUERIES])
    return select.format(chance.choice("sssr"), chance.choice([1, 3, 10]), chance.randrange(4), chance.randrange(3))


@examples(12)
@given(stories())
def test_every_filter_of_a_mix_is_as_if_alone(story: Story) -> None:
    with mock.patch.object(routing, "LOOKED_UP", 2):
        check(story)
