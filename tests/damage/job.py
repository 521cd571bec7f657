"""A small job that leaves every kind of file, stopped or killed half way, and how it goes on."""

from __future__ import annotations

import shutil
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sash.database import on_spark as spark_database
from sash.database.on_spark import SparkDatabase
from sash.runtime.packets import Cargo
from sash.spark.outputs import output_name
from sash.spark.trials import shown

sys.path.insert(0, str(Path(__file__).parents[1] / "spark"))
from without_spark import Crash, PlayedHost, query_of

SQL = """
CREATE STREAM s (ts TIMESTAMP, k STRING, v INT) TIMESTAMP BY ts DELAY 1 SECONDS WITH (format = 'csv', path = 'in/*.csv');
CREATE TABLE t (k STRING, name STRING);
CREATE MATERIALIZED VIEW counts AS SELECT k, COUNT(*) AS n, SUM(v) AS v FROM s [RANGE 9 SECONDS] GROUP BY k;
CREATE MATERIALIZED VIEW named AS SELECT s.v, t.name FROM s [RANGE 6 SECONDS] s JOIN t ON s.k = t.k;
"""
EARLY = "INSERT INTO t VALUES ('a', 'ann'), ('b', 'bob');"
LATER = "CREATE MATERIALIZED VIEW spread AS SELECT n, COUNT(*) AS keys FROM (SELECT k, COUNT(*) AS n FROM s [RANGE 7 SECONDS] GROUP BY k) GROUP BY n;"
AGAIN = "DROP VIEW named; CREATE MATERIALIZED VIEW named AS SELECT s.v + 1 AS v, t.name FROM s [RANGE 5 SECONDS] s JOIN t ON s.k = t.k;"
STAGES = 4


class SmallHost(PlayedHost):
    """Snapshots come often."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._settings = replace(self._settings, snapshot_every=4)

    def drain(self) -> None:
        assert self._query is not None
        self._query.processAllAvailable()


@contextmanager
def played(base: Path) -> Iterator[None]:
    """Without a JVM, and with nothing outside of this folder."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.setattr(spark_database, "SparkHost", SmallHost)
        patch.setattr("os.fsync", lambda descriptor: None)
        patch.setattr("tempfile.tempdir", str(base))
        warnings.simplefilter("ignore")  # of late rows
        yield


def connect(base: Path, folder: Path, batch_rows: int = 8) -> SparkDatabase:
    db = SparkDatabase(
        None, shards=2, checkpoint=folder / "point", output=folder / "out", base=base, batch_rows=batch_rows  # type: ignore[arg-type]
    )
    db.execute(SQL)
    return db


def write_rows(base: Path, number: int) -> None:
    """A file of rows; some are late, and one cannot be read."""
    (base / "in").mkdir(exist_ok=True)
    rows = [(10 * number + second + 1, "abcde"[(second * number) % 5], second % 4) for second in range(10)]
    lines = [f"{ts},{k},{v}\n" for ts, k, v in rows] + ["1,late,0\n", "no row\n"]
    (base / f"in/{number}.csv").write_text("".join(lines))


def begin(base: Path, folder: Path) -> None:
    """Run for a while; `folder`-N is a copy of how things stood at stage N. At the end, one is stopped and one killed."""
    db = connect(base, folder)
    db.execute(EARLY)
    for stage in range(STAGES):
        if stage == 1:
            db.execute(LATER)
            db.execute("INSERT INTO t VALUES ('c', 'cid'); DELETE FROM t WHERE k = 'b';")
        if stage == 2:
            db.close()
            db = connect(base, folder)
        write_rows(base, stage)
        if stage in (0, 2):
            db.start()
        db.drain()
        if stage == 2:
            db.execute(AGAIN)
        if stage == 3:
            db.execute("ADVANCE TO TIMESTAMP '1970-01-01 00:00:42'")
            db.drain()
        shutil.copytree(folder, f"{folder}-{stage}")
    write_rows(base, STAGES)
    db.drain()
    shutil.copytree(folder, f"{folder}-stopped")
    write_rows(base, STAGES + 1)
    query_of(db).crash = (2, 1)
    try:
        db.drain()
    except Crash:
        shutil.copytree(folder, f"{folder}-killed")
    db.close()
    (base / "in/0.csv").unlink()  # archived
    write_rows(base, STAGES + 2)


def go_on(base: Path, folder: Path) -> dict[str, str]:
    """Restart, and run to the end; what all views say, and said."""
    db = connect(base, folder, 40)
    try:
        db.execute("INSERT INTO t VALUES ('d', 'dan'); DELETE FROM t WHERE k = 'a';")
        db.run()
        db.write_answers()
        host = db._started()
        told = {f"complete since {view.name}": str(db.complete_since(view.name)) for view in shown(host.job)}
        for view in shown(host.job):
            told[f"changes of {view.name}"] = _text(pa.concat_tables(host.ledger.read_all(output_name(view.name, Cargo.CHANGES))))
            told[f"answer of {view.name}"] = _text(host.final(view.name))
        return told
    finally:
        db.close()


def _text(table: pa.Table) -> str:
    return "\n".join(sorted(map(str, table.to_pylist())))
