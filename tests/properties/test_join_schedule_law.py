"""The law: which window of a shared join is served first shows in no changelog.

Random mixes of joins that come and go, in batches of any size, on any number of shards, over restarts, while the schedule changes;
each is as if it were alone. Turns are a few rows here, where they are thousands otherwise (`operators/shared_join/schedules.py`).
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_random_queries import examples
from test_shared_joins import Event, Story, check, stories

import sash
from sash import turns
from sash.operators import output_chunks
from sash.operators.shared_join import outputs, schedules, together
from sash.operators.shared_join.in_turns import InTurns
from sash.runtime import cycle
from sash.runtime.embedded import EmbeddedHost
from sash.testing.tables import Change, from_arrow

LITTLE = {
    (together, "RUN"): 3, (schedules, "BACKLOG"): 6, (schedules, "TURNS_COST"): 0.0, (output_chunks, "MOST"): 9,
    (outputs, "LITTLE"): outputs.MET + 4, (outputs, "LARGEST"): outputs.MET + 8, (outputs, "MOST"): 9, (cycle, "MOST"): 7,
}  # fmt: skip
STREAMS = """
CREATE STREAM s (ts TIMESTAMP, k BIGINT, v BIGINT) TIMESTAMP BY ts;
CREATE STREAM r (ts TIMESTAMP, k BIGINT, v BIGINT) TIMESTAMP BY ts;
"""
WINDOWS = ((1, 1), (2, 9), (9, 2), (5, 5), (30, 30), (30, 3))
VIEWS = {
    f"v{left}_{right}_{number}": f"SELECT {select} FROM s [RANGE {left} SECONDS] a JOIN r [RANGE {right} SECONDS] b ON a.k = b.k{rest}"
    for left, right in WINDOWS
    for number, (select, rest) in enumerate([("a.k, a.v, b.v AS w", ""), ("a.k, COUNT(*) AS n, SUM(b.v) AS t", " GROUP BY a.k")])
}


@contextmanager
def little_turns() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for (module, name), value in LITTLE.items():
            patch.setattr(module, name, value)
        yield


def scheduled(story: Story, chance: random.Random) -> Story:
    """The same with another schedule now and then."""
    found: list[Event] = []
    for event in story.events:
        if chance.random() < 0.3:
            order, join = chance.choice(["auto", "auto", "dfs", "bfs", "batch:3"]), chance.choice(schedules.SCHEDULES)
            found.append(Event(schedule=f"{order} join:{join}"))
        found.append(event)
    return replace(story, events=tuple(found))


@examples(25)
@given(stories(most=8), st.integers(0, 1 << 30))
def test_every_join_is_as_if_alone(story: Story, seed: int) -> None:
    with little_turns():
        check(scheduled(story, random.Random(seed)))


def rows(seed: int, count: int) -> dict[str, list[tuple[Any, ...]]]:
    """Several at one instant, bursts, NULLs, a few keys."""
    chance, found = random.Random(seed), dict[str, list[tuple[Any, ...]]]()
    for name in ("s", "r"):
        ts, mine = 0.0, []
        for number in range(count):
            ts += chance.choice([0, 0, 0, 0.5, 1, 4]) if number % 50 else chance.choice([0, 45])
            mine.append((ts, None if chance.random() < 0.1 else chance.randrange(4), chance.choice([None, number])))
        found[name] = mine
    return found


def changelogs(join: str, size: int, seed: int, order: str = "auto") -> dict[str, list[Change]]:
    db = sash.connect(schedule=order, join_schedule=join)
    db.execute(STREAMS + "".join(f"CREATE MATERIALIZED VIEW {name} AS {sql};" for name, sql in VIEWS.items()))
    streams = rows(seed, 200)
    for start in range(0, 200, size):
        for name, every in streams.items():
            db.push(name, every[start : start + size])
    db.end()
    return {name: from_arrow(db.changes(name)) for name in VIEWS}


@pytest.mark.parametrize("join", [schedules.AUTO, schedules.LWO, schedules.SWF, schedules.MQT])
@pytest.mark.parametrize("order", ["auto", "bfs", "dfs"])
def test_any_schedule(join: str, order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    taken, parts = [0], [0]
    whole_turn, take_part = InTurns._turn, EmbeddedHost._take_part

    def counted(self: InTurns, *words: Any, **more: Any) -> Any:
        taken[0] += 1
        return whole_turn(self, *words, **more)

    def counted_parts(self: EmbeddedHost, out: Any) -> None:
        parts[0] += 1
        take_part(self, out)

    monkeypatch.setattr(InTurns, "_turn", counted)
    monkeypatch.setattr(EmbeddedHost, "_take_part", counted_parts)
    wanted = changelogs(schedules.LWO, 7, seed=3)
    assert not taken[0]
    with little_turns():
        for size in (200, 60):
            found = changelogs(join, size, seed=3, order=order)
            for name in VIEWS:
                assert found[name] == wanted[name], name
    assert order == "dfs" or bool(taken[0]) == (join != schedules.LWO)
    assert parts[0] > 100


def test_who_reads_in_the_middle_has_its_window_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a long push: subscribers of short windows have all changes while long windows still work, and a view that is read is
    through with its own window, and with no longer one.
    """
    streams, through, found = rows(5, 400), list[list[bool]](), dict[str, Any]()
    answer = EmbeddedHost.answer

    def watched(self: EmbeddedHost, name: str) -> Any:
        through.append([self.is_through(one) for one in names])
        return answer(self, name)

    monkeypatch.setattr(EmbeddedHost, "answer", watched)
    monkeypatch.setattr(turns, "REST", 0.02)
    names = {"short": 1, "middle": 9, "long": 30}
    db, alone = (sash.connect(join_schedule=schedule) for schedule in (schedules.SWF, schedules.LWO))
    for one in (db, alone):
        one.execute(STREAMS)
        for name, size in names.items():
            one.execute(
                f"CREATE MATERIALIZED VIEW {name} AS SELECT a.k, a.v, b.v AS w FROM s [RANGE {size} SECONDS] a "
                f"JOIN r [RANGE {size} SECONDS] b ON a.k = b.k"
            )
        one.push("s", streams["s"])
    parts = {name: list[Any]() for name in names}
    subscriptions = {name: db.subscribe(name) for name in names}
    is_first = threading.Event()

    def read(name: str) -> None:
        is_first.wait()
        found[name] = db.view(name).to_arrow(), db.final(name).to_arrow()

    def follow(name: str) -> None:
        for batch in subscriptions[name]:
            is_first.set()
            parts[name].append(batch)

    threads = [threading.Thread(target=read, args=("middle",)), *(threading.Thread(target=follow, args=(n,)) for n in names)]
    for thread in threads:
        thread.start()
    while db.turns._hoping < len(subscriptions):
        time.sleep(0.001)
    with little_turns():
        db.push("r", streams["r"])
    threads[0].join()
    alone.push("r", streams["r"])
    assert found["middle"][0].equals(alone.view("middle").to_arrow())
    assert found["middle"][1].equals(alone.final("middle").to_arrow())
    assert through[0] == [True, True, False], "it was read in the middle of the push"
    db.end()
    db.close()
    for thread in threads[1:]:
        thread.join()
    alone.end()
    for name, batches in parts.items():
        assert from_arrow(pa.Table.from_batches(batches)) == from_arrow(alone.changes(name)), name
    assert len(parts["short"]) > 2
