"""The law of isolation where filters with a GROUP BY behind them run together: random mixes of aggregates that differ in conditions
come and go between batches of any size, on any number of shards, over restarts; each changes as if it were alone.
"""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st
from test_random_queries import examples
from test_shared_joins import Story, check, told

QUERIES = (
    "SELECT k, COUNT(*) AS n, SUM(v) AS t FROM {0} [RANGE {1} SECONDS] WHERE v > {2} GROUP BY k",
    "SELECT k, COUNT(*) AS n, SUM(v) AS t FROM {0} [RANGE 3 SECONDS] WHERE v <> {2} AND k < {3} GROUP BY k",
    "SELECT k, MIN(v) AS lo, MAX(v) AS hi FROM {0} [RANGE {1} SECONDS] WHERE v >= {2} GROUP BY k",
    "SELECT k, COUNT(*) AS n FROM {0} [RANGE {1} SECONDS] WHERE v > {2} GROUP BY k",
    "SELECT k, v FROM {0} [RANGE {1} SECONDS] WHERE v > {2}",
    "SELECT k, COUNT(*) AS n FROM {0} [RANGE {1} SECONDS] WHERE v % {3} = 0 GROUP BY k",
    "SELECT s.k, s.v, r.v AS w FROM s [RANGE {1} SECONDS], r [RANGE {1} SECONDS] WHERE s.k = r.k",
    "SELECT * FROM (SELECT k, COUNT(*) AS n, SUM(v) AS t FROM {0} [RANGE 3 SECONDS] WHERE v > {2} GROUP BY k) WHERE n > {3}",
)


@st.composite
def stories(draw: st.DrawFn) -> Story:
    chance = random.Random(draw(st.integers(0, 1 << 30)))
    return told(draw, chance, {f"q{number}": _query(chance) for number in range(draw(st.integers(5, 12)))})


def _query(chance: random.Random) -> str:
    select = chance.choice([QUERIES[0], QUERIES[0], *QUERIES])
    return select.format(chance.choice("sssr"), chance.choice([1, 3, 10]), chance.randrange(4), chance.randrange(1, 4))


@examples(12)
@given(stories())
def test_every_aggregate_of_a_mix_is_as_if_alone(story: Story) -> None:
    check(story)
