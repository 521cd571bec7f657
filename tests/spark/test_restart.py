"""A restart depends on the state of a job, not on its history: neither on its batches, nor on what was said to it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_outputs import often
from without_spark import AtOnce, PlayedFrame, connected, query_of

from sash.database.embedded import EmbeddedDatabase
from sash.database.on_spark import SparkDatabase
from sash.errors import SashError
from sash.folders.folder import Folder
from sash.schema import SECOND
from sash.spark import folding, planner, tidying
from sash.spark.checkpoint import events_after
from sash.spark.sealed import SealedFolder

pytestmark = pytest.mark.laws  # hundreds of batches
assert often  # a fixture
BATCHES = int(os.environ.get("SASH_RESTART_BATCHES", "240"))  # of the longer history
STREAM = "CREATE STREAM s (ts TIMESTAMP, k STRING) TIMESTAMP BY ts"
REST = """
CREATE TABLE t (k STRING, name STRING, weight DOUBLE);
CREATE MATERIALIZED VIEW v AS SELECT t.name, COUNT(*) AS n, SUM(t.weight) AS w FROM s [RANGE 9999 DAYS] s JOIN t ON s.k = t.k GROUP BY t.name;
"""
SQL = f"{STREAM} WITH (format = 'csv', path = 's');\n{REST}"
ROWS = [(1, "ann"), (2, "bob"), (3, "ann")]


def statement(number: int) -> str:
    """Of every second batch the table is as it was; it never has more than a few rows."""
    key, name = ("ann", "bob", "cid")[number // 2 % 3], f"n{number // 2 % 5}"
    if number % 2:
        return f"DELETE FROM t WHERE k = '{key}' AND name = '{name}'"
    return f"INSERT INTO t VALUES ('{key}', '{name}', {number % 7}.5), ('{key}', '{name}', NULL)"


def said(db: SparkDatabase, numbers: range) -> None:
    """A batch for every statement."""
    for number in numbers:
        db.execute(statement(number))
        db.advance((number + 10) * SECOND)
        query_of(db).processAllAvailable()


def embedded(count: int) -> EmbeddedDatabase:
    db = EmbeddedDatabase()
    db.execute(f"{STREAM};\n{REST}")
    db.push("s", ROWS)
    for number in range(count):
        db.execute(statement(number))
        db.advance((number + 10) * SECOND)
    return db


@contextmanager
def reads(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The files that are read, and the names that are listed."""
    found: list[str] = []
    read, names = Folder.read, Folder.names

    def reading(folder: Folder, name: str) -> object:
        found.append(f"{folder.place}/{name}")
        return read(folder, name)

    def listing(folder: Folder) -> list[str]:
        listed = names(folder)
        found.extend(f"{folder.place}/{name}" for name in listed)
        return listed

    with monkeypatch.context() as patch:
        patch.setattr(Folder, "read", reading)
        patch.setattr(Folder, "names", listing)
        yield found


@pytest.mark.usefixtures("often")
def test_a_restart_reads_as_much_after_many_batches_as_after_few(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("os.fsync", lambda descriptor: None)
    monkeypatch.setattr(tidying, "Thread", AtOnce)
    monkeypatch.setattr(folding, "LEAST", 8)
    (tmp_path / "s").mkdir()
    (tmp_path / "s/0.csv").write_text("".join(f"{ts},{k}\n" for ts, k in ROWS))
    db = connected(monkeypatch, tmp_path, SQL, shards=1)
    db.start()
    query_of(db).processAllAvailable()
    counts, done = [], 0
    for count in (40, BATCHES):
        said(db, range(done, count))
        db.close()
        kept = {int(path.name) for path in (tmp_path / "point/spark/commits").iterdir()}
        for old in sorted(kept)[:-10]:  # as Spark does
            for kind in ("commits", "offsets"):
                (tmp_path / f"point/spark/{kind}/{old}").unlink()
        db = connected(monkeypatch, tmp_path, SQL, shards=1)
        with reads(monkeypatch) as found:
            db.start()
            said(db, range(count, count + 1))
        whole = embedded(count + 1)
        assert db.view("v").to_pylist() == whole.view("v").to_pylist()
        assert pq.read_table(tmp_path / "out/v.changes.parquet").num_rows == whole.changes("v").num_rows > count // 2
        counts.append(len(found))
        done = count + 1
    assert counts[1] <= 2 * counts[0], counts  # it depends on when the last snapshots were taken
    assert len(list((tmp_path / "point/control").iterdir())) < 30 and len(list((tmp_path / "point/tables").iterdir())) < 30
    assert [path.name for path in (tmp_path / "point/tables").iterdir() if path.name.startswith("net-")]
    db.close()


def test_a_commit_without_its_offsets_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A loss of power can leave that of Spark's log; rows were read twice."""
    (tmp_path / "s").mkdir()
    (tmp_path / "s/0.csv").write_text("".join(f"{ts},{k}\n" for ts, k in ROWS))
    db = connected(monkeypatch, tmp_path, SQL)
    db.start()
    said(db, range(3))
    db.close()
    last = max(int(path.name) for path in (tmp_path / "point/spark/commits").iterdir())
    (tmp_path / f"point/spark/offsets/{last}").unlink()
    with pytest.raises(SashError, match=f"offsets/{last} is missing"):
        connected(monkeypatch, tmp_path, SQL).start()


def test_a_version_of_the_job_that_is_lost_while_it_runs_is_not_taken_for_one_that_never_was(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The next statement would take its number, and no shard would see anything new in it."""
    (tmp_path / "s").mkdir()
    db = connected(monkeypatch, tmp_path, SQL)
    db.start()
    db.execute("CREATE MATERIALIZED VIEW more AS SELECT k FROM s [RANGE 1 DAY]")
    newest = max((tmp_path / "point" / "jobs").iterdir())
    whole = newest.read_bytes()
    newest.unlink()
    with pytest.raises(SashError, match=f"{newest.name} is missing"):
        db.execute("CREATE MATERIALIZED VIEW last AS SELECT DISTINCT k FROM s [RANGE 1 DAY]")
    db.close()
    newest.write_bytes(whole)  # from a copy
    with connected(monkeypatch, tmp_path, SQL) as db:
        db.start()
        db.execute("CREATE MATERIALIZED VIEW last AS SELECT DISTINCT k FROM s [RANGE 1 DAY]")
        assert db.view("last").to_pylist() == db.view("more").to_pylist() == []


def test_drain_waits_for_an_event_that_the_store_does_not_show_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It would be taken with rows that came later, which are late after it."""
    (tmp_path / "s").mkdir()
    (tmp_path / "s/0.csv").write_text("1970-01-01 00:00:01,ann\n")
    with connected(monkeypatch, tmp_path, SQL) as db:
        db.start()
        db.drain()
        shown, hidden = planner.events_after, [()]
        monkeypatch.setattr(planner, "events_after", lambda *asked: hidden.pop() if hidden else shown(*asked))
        db.advance(20 * SECOND)
        db.drain()
        assert not hidden
        (tmp_path / "s/1.csv").write_text("1970-01-01 00:00:09,bob\n")
        db.drain()
        assert db.late("s").num_rows == 1
        monkeypatch.setattr(planner, "events_after", lambda *asked: ())
        monkeypatch.setattr("sash.spark.running_job.PATIENCE", 0.5)
        db.advance(30 * SECOND)
        with pytest.raises(SashError, match="no batch has taken it up"):
            db.drain()


def test_a_run_does_not_end_without_the_end_that_the_store_does_not_show_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Only when its DataFrames are drained the end is asked for; who did not see it left out the last changes."""
    came = pa.table({"ts": pa.array([SECOND, 2 * SECOND], pa.timestamp("us")), "k": ["ann", "bob"]})
    sql = "CREATE STREAM s (ts TIMESTAMP, k STRING) TIMESTAMP BY ts DELAY 5 SECONDS; CREATE MATERIALIZED VIEW v AS SELECT k FROM s [ROWS 5]"
    shown, hidden = planner.events_after, list[object]()

    def seen(folder: SealedFolder, after: int) -> object:
        found = list(shown(folder, after))
        if any("end" in event for event in found) and not hidden:
            hidden.append(found)
            return ()
        return found

    monkeypatch.setattr(planner, "events_after", seen)
    with connected(monkeypatch, tmp_path, sql) as db:
        db.stream("s", PlayedFrame([came]))
        db.run()
        assert hidden and db.final("v").to_pylist() == [{"k": "ann"}, {"k": "bob"}]


def test_a_version_of_the_job_that_is_asked_for_twice_comes_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A driver slept before it asked; the one after it found the version on record and asked itself. Shards that a view has brought
    began anew in the middle, with nothing in their windows, and rows that they had shown never left."""
    job = f"{STREAM} WITH (format = 'csv', path = 's');" + "CREATE MATERIALIZED VIEW counts AS SELECT k, COUNT(*) AS n FROM s [RANGE 5 SECONDS] GROUP BY k;"
    found = []
    for times in (1, 2):
        folder = tmp_path / str(times)
        (folder / "s").mkdir(parents=True)
        (folder / "s/a.csv").write_text("1,ann\n2,bob\n3,bob\n")
        db = connected(monkeypatch, folder, job, shards=2)
        db.start()
        db.drain()
        db.execute("CREATE MATERIALIZED VIEW last AS SELECT * FROM counts [ROWS 2]")
        checkpoint = db._running()._checkpoint
        (event,) = (event for event in events_after(checkpoint.folder, 0) if "job" in event)
        for _ in range(times - 1):
            checkpoint.ask(event)
        db.close()
        db = connected(monkeypatch, folder, job, shards=2)
        db.start()
        db.drain()
        (folder / "s/b.csv").write_text("4,ann\n5,cid\n6,dan\n")
        db.drain()
        db.stop()
        db.run()
        rows = pq.read_table(folder / "out/last.changes.parquet").to_pylist()
        found.append(sorted(map(str, rows)))
        db.close()
    assert found[0] == found[1]
    assert sum("'_op': -1" in row for row in found[0]) >= 2
