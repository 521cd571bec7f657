"""Live answers on Spark come with a batch while somebody reads, and else from the state as it is; never by a job of their own."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from without_spark import connected, query_of

from sash.database.embedded import EmbeddedDatabase
from sash.database.on_spark import SparkDatabase
from sash.errors import SashError
from sash.spark import reading
from sash.spark.looking import READING
from sash.spark.shard_task import ShardTask

STREAMS = """
CREATE STREAM a (ts TIMESTAMP, k STRING, v BIGINT) TIMESTAMP BY ts DELAY 8 SECONDS{a};
CREATE STREAM b (ts TIMESTAMP, k STRING, v BIGINT) TIMESTAMP BY ts DELAY 5 SECONDS{b};
"""
VIEWS = {
    "counts": "SELECT k, COUNT(*) AS n, SUM(v) AS s FROM a [RANGE 20 SECONDS] GROUP BY k",
    "again": "SELECT k, COUNT(*) AS n, SUM(v) AS s FROM a [RANGE 20 SECONDS] GROUP BY k",
    "sums": "SELECT a.v % 3 AS part, COUNT(*) AS n, MAX(b.v) AS m FROM a [RANGE 9 SECONDS] JOIN b [RANGE 9 SECONDS] ON a.k = b.k"
    " GROUP BY a.v % 3",
    "total": "SELECT COUNT(*) AS n FROM (SELECT part, COUNT(*) AS c FROM (SELECT v % 5 AS part FROM b [RANGE 15 SECONDS]) GROUP BY part)",
    "best": "SELECT k, v FROM b [ROWS 7] ORDER BY v DESC LIMIT 3",
}
CREATED = "".join(f"CREATE MATERIALIZED VIEW {name} AS {query};\n" for name, query in VIEWS.items())


class Pair:
    """The same rows, in this process and on shards."""

    def __init__(self, patch: pytest.MonkeyPatch, folder: Path, seed: int, shards: int = 2) -> None:
        self._chance, self._folder, self._number = random.Random(seed), folder, 0
        self._time = 100
        self.embedded = EmbeddedDatabase()
        self.embedded.execute(STREAMS.format(a="", b="") + CREATED)
        sources = {name: f" WITH (format = 'csv', path = '{name}')" for name in "ab"}
        for name in sources:
            (folder / name).mkdir()
        self.reopen = lambda: connected(patch, folder, STREAMS.format(**sources) + CREATED, shards=shards)
        self.spark: SparkDatabase = self.reopen()
        self.spark.start()

    def step(self) -> None:
        """Some rows of either stream, out of order, some of them late, or none."""
        self._time += self._chance.randrange(6)
        self._number += 1
        for stream in "ab":
            count = self._chance.choice([0, 1, 5, 30])
            rows = [
                (self._time + self._chance.randrange(-9, 4), self._chance.choice(["x", "y", "z", ""]), self._chance.randrange(50))
                for _ in range(count)
            ]
            self.embedded.push(stream, [(ts, k or None, v) for ts, k, v in rows])
            text = "".join(f"1970-01-01 00:{ts // 60:02}:{ts % 60:02},{k},{v}\n" for ts, k, v in rows)
            (self._folder / stream / f"{self._number:04}.csv").write_text(text)
        query_of(self.spark).processAllAvailable()

    def check(self, *names: str) -> None:
        for name in names or VIEWS:
            own, theirs = self.embedded.view(name), self.spark.view(name)
            assert theirs.to_pylist() == own.to_pylist(), name
            assert (theirs.as_of, theirs.is_final) == (own.as_of, own.is_final), name
            assert self.spark.final(name).to_pylist() == self.embedded.final(name).to_pylist(), name


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The versions at which the state was asked in this process."""
    found: list[int] = []
    look = ShardTask.look

    def noted(keeper: ShardTask, version: int, marked: object) -> object:
        found.append(version)
        return look(keeper, version, marked)  # type: ignore[arg-type]

    monkeypatch.setattr(ShardTask, "look", noted)
    return found


@pytest.mark.parametrize(("seed", "shards"), [(1, 1), (2, 2), (3, 3), (4, 2)])
def test_what_comes_with_a_batch_is_what_the_embedded_engine_answers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, looks: list[int], seed: int, shards: int
) -> None:
    pair = Pair(monkeypatch, tmp_path, seed, shards)
    pair.step()
    pair.check()
    assert looks  # the first batch came before anybody read
    looks.clear()
    for _ in range(12):
        pair.step()
        pair.check()
    assert looks == []
    pair.spark.close()


def test_a_job_that_nobody_reads_is_not_asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, looks: list[int]
) -> None:
    told: list[bool] = []
    monkeypatch.setattr("sash.spark.shard_task.looked", lambda *given: told.append(True) or [])
    pair = Pair(monkeypatch, tmp_path, 5)
    for _ in range(4):
        pair.step()
        pair.spark.final("counts")
    assert not told and not (tmp_path / "point" / READING).exists()
    pair.spark.close()


def test_readers_that_have_gone_cost_nothing_and_may_come_back(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, looks: list[int]
) -> None:
    pair = Pair(monkeypatch, tmp_path, 6)
    pair.step()
    pair.check("sums")
    pair.step()
    assert (tmp_path / "point" / READING).exists()
    with monkeypatch.context() as later:
        later.setattr(reading, "FOR", 0.0)
        pair.step()
    assert not (tmp_path / "point" / READING).exists()
    looks.clear()
    pair.check()  # the batch brought nothing, so that the state is asked; once for all views
    assert len(looks) == 2 * max(view.level for view in pair.spark._running().job.views)
    pair.step()
    looks.clear()
    pair.check()
    assert looks == []
    pair.spark.close()


def test_a_view_is_read_after_the_end_of_the_query_and_before_the_next(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pair = Pair(monkeypatch, tmp_path, 7)
    for _ in range(3):
        pair.step()
    pair.spark.stop()
    pair.check()
    pair.spark.close()
    pair.spark = pair.reopen()
    pair.check()
    pair.spark.start()
    pair.check()
    pair.step()
    pair.check()
    pair.spark.close()


def test_a_file_that_a_dead_driver_left_is_taken_away(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pair = Pair(monkeypatch, tmp_path, 8)
    pair.step()
    pair.check()
    pair.step()
    assert (tmp_path / "point" / READING).exists()
    pair.spark.stop()  # and no more is heard of it
    pair.spark = pair.reopen()
    pair.spark.start()
    pair.step()
    assert not (tmp_path / "point" / READING).exists()
    pair.check()
    pair.spark.close()


def test_what_only_some_shards_told_is_not_taken_for_the_whole(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, looks: list[int]
) -> None:
    """A shard gives the answer that it gave to an earlier driver, when nobody read."""
    pair = Pair(monkeypatch, tmp_path, 9)
    pair.step()
    pair.check()
    answers = iter([True, False] * 50)
    monkeypatch.setattr("sash.spark.shard_task.is_somebody_reading", lambda checkpoint: next(answers))
    pair.step()
    looks.clear()
    pair.check()
    assert looks
    pair.spark.close()


def test_views_come_and_go_while_somebody_reads(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pair = Pair(monkeypatch, tmp_path, 10)
    pair.step()
    pair.check()
    for db in (pair.embedded, pair.spark):
        db.execute("CREATE MATERIALIZED VIEW late AS SELECT b.k, COUNT(*) AS n FROM a [RANGE 9 SECONDS] JOIN b [RANGE 5 SECONDS] ON a.k = b.k GROUP BY b.k")
        db.execute("DROP VIEW sums")
    names = [name for name in VIEWS if name != "sums"]
    for _ in range(6):
        pair.step()
        pair.check(*names, "late")
    with pytest.raises(SashError, match="unknown view"):
        pair.spark.view("sums")
    pair.spark.close()
