"""The law over random queries: the changelog is what DuckDB recomputes at every instant, and nothing but the input shows in it.

A short run with fixed examples is part of every test run, twice as many of the long form. `SASH_EXAMPLES=2000` gives so many new
examples each time.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, assume, given, settings
from playing import Way, embedded, played
from queries import Job, jobs

from lengths import count
from sash.planner.placement import Expiry
from sash.testing.comparing import assert_same
from sash.testing.oracle import Oracle

NEW = int(os.environ.get("SASH_EXAMPLES", "0"))

WAYS = {
    "batches": Way(size=4),
    "at once": Way(size=1000),
    "streams in another order": Way(size=2, seed=1),
    "restarts": Way(size=3, seed=2, restarts=True),
    "negative rows": Way(size=3, expiry=Expiry.NEGATIVE),
    "direct expiry": Way(size=3, expiry=Expiry.DIRECT),
    "another plan": Way(size=3, offer=-1),
    "yet another plan": Way(size=4, offer=1, shards=2, restarts=True),
    "no optimizer": Way(size=5, is_optimized=False),
    "shards": Way(size=4, seed=3, shards=3),
    "shards of everything else": Way(size=2, seed=4, shards=2, expiry=Expiry.NEGATIVE, is_optimized=False, restarts=True),
}


def examples(whole: int) -> settings:
    return settings(
        max_examples=NEW or count(whole // 2, whole), derandomize=not NEW, database=None, deadline=None, print_blob=False,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
    )  # fmt: skip


def rows(job: Job) -> dict[str, list[tuple[object, ...]]]:
    return {stream.name: stream.rows for stream in job.streams}


@examples(60)
@given(jobs())
def test_changelog_is_the_recomputed_one(job: Job) -> None:
    assume(any(stream.rows for stream in job.streams))
    expected = Oracle(job.sql, rows(job)).changelog("v")
    assert_same(expected, embedded(job.sql, rows(job), 3))


@pytest.mark.parametrize("way", WAYS)
@examples(10)
@given(job=jobs(most=16))
def test_nothing_but_the_input_shows(way: str, job: Job) -> None:
    expected = played(job.sql, rows(job), Way())
    assume(expected)
    assert played(job.sql, rows(job), WAYS[way]) == expected
