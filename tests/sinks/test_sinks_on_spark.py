"""Sinks of a job on Spark, whose query is played in this process: by batch, over restarts, with two drivers."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as csv
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "spark"))

from tables import bag, plain, table
from without_spark import connected, query_of

from postgres_server import PostgresServer
from sash.database import sinks_on_spark
from sash.database.on_spark import SparkDatabase
from sash.errors import SashError, SqlError
from sash.testing.oracle import Oracle

JOB = """
CREATE STREAM s (ts TIMESTAMP, k STRING, v BIGINT) TIMESTAMP BY ts WITH (format = 'csv', path = 'in');
CREATE MATERIALIZED VIEW counts AS SELECT k, COUNT(*) AS n, SUM(v) AS total FROM s [RANGE 10 SECONDS] GROUP BY k;
CREATE MATERIALIZED VIEW plain AS SELECT k, v FROM s [RANGE 10 SECONDS];
"""


def rows(start: int, count: int) -> list[tuple[Any, ...]]:
    first = datetime(2026, 1, 1)
    return [(first + timedelta(milliseconds=500 * n), f"k{n * 7 % 5}" if n % 4 else None, n) for n in range(start, start + count)]


def put(folder: Path, start: int, count: int) -> None:
    """One more file."""
    (folder / "in").mkdir(exist_ok=True)
    columns = zip(*rows(start, count), strict=True)
    data = pa.table([pa.array(column) for column in columns], names=["ts", "k", "v"])
    csv.write_csv(data, folder / "in" / f"{start:06d}.csv", csv.WriteOptions(include_header=False))


def sinks(server: PostgresServer) -> str:
    return f"""
        CREATE SINK a FROM counts TO POSTGRES WITH (dsn = '{server.dsn}', table = 'a');
        CREATE SINK b FROM plain TO POSTGRES WITH (dsn = '{server.dsn}', table = 'b', mode = 'changes');
    """


def connect(server: PostgresServer, folder: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> SparkDatabase:
    return connected(monkeypatch, folder, JOB + sinks(server), batch_rows=10, **options)


def check(server: PostgresServer, db: SparkDatabase) -> None:
    """Both tables are what the views say: by the driver, and by the files of the outputs."""
    answer = db.final("counts").to_arrow()
    assert table(server, "a", answer.column_names) == bag(answer)
    changes = pa.concat_tables(db._running().ledger.read_all("plain.changes.parquet"))
    assert table(server, "b", changes.column_names) == bag(changes)


def die_before_commit(db: SparkDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver dies when a batch is on record and in the sinks, and Spark has not committed it."""
    query = query_of(db)
    monkeypatch.setattr(query, "_write_down", lambda kind, *rest: (_ for _ in ()).throw(SashError("dead")) if kind == "commits" else type(query)._write_down(query, kind, *rest))
    with pytest.raises(SashError, match="dead"):
        query.processAllAvailable()
    db.sinks.drain()
    db._running()._held.close()  # what the system does for who is dead


def test_a_job_that_stops_and_goes_on(server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some batches are written by the driver that ran them, some by the next one; each once. At the end it is what the oracle says."""
    put(tmp_path, 0, 30)
    db = connect(server, tmp_path, monkeypatch, flush=False)
    db.start()
    db.drain()
    check(server, db)
    server.execute("ALTER TABLE a RENAME TO away", "CREATE TABLE a (wrong int)")  # nothing can be written to it
    put(tmp_path, 1000, 15)
    query_of(db).processAllAvailable()
    with pytest.raises(SashError, match=r'sink "a" cannot write: .*has other columns: wrong integer'):
        while True:  # the first error is that of the statement
            with suppress(SashError):
                db.drain()
            db.drain()
    shown = db.execute("SHOW SINKS").to_arrow().to_pylist()  # type: ignore[union-attr]
    assert [one["waiting"] > 0 for one in shown] == [True, False] and shown[0]["failures"] > 0
    db.stop()
    server.execute("DROP TABLE a", "ALTER TABLE away RENAME TO a")
    db = connect(server, tmp_path, monkeypatch)
    db.run()
    check(server, db)
    oracle = Oracle(JOB, {"s": [*rows(0, 30), *rows(1000, 15)]})
    assert table(server, "a", ["k", "n", "total"]) == Counter({tuple(map(plain, row)): n for row, n in oracle.answer("counts").items()})
    assert len(server.rows("SELECT * FROM b")) == len(oracle.changelog("plain"))
    position = server.rows("SELECT target, position FROM sash_sinks ORDER BY target")
    db.run()  # it is finished
    assert server.rows("SELECT target, position FROM sash_sinks ORDER BY target") == position
    check(server, db)


def test_a_driver_that_dies_between_record_and_commit(server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The batch is answered again by the next one, and is in the tables already."""
    put(tmp_path, 0, 40)
    db = connect(server, tmp_path, monkeypatch, flush=False)
    db.start()
    die_before_commit(db, monkeypatch)
    count = len(server.rows("SELECT * FROM b"))
    again = connect(server, tmp_path, monkeypatch, flush=False)
    again.start()
    again.drain()
    check(server, again)
    assert len(server.rows("SELECT * FROM b")) >= count > 0
    put(tmp_path, 40, 20)
    again.drain()
    check(server, again)
    with pytest.raises(SashError, match=r'sink "a" cannot write: another run has taken over table public.a'):
        (one,) = [runner for runner in db.sinks.runners() if runner.name == "a"]
        one._is_begun = False  # as after a failure: it looks how far it is
        one.drain()
    db.sinks.stop()
    again.close()


def test_changes_that_are_not_kept_are_waited_for(server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch whose changes would be dropped fails if they cannot be written, and comes again."""
    monkeypatch.setattr(sinks_on_spark, "PATIENCE", 1.0)
    put(tmp_path, 0, 20)
    db = connect(server, tmp_path, monkeypatch, flush=False, history="none")
    db.start()
    db.drain()
    count = len(server.rows("SELECT * FROM b"))
    server.kill()
    try:
        put(tmp_path, 20, 30)
        with pytest.raises(SashError, match=r'sink "b" (cannot write: PostgreSQL|has not written everything)'):
            query_of(db).processAllAvailable()
        db.stop()
    finally:
        server.start()
    again = connect(server, tmp_path, monkeypatch, history="none")
    again.run()
    changes = server.rows("SELECT k, v, _op FROM b")
    net = Counter()  # type: ignore[var-annotated]
    for *row, op in changes:
        net[tuple(row)] += op
    assert len(changes) == len(Oracle(JOB, {"s": rows(0, 50)}).changelog("plain")) > count
    assert {row for row, n in net.items() if n} == set(bag(again.final("plain").to_arrow()))
    again.close()


def test_sinks_come_and_go_while_the_job_runs(server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, 0, 30)
    db = connected(monkeypatch, tmp_path, JOB, batch_rows=10, flush=False)
    db.start()
    db.drain()
    db.execute(sinks(server))
    db.drain()
    check(server, db)
    with pytest.raises(SqlError, match=r'view "counts" is read by: a \(sink\)'):
        db.execute("DROP VIEW counts")
    db.execute("DROP SINK a; DROP VIEW counts")
    db.execute("CREATE MATERIALIZED VIEW counts AS SELECT k, COUNT(*) AS n, SUM(v) AS total FROM s [RANGE 5 SECONDS] GROUP BY k")
    db.execute(sinks(server).split(";")[0])
    put(tmp_path, 30, 10)
    db.drain()
    check(server, db)
    secrets = [path for path in (tmp_path / "point").rglob("*") if path.is_file() and b"postgresql://" in path.read_bytes()]
    assert not secrets  # a checkpoint does not know of sinks
    db.close()
