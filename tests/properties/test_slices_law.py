"""The law of isolation where groups are added up once for many windows: random mixes of aggregates over windows that jump come and go
between batches of any size, on any number of shards, over restarts; each changes as if it were alone, by an operator that keeps rows.
"""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st
from test_random_queries import examples
from test_shared_joins import Story, check, told

from sash.planner.placement import Expiry

SLIDES = ("500 MILLISECONDS", "1 SECOND", "2 SECONDS", "3 SECONDS", "10 SECONDS")
MULTIPLES = (1, 1, 2, 4)
KEYS = ("k", "k", "k", "x", "x, k")
CALLS = (
    "COUNT(*) AS n", "COUNT(v) AS c", "SUM(v) AS s", "AVG(v) AS a", "MIN(v) AS l", "MAX(v) AS h", "MAX(ts) AS t", "SUM(v + 1) AS u",
    "MIN(k) AS m", "ANY_VALUE(v) AS y", "SUM(v / 7e0) AS d", "AVG(v * 1e-9) AS e, SUM(v * 1e-9) AS f", "AVG(v / 3e0) AS g",
    "SUM(CASE WHEN v > 2 THEN v * 1e200 WHEN v = 0 THEN 1e-250 ELSE -v / 3e0 END) AS w",
)  # fmt: skip
FILTERS = ("", "", "", " WHERE v > 1")
ENDS = ("", "", "", " HAVING COUNT(*) > 1", " EMIT EVERY 4 SECONDS")


@st.composite
def stories(draw: st.DrawFn, most: int) -> Story:
    chance = random.Random(draw(st.integers(0, 1 << 30)))
    return told(draw, chance, {f"q{number}": an_aggregate(chance) for number in range(draw(st.integers(2, most)))})


def an_aggregate(chance: random.Random) -> str:
    slide, keys = chance.choice(SLIDES), chance.choice(KEYS)
    number, unit = slide.split()
    size = f"{int(number) * chance.choice(MULTIPLES)} {unit}"
    calls = ", ".join(chance.sample(CALLS, chance.choice([1, 1, 2, 3])))
    return (
        f"SELECT {keys}, {calls} FROM s [RANGE {size} SLIDE {slide}]{chance.choice(FILTERS)} GROUP BY {keys}"
        f"{chance.choice(ENDS)}"
    )


@examples(40)
@given(stories(most=10))
def test_every_aggregate_of_a_mix_is_as_if_alone(story: Story) -> None:
    check(story, alone_by=Expiry.DIRECT)
