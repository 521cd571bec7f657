"""A job with exchanges, joins and a table, and its files, with late rows, bad rows and NULLs."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from sash.database.on_spark import SparkDatabase
from sash.testing.tables import Change, from_arrow

JOB = """
CREATE STREAM conn (ts TIMESTAMP, src STRING, dst STRING, bytes BIGINT, load DOUBLE)
  TIMESTAMP BY ts DELAY 3 SECONDS WITH (format = 'csv', path = 'conn', header = 'true');
CREATE STREAM alarm (ts TIMESTAMP, host STRING, level INT)
  TIMESTAMP BY ts WITH (format = 'json', path = 'alarm.json');
CREATE TABLE hosts (host STRING, owner STRING) WITH (format = 'csv', path = 'hosts.csv', header = 'true');
CREATE MATERIALIZED VIEW talkers AS
  SELECT src, COUNT(*) AS n, SUM(bytes) AS bytes, AVG(load) AS load FROM conn [RANGE 20 SECONDS] GROUP BY src;
CREATE MATERIALIZED VIEW total AS SELECT COUNT(*) AS n, SUM(load) AS load FROM conn [RANGE 20 SECONDS];
CREATE MATERIALIZED VIEW seen AS
  SELECT c.dst, a.level, c.bytes FROM conn [RANGE 10 SECONDS] c JOIN alarm [RANGE 30 SECONDS] a ON c.dst = a.host
  WHERE c.bytes > 20;
CREATE MATERIALIZED VIEW owners AS
  SELECT h.owner, COUNT(*) AS n FROM conn [RANGE 15 SECONDS] c JOIN hosts h ON c.src = h.host GROUP BY h.owner;
"""
VIEWS = ("talkers", "total", "seen", "owners")


def write_files(folder: Path) -> None:
    random = np.random.default_rng(5)
    (folder / "conn").mkdir()
    for number in range(3):
        seconds = number * 100 + np.arange(150) * 2 / 3 - random.integers(0, 5, 150)
        lines = [
            f"{second:.6f},h{random.integers(6)},h{random.integers(6)},{random.integers(100)},{random.random()}"
            for second in seconds
        ]
        text = "\n".join(["ts,src,dst,bytes,load", *lines, f"{number},h1,,x,"])
        path = folder / f"conn/{number}.csv"
        path.write_text(f"{text}\n")
        os.utime(path, (number + 1, number + 1))
    seconds = range(0, 300, 7)
    alarms = [f'{{"ts": {second}, "host": "h{random.integers(8)}", "level": {second % 3}}}' for second in seconds]
    (folder / "alarm.json").write_text("\n".join(alarms))
    (folder / "hosts.csv").write_text("host,owner\nh0,ann\nh1,bob\nh2,ann\nh3,\n")


def database(
    session: SparkSession | Callable[[], SparkSession], folder: Path, batch_rows: int, tell: Callable[[int], object] = id,
    shards: int = 2, *, flush: bool = True,
) -> SparkDatabase:
    """The job over the files beside the folder; `tell` hears of every batch."""
    db = SparkDatabase(
        session, checkpoint=folder / "cp", output=folder / "out", shards=shards, batch_rows=batch_rows, base=folder.parent,
        on_progress=lambda progress: tell(progress.batch), flush=flush,
    )  # fmt: skip
    db.execute(JOB)
    return db


def played(
    session: SparkSession | Callable[[], SparkSession], folder: Path, batch_rows: int, tell: Callable[[int], object] = id,
    shards: int = 2,
) -> None:
    """The same, to its end."""
    db = database(session, folder, batch_rows, tell, shards)
    db.run()
    db.write_answers()


def changelogs(folder: Path) -> dict[str, list[Change]]:
    """What the job has written there."""
    return {name: from_arrow(pq.read_table(folder / f"{name}.changes.parquet")) for name in VIEWS}
