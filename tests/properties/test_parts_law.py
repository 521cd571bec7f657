"""The law: in how many parts operators give their output, and when it goes out, shows in no changelog.

Parts are a handful of changes here, where they are a million otherwise (`operators/piecewise.py`).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from functools import cache

import pytest
from hypothesis import assume, given
from playing import Way, embedded, played
from queries import Job, jobs
from test_random_queries import examples, rows

import sash
from lengths import share
from sash.operators import output_chunks
from sash.operators.piecewise import Piecewise
from sash.operators.shared_join import operator as shared_join
from sash.operators.shared_join import outputs, together
from sash.operators.shared_join.operator import SharedJoin
from sash.planner.placement import Expiry
from sash.runtime import cycle
from sash.runtime.embedded import EmbeddedHost
from sash.runtime.schedule import parse_schedule
from sash.testing.tables import Change, from_arrow
from shapes import SHAPES, STREAMS, make_rows

STRATEGIES = (Expiry.AUTO, Expiry.DIRECT, Expiry.NEGATIVE, Expiry.TIME_MESSAGE, Expiry.PIGGYBACK)
LITTLE = {
    (output_chunks, "SMALLEST"): 2, (output_chunks, "LARGEST"): 3, (output_chunks, "MOST"): 5,
    (outputs, "LITTLE"): outputs.MET + 4, (outputs, "LARGEST"): outputs.MET + 8, (outputs, "MOST"): 5,
    (shared_join, "MOST"): 5, (shared_join, "SLICE"): 7, (cycle, "MOST"): 4,
}  # fmt: skip
MIXES = """
CREATE MATERIALIZED VIEW pairs AS SELECT a.auction, b.price, a.amount FROM asks [RANGE 20 SECONDS] a JOIN bids [RANGE 30 SECONDS] b
  ON a.auction = b.auction;
CREATE MATERIALIZED VIEW fewer AS SELECT a.auction, b.price, a.amount FROM asks [RANGE 5 SECONDS] a JOIN bids [RANGE 4 SECONDS] b
  ON a.auction = b.auction;
CREATE MATERIALIZED VIEW others AS SELECT a.auction, b.bidder, a.seller FROM asks [RANGE 9 SECONDS] a JOIN bids [RANGE 30 SECONDS] b
  ON a.auction = b.auction;
CREATE MATERIALIZED VIEW all_pairs AS SELECT a.auction, b.auction AS other FROM bids [RANGE 9 SECONDS] a, bids [RANGE 7 SECONDS] b;
CREATE MATERIALIZED VIEW counted AS SELECT a.auction, COUNT(*) AS n, SUM(b.price) AS p FROM asks [RANGE 20 SECONDS] a
  JOIN bids [RANGE 30 SECONDS] b ON a.auction = b.auction GROUP BY a.auction EMIT EVERY 4 SECONDS;
CREATE MATERIALIZED VIEW of_pairs AS SELECT p.auction, q.n, p.price FROM pairs p JOIN counted q ON p.auction = q.auction;
CREATE MATERIALIZED VIEW named AS SELECT b.auction, s.region FROM asks [RANGE 8 SECONDS] b JOIN sellers s ON b.seller = s.seller;
CREATE TABLE names (auction INT, name STRING) NON RETROACTIVE;
CREATE MATERIALIZED VIEW looked_up AS SELECT b.auction, b.price, n.name FROM bids [RANGE 8 SECONDS] b JOIN names n
  ON b.auction = n.auction;
CREATE MATERIALIZED VIEW early AS SELECT x.auction, n.name FROM
  (SELECT auction FROM bids [RANGE 9 SECONDS] EXCEPT SELECT auction FROM asks [RANGE 3 SECONDS]) x JOIN names n
  ON x.auction = n.auction;
"""
NAMES = ("pairs", "fewer", "others", "all_pairs", "counted", "of_pairs", "named", "looked_up", "early")


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """Little parts; what happens is counted."""
    for (module, name), value in LITTLE.items():
        monkeypatch.setattr(module, name, value)
    yield counting(monkeypatch)


def counting(patch: pytest.MonkeyPatch) -> Counter[str]:
    seen: Counter[str] = Counter()

    def watch(kind: type, name: str) -> None:
        method = getattr(kind, name)

        def counted(self: object, *words: object) -> object:
            seen[name if name != "go_on" else kind.__name__] += 1
            return method(self, *words)

        patch.setattr(kind, name, counted)

    watch(Piecewise, "go_on")
    watch(SharedJoin, "go_on")
    watch(SharedJoin, "_run_apart")
    watch(EmbeddedHost, "_take_part")
    watch(EmbeddedHost, "_take_out")
    return seen


def copies(count: int) -> dict[str, list[tuple[object, ...]]]:
    """Rows of a few keys, each several times, and many at one instant."""
    chance = random.Random(count)
    found = make_rows(3, count)
    return {name: sorted(chance.choices(same, k=count), key=lambda row: str(row[0])) if name in ("bids", "asks") else same
            for name, same in found.items()}  # fmt: skip


@cache
def expected(strategy: Expiry) -> dict[str, list[Change]]:
    return mixes(strategy, "auto", 40)


def mixes(strategy: Expiry, schedule: str, size: int) -> dict[str, list[Change]]:
    """The changelogs of the mix above; rows come in pushes of that size."""
    db = sash.connect(expiry=strategy.value, schedule=schedule)
    db.execute(STREAMS + MIXES)
    streams = copies(40)
    db.push("sellers", streams["sellers"])
    db.push("names", [(auction, name) for auction in range(4) for name in "abcdefg"])
    for start in range(0, 40, size):
        for name in ("bids", "asks"):
            db.push(name, streams[name][start : start + size])
    db.end()
    return {name: from_arrow(db.changes(name)) for name in NAMES}


@pytest.mark.parametrize("size", [40, 13])
@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: strategy.value)
def test_parts_do_not_show(parts: Counter[str], strategy: Expiry, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as whole:
        for (module, name), _ in LITTLE.items():
            whole.setattr(module, name, 1 << 20 if name != "SMALLEST" else 256)
        wanted = expected(strategy)
    parts.clear()
    found = mixes(strategy, "auto", size)
    for name in NAMES:
        assert found[name] == wanted[name], name
    assert parts["_take_part"] > parts["_take_out"], "nothing went out before the end of a step"
    assert parts["Piecewise"] > 15 and (parts["SharedJoin"] > 15 or strategy is not Expiry.AUTO)


@pytest.mark.parametrize("kind", ["dfs", "bfs", "rr", "batch:3", "memory"])
def test_nor_with_a_schedule(parts: Counter[str], kind: str) -> None:
    assert str(parse_schedule(kind)) == kind
    assert mixes(Expiry.AUTO, kind, 13) == mixes(Expiry.AUTO, "auto", 40)
    assert parts["_take_part"] > parts["_take_out"]


def test_nor_where_every_window_has_a_join_of_its_own(parts: Counter[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """As where rows have many copies."""
    wanted = mixes(Expiry.AUTO, "auto", 40)
    monkeypatch.setattr(together, "JUDGED", 1)
    monkeypatch.setattr(together, "WORTH", -1)
    before = parts["_run_apart"]
    assert mixes(Expiry.AUTO, "auto", 5) == mixes(Expiry.AUTO, "auto", 13) == wanted
    assert parts["_run_apart"] > before + 4


def test_all_shapes_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes = share(SHAPES, 0, 2)

    def play() -> dict[str, list[Change]]:
        db = sash.connect()
        db.execute(STREAMS + "\n".join(shape.sql for shape in shapes))
        for name, found in make_rows(6, 30).items():
            db.push(name, found)
        db.end()
        return {shape.name: from_arrow(db.changes(shape.name)) for shape in shapes}

    wanted = play()
    for (module, name), value in LITTLE.items():
        monkeypatch.setattr(module, name, value)
    found = play()
    for name, changes in wanted.items():
        assert found[name] == changes, name


@examples(30)
@given(job=jobs(most=16))
def test_random_queries(job: Job) -> None:
    wanted = [embedded(job.sql, rows(job), 4), played(job.sql, rows(job), Way(size=4, expiry=Expiry.NEGATIVE))]
    assume(wanted[0])
    with pytest.MonkeyPatch.context() as patch:
        for (module, name), value in LITTLE.items():
            patch.setattr(module, name, value)
        assert [embedded(job.sql, rows(job), 7), played(job.sql, rows(job), Way(size=7, expiry=Expiry.NEGATIVE))] == wanted
