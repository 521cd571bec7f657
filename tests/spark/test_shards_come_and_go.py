"""The law of change on several shards: views come, go and are replaced, tasks crash, the job restarts, its arenas are lost; and views
that say that they are complete show what they would show had they always been there."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from test_law import cell
from without_spark import Crash, connected, query_of

from sash.database.embedded import EmbeddedDatabase
from sash.schema import BEGINNING
from sash.testing.tables import Change, from_arrow
from shapes import SHAPES, STREAMS, Shape, make_rows

pytestmark = pytest.mark.laws

NAMES = ("bids", "asks", "quiet")
SELLERS = "INSERT INTO sellers VALUES ('ann', 'north'), ('bob', 'south'), ('bob', 'south'), (NULL, 'nowhere');"


def with_files(sql: str) -> str:
    for name in NAMES:
        end = sql.index(";", sql.index(f" {name} ("))
        sql = f"{sql[:end]} WITH (format = 'csv', path = '{name}', nullvalue = '-'){sql[end:]}"
    return sql


def seen_from(changes: Iterable[Change], at: int, end: int) -> Counter[tuple[int, str]]:
    """The answer at an instant, then the later changes, up to what is final."""
    net: Counter[tuple[int, str]] = Counter()
    for change in changes:
        if change.ts < end:
            net[max(change.ts, at), repr(change.row)] += change.op
    return Counter({change: op for change, op in net.items() if op})


class Run:
    """A job on shards, and beside it an engine in which all views are there from the beginning."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path, seed: int) -> None:
        self.chance = random.Random(seed)
        self.patch, self.folder, self.seed = monkeypatch, folder, seed
        shapes = self.chance.sample(SHAPES, 9)
        self.running = {shape.name: shape for shape in shapes[:2]}
        self.waiting = shapes[2:]
        self.created: dict[str, int] = {}
        self.shards = self.chance.choice([2, 3])
        self.beginning = with_files(STREAMS) + SELLERS + "\n".join(shape.sql for shape in shapes[:2])
        for name in NAMES:
            (folder / name).mkdir()
        self.whole = EmbeddedDatabase()
        self.whole.execute(STREAMS + SELLERS + "\n".join(shape.sql for shape in shapes))
        self.restart()

    def restart(self) -> None:
        if hasattr(self, "db"):
            if self.chance.random() < 0.5:
                shutil.rmtree(self.db._running().arenas, ignore_errors=True)
                return
            self.db.close()
        self.db = connected(self.patch, self.folder, self.beginning, self.shards)
        self.db.start()

    def play(self) -> None:
        pieces = {name: list(make_rows(self.seed, 40)[name]) for name in NAMES}
        number = 0
        while left := [name for name, rows in pieces.items() if rows]:
            dice = self.chance.random()
            if dice < 0.25 and self.waiting:
                self.create(self.waiting.pop(self.chance.randrange(len(self.waiting))))
            elif dice < 0.35 and len(self.running) > 1:
                self.drop(self.running.pop(self.chance.choice(list(self.running))))
            elif dice < 0.45:
                self.restart()
            elif dice < 0.5:
                query_of(self.db).crash = (1, self.chance.randrange(self.shards))
            else:
                name, size, number = self.chance.choice(left), self.chance.randint(1, 9), number + 1
                self.whole.push(name, pieces[name][:size])
                lines = (",".join(map(cell, row)) + "\n" for row in pieces[name][:size])
                (self.folder / name / f"{number:03d}.csv").write_text("".join(lines))
                del pieces[name][:size]

    def drain(self) -> None:
        try:
            self.db.drain()
        except Crash:
            self.db.drain()

    def create(self, shape: Shape) -> None:
        self.drain()
        self.created[shape.name] = self.whole._running().now
        self.db.execute(shape.sql)
        self.running[shape.name] = shape

    def drop(self, shape: Shape) -> None:
        self.drain()
        for statement in reversed(shape.sql.splitlines()):
            self.db.execute(f"DROP VIEW {statement.split()[3]}")
        self.waiting.append(shape)

    def check(self) -> int:
        """How many views were checked: those that are complete before the end."""
        self.drain()
        clocks = self.whole._running()._shard.clocks.of_streams
        end, checked = min(clocks[name] for name in NAMES if name in clocks), 0
        for view in self.running:
            since = self.db.complete_since(view)
            at = BEGINNING if since is None else (since - datetime(1970, 1, 1)) // timedelta(microseconds=1)
            at = max(at, self.created.get(view, BEGINNING))
            if since is not None and at < end:
                found = from_arrow(pq.read_table(self.folder / f"out/{view}.changes.parquet"))
                assert seen_from(found, at, end) == seen_from(from_arrow(self.whole.changes(view)), at, end), view
                assert Counter(map(repr, self.db.view(view).to_pylist())) == Counter(map(repr, self.whole.view(view).to_pylist())), view
                checked += 1
        return checked


@pytest.mark.parametrize("seed", [102, 125])
def test_views_come_and_go_on_shards(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, seed: int) -> None:
    run = Run(monkeypatch, tmp_path, seed)
    run.play()
    assert run.check() > 0
    run.db.close()
