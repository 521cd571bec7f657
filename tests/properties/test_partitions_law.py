"""Clocks of partitions: what is late, and what the views show, are as the slow reference says, however rows travel.

`SASH_PARTITIONS=5000 pytest tests/properties/test_partitions_law.py` plays more of them.
"""

from __future__ import annotations

import os
import random
from collections import Counter

import pytest

from partitioned import COLUMNS, NAMES, VIEWS, Advance, Batch, Known, Shards, expected, in_batches, in_tasks, played, source
from sash.testing import Oracle

SEEDS = int(os.environ.get("SASH_PARTITIONS", "40"))
KEYS: tuple[tuple[int | str, ...], ...] = ((0, 1, 2), (9, 10, -1, 100), ("a", "b", "", "ä/b"), (7,))


def with_events(chance: random.Random, batches: list[list[object]]) -> list[Batch]:
    """ADVANCE of the stream, silent partitions that follow, and partitions that are there before their rows, between the batches."""
    every = sorted({row.partition for batch in batches for row in batch}, key=str)  # type: ignore[attr-defined]
    found: list[Batch] = []
    known: list[int | str] = []
    for batch in batches:
        if chance.random() < 0.3:
            found.append(Known(tuple(chance.sample(every, chance.randrange(1, len(every) + 1)))))
        found.append(batch)  # type: ignore[arg-type]
        known += [row.partition for row in batch if row.partition not in known]  # type: ignore[attr-defined]
        if chance.random() < 0.4:
            some = chance.sample(known, chance.randrange(len(known) + 1)) if chance.random() < 0.8 else []
            found.append(Advance(chance.randrange(0, 40) / 4, tuple(some)))
    return found


@pytest.mark.parametrize("seed", range(SEEDS))
def test_partitions_are_judged_as_the_contract_says(seed: int) -> None:
    """New partitions at any time, advances, several tasks and shards, with and without a restart before every batch."""
    chance = random.Random(seed)
    delay = chance.choice([0, 0.25, 1, 3])
    batches = in_batches(chance, source(chance, chance.choice(KEYS), 30), chance.randrange(1, 5), together=False)
    events = with_events(chance, batches)  # type: ignore[arg-type]
    logs, late = expected(events, delay)
    shards = Shards(delay, chance.randrange(1, 4), is_restarted=chance.random() < 0.5)
    tasks = (
        event if isinstance(event, Advance | Known) else in_tasks(chance, event, is_whole=chance.random() < 0.5) for event in events
    )
    found = played(tasks, shards)
    assert found.late == late
    assert found.logs == logs


@pytest.mark.parametrize("seed", range(SEEDS // 10))
def test_the_oracle_says_the_same(seed: int) -> None:
    """DuckDB, at every instant, over the rows that are in time."""
    chance = random.Random(seed)
    rows = source(chance, (2, 10, -1), 25)
    shards = Shards(1, 2)
    found = played(iter([in_tasks(chance, rows, is_whole=False)]), shards)
    sql = f"CREATE STREAM e ({COLUMNS}) TIMESTAMP BY ts DELAY 1 SECONDS; {VIEWS}"
    oracle = Oracle(sql, {"e": [row.values for row in rows]}, partitions={"e": [row.partition for row in rows]})
    assert found.late.total() == len(oracle.late("e"))
    for view in NAMES:
        assert found.logs[view] == Counter(repr((c.ts, c.row, c.op)) for c in oracle.changelog(view))


@pytest.mark.parametrize("seed", range(SEEDS // 2))
def test_where_batches_end_does_not_show(seed: int) -> None:
    """Once all partitions are known, the same rows in other batches give the same."""
    chance = random.Random(seed)
    delay, rows = chance.choice([0, 0.25, 1]), source(chance, chance.choice(KEYS), 40)
    logs, late = expected([rows], delay)
    for _ in range(3):
        batches = in_batches(chance, rows, chance.randrange(1, 8), together=True)
        found = played((in_tasks(chance, batch, is_whole=True) for batch in batches), Shards(delay, chance.randrange(1, 3)))
        assert found.late == late
        assert found.logs == logs


@pytest.mark.parametrize("seed", range(SEEDS // 2))
def test_where_batches_end_does_not_show_from_the_first_on_if_partitions_are_known(seed: int) -> None:
    """Partitions may have their first rows in any batch, as long as the source tells in the first that they are there."""
    chance = random.Random(seed)
    keys = chance.choice(KEYS)
    delay, rows = chance.choice([0, 0.25, 1]), source(chance, keys, 40)
    logs, late = expected([rows], delay)
    for _ in range(3):
        batches = in_batches(chance, rows, chance.randrange(1, 8), together=False)
        shards = Shards(delay, chance.randrange(1, 3), is_restarted=chance.random() < 0.3)
        for batch in batches:
            shards.take(in_tasks(chance, batch, is_whole=True), Known(keys))
        shards.end()
        assert shards.late == late
        assert shards.logs == logs
