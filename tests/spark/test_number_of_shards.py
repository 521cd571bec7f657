"""A checkpoint keeps the number of its shards, unless somebody asks for another. (Played without a JVM.)"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from without_spark import connected

from sash.database.embedded import EmbeddedDatabase
from sash.database.on_spark import SparkDatabase
from sash.errors import SashError
from sash.spark import resharding
from sash.testing.comparing import assert_same
from sash.testing.tables import from_arrow

JOB = """
CREATE STREAM s (ts TIMESTAMP, k STRING, v INT) TIMESTAMP BY ts WITH (format = 'csv', path = 's');
CREATE MATERIALIZED VIEW sums AS SELECT k, SUM(v) AS v FROM s [RANGE 5 SECONDS] GROUP BY k;
CREATE MATERIALIZED VIEW total AS SELECT COUNT(*) AS n FROM s [RANGE 7 SECONDS];
"""
MORE = """
CREATE TABLE t (k STRING, name STRING);
CREATE MATERIALIZED VIEW pairs AS SELECT a.k, a.v, b.v AS w FROM s [RANGE 3 SECONDS] a JOIN s [RANGE 6 SECONDS] b ON a.v = b.v - 4;
CREATE MATERIALIZED VIEW most AS SELECT n, COUNT(*) AS m FROM (SELECT k, COUNT(*) AS n FROM s [RANGE 9 SECONDS] GROUP BY k) GROUP BY n;
CREATE MATERIALIZED VIEW last AS SELECT k, v FROM s [ROWS 5];
CREATE MATERIALIZED VIEW rows AS SELECT k, v FROM s WHERE v % 3 = 0;
CREATE MATERIALIZED VIEW often AS SELECT k, COUNT(*) AS n FROM s [RANGE 8 SECONDS] GROUP BY k EMIT EVERY 4 SECONDS;
"""
EVER = "CREATE MATERIALIZED VIEW ever AS SELECT k, COUNT(*) AS n FROM s GROUP BY k;"
PARTS = [[(second, f"k{second % 4}", second) for second in range(first, first + 9)] for first in range(1, 28, 9)]


def put(folder: Path, number: int) -> None:
    (folder / "s").mkdir(exist_ok=True)
    (folder / f"s/{number}.csv").write_text("".join(f"{ts},{k},{v}\n" for ts, k, v in PARTS[number]))


def test_a_checkpoint_keeps_its_number_of_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever it is gone on with: what machine this is, nobody asks there, as there is no Spark."""
    for number, shards in enumerate([3, None, None]):
        put(tmp_path, number)
        db = connected(monkeypatch, tmp_path, JOB, shards=shards, flush=number == 2)
        db.run()
        assert db._running().job.shards == 3
        db.close()
    embedded = EmbeddedDatabase(base=tmp_path)
    embedded.execute(JOB)
    embedded.run()
    for name in ("sums", "total"):
        found = from_arrow(pq.read_table(tmp_path / f"out/{name}.changes.parquet"))
        assert_same(from_arrow(embedded.changes(name)), found)



def played(folder: Path, monkeypatch: pytest.MonkeyPatch, sql: str, shards: Sequence[int | None]) -> SparkDatabase:
    """A job that reads one part of the stream a run, each on another number of shards; what it has written is compared."""
    for number, count in enumerate(shards):
        put(folder, number)
        db = connected(monkeypatch, folder, sql, shards=count, flush=number == len(shards) - 1)
        db.run()
        db.close()
    embedded = EmbeddedDatabase(base=folder)
    embedded.execute(sql)
    embedded.run()
    for name in embedded.materialized():
        found = from_arrow(pq.read_table(folder / f"out/{name}.changes.parquet"))
        assert_same(from_arrow(embedded.changes(name)), found)
    return db


def state(folder: Path) -> set[str]:
    return {path.name for path in (folder / "point").iterdir() if path.name.startswith("shards")}


def test_the_state_is_spread_over_another_number_of_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played(tmp_path, monkeypatch, JOB, [2, 7, 3])
    assert state(tmp_path) == {"shards-2"}
    assert {path.name for path in (tmp_path / "point/shards-2/1").iterdir()} == {"0", "1", "2"}


def test_who_asks_for_no_number_gets_the_last_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played(tmp_path, monkeypatch, JOB, [2, 5, None])
    assert {path.name for path in (tmp_path / "point/shards-1/1").iterdir()} == set("01234")


@pytest.mark.parametrize("shards", [[3, 1, 2], [2, 2, 4]])
def test_joins_tables_and_levels_are_spread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shards: list[int]) -> None:
    played(tmp_path, monkeypatch, JOB + MORE, shards)


def test_what_is_no_longer_in_memory_cannot_be_spread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s/0.csv").write_text("".join(f"{second},k{second % 4},{second}\n" for second in range(-400, 1)))
    db = connected(monkeypatch, tmp_path, JOB + EVER, shards=2, flush=False)
    db.run()
    db.close()
    with pytest.raises(SashError, match='with 7 shards instead of 2: view "ever" holds what came of rows') as refused:
        connected(monkeypatch, tmp_path, JOB + EVER, shards=7).run()
    assert refused.value.hint.startswith("run with --shards 2, or leave it out")
    assert state(tmp_path) == {"shards"}
    put(tmp_path, 1)
    db = connected(monkeypatch, tmp_path, JOB + EVER, shards=None)
    db.run()
    assert sum(row["n"] for row in db.view("ever").to_pylist()) == 410


def test_a_job_for_one_shard_is_not_spread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, 0)
    connected(monkeypatch, tmp_path, JOB, shards=1, flush=False).run()
    with pytest.raises(SashError, match="with 2 shards instead of 1: its plan was made for one shard"):
        connected(monkeypatch, tmp_path, JOB, shards=2).run()


def test_who_dies_while_state_is_spread_leaves_it_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, 0)
    connected(monkeypatch, tmp_path, JOB, shards=2, flush=False).run()

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(resharding, "put_layout", die)
        with pytest.raises(KeyboardInterrupt):
            connected(monkeypatch, tmp_path, JOB, shards=7).run()
    assert state(tmp_path) == {"shards", "shards-1"}
    played(tmp_path, monkeypatch, JOB, [3, None, 2])


def test_views_that_came_later_are_spread_when_they_have_seen_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, 0)
    db = connected(monkeypatch, tmp_path, JOB, shards=2, flush=False)
    db.start()
    db.drain()
    db.execute("CREATE MATERIALIZED VIEW later AS SELECT k, COUNT(*) AS n FROM s [RANGE 6 SECONDS] GROUP BY k;")
    db.close()
    put(tmp_path, 1)
    with pytest.raises(SashError, match=r'view "later" came later, .*; it will have from 1970-01-01 00:00:09\.') as refused:
        connected(monkeypatch, tmp_path, JOB, shards=3, flush=False).run()
    assert "run with --shards 2" in str(refused.value)
    for number, shards in ((1, None), (2, 3)):
        put(tmp_path, number)
        db = connected(monkeypatch, tmp_path, JOB, shards=shards, flush=False)
        db.run()
        assert sum(row["n"] for row in db.view("later").to_pylist()) == 6
        db.close()
    assert state(tmp_path) == {"shards-1"}


def test_a_job_that_runs_is_spread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two batches, by one database, whose handle, readers and subscribers notice nothing."""
    put(tmp_path, 0)
    with connected(monkeypatch, tmp_path, JOB + MORE, shards=2, flush=False) as db:
        db.spread(4)  # it has not begun: it begins with them
        query = db.start()
        db.drain()
        assert {path.name for path in (tmp_path / "point/shards/1").iterdir()} == set("0123")
        for number, shards in ((1, 7), (2, 3)):
            answers = {name: db.view(name).to_pylist() for name in db.materialized()}
            db.spread(shards)
            assert query.isActive and state(tmp_path) == {f"shards-{number}"}
            assert {name: db.view(name).to_pylist() for name in db.materialized()} == answers
            put(tmp_path, number)
            db.drain()
            assert {path.name for path in (tmp_path / f"point/shards-{number}/1").iterdir()} == set("0123456"[:shards])
            assert db.metrics()["shards"]["moved"] == 0
        db.spread(3)
        db.drain()
        assert state(tmp_path) == {"shards-2"}  # it had them
        db.stop()
        db.spread(2)
        assert state(tmp_path) == {"shards-2"} and not query.isActive  # that counts when it begins again
    last = connected(monkeypatch, tmp_path, JOB + MORE, shards=5)
    last.run()
    embedded = EmbeddedDatabase(base=tmp_path)
    embedded.execute(JOB + MORE)
    embedded.run()
    for name in embedded.materialized():
        assert_same(from_arrow(embedded.changes(name)), from_arrow(pq.read_table(tmp_path / f"out/{name}.changes.parquet")))


def test_a_job_that_runs_and_cannot_be_spread_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s/0.csv").write_text("".join(f"{second},k{second % 4},{second}\n" for second in range(-400, 1)))
    with connected(monkeypatch, tmp_path, JOB + EVER, shards=2, flush=False) as db:
        query = db.start()
        db.drain()
        with pytest.raises(SashError, match='with 7 shards instead of 2: view "ever" holds what came of rows'):
            db.spread(7)
        assert query.isActive and query.exception() is None
        put(tmp_path, 1)
        db.drain()
        assert sum(row["n"] for row in db.view("ever").to_pylist()) == 410 and state(tmp_path) == {"shards"}
        for wrong in (0, -1, "3"):
            with pytest.raises(SashError, match=r"shards=.* makes no sense"):
                db.spread(wrong)  # type: ignore[arg-type]


def test_who_stops_a_job_that_is_spread_stops_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, 0)
    with connected(monkeypatch, tmp_path, JOB, shards=2, flush=False) as db:
        query = db.start()
        db.drain()
        host = db._running()
        spread_anew = host._spread_anew

        def stopped_meanwhile(committed: int) -> None:
            host.stop()
            spread_anew(committed)

        with monkeypatch.context() as patch:
            patch.setattr(host, "_spread_anew", stopped_meanwhile)
            db.spread(3)
        assert not host.is_running and not query.isActive
        db.start()
        db.drain()
        assert state(tmp_path) == {"shards-1"}


def test_who_interrupts_spreading_finds_the_job_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, 0)
    with connected(monkeypatch, tmp_path, JOB, shards=2, flush=False) as db:
        query = db.start()
        db.drain()
        host, interrupts = db._running(), [KeyboardInterrupt()]
        claim = host._claim

        def interrupted_once() -> None:
            if interrupts:
                raise interrupts.pop()
            claim()

        monkeypatch.setattr(host, "_claim", interrupted_once)
        with pytest.raises(KeyboardInterrupt):
            db.spread(3)
        assert query.isActive
        put(tmp_path, 1)
        db.drain()
        assert state(tmp_path) == {"shards"}
