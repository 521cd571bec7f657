"""The law of isolation where the values of a column are in order once for many views: random mixes of medians, percentiles and what
goes with them come and go between batches of any size, on any number of shards, over restarts; each changes as if it were alone, by an
operator that keeps all for itself.
"""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st
from test_random_queries import examples
from test_shared_joins import Story, check, told

from sash.planner.placement import Expiry

WINDOWS = ("[RANGE 10 SECONDS]", "[RANGE 10 SECONDS]", "[RANGE 10 SECONDS SLIDE 2 SECONDS]", "[UNBOUNDED]", "[RANGE 60 SECONDS]")
KEYS = ("", "k", "k", "x", "x, k")
VALUES = ("v", "v", "v", "CAST(v AS DOUBLE) / 3", "CAST(v AS DECIMAL(30, 2))", "CAST(v AS DECIMAL(9, 2)) / 7")
FRACTIONS = ("0", "0.1", "1e-3", "0.25", "0.5", "0.9", "1")
FILTERS = ("", "", "", " WHERE v > 1")
ENDS = ("", "", "", " EMIT EVERY 4 SECONDS")


@st.composite
def stories(draw: st.DrawFn, most: int) -> Story:
    chance = random.Random(draw(st.integers(0, 1 << 30)))
    few = chance.sample(WINDOWS, 2), chance.sample(KEYS, 2), chance.sample(VALUES, 2)
    views = {f"q{number}": percentiles(chance, *map(chance.choice, few)) for number in range(draw(st.integers(2, most)))}
    return told(draw, chance, views)


def percentiles(chance: random.Random, window: str, keys: str, value: str) -> str:
    made = [a_percentile(chance, value)] + [a_call(chance, value) for _ in range(chance.choice([0, 0, 1, 2, 5]))]
    chance.shuffle(made)
    calls = ", ".join(f"{call} AS c{number}" for number, call in enumerate(made))
    group = f" GROUP BY {keys}" if keys else ""
    having = " HAVING COUNT(*) > 1" if keys and chance.random() < 0.2 else ""
    return f"SELECT {keys}{',' if keys else ''} {calls} FROM s {window}{chance.choice(FILTERS)}{group}{having}{chance.choice(ENDS)}"


def a_percentile(chance: random.Random, value: str) -> str:
    fraction = chance.choice(FRACTIONS)
    if chance.random() < 0.3:
        return f"PERCENTILE_DISC({fraction}) WITHIN GROUP (ORDER BY {value}{chance.choice(['', ' DESC'])})"
    return chance.choice([f"MEDIAN({value})", f"PERCENTILE({value}, {fraction})"])


def a_call(chance: random.Random, value: str) -> str:
    told_too = ("COUNT(*)", f"COUNT({value})", f"MIN({value})", f"MAX({value})", f"ANY_VALUE({value})", f"MAX(DISTINCT {value})")
    others = (f"MAX(v + {chance.randrange(2)})", f"COUNT(DISTINCT {value})", f"SUM({value})")  # these keep it from being shared
    return chance.choice([a_percentile(chance, value), chance.choice(told_too), chance.choice(told_too), chance.choice(others)])


@examples(40)
@given(stories(most=10))
def test_every_percentile_of_a_mix_is_as_if_alone(story: Story) -> None:
    check(story, alone_by=Expiry.DIRECT)
