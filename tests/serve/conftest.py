"""A real `sash serve` process for clients, and doors in this process for tests that look behind them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import sash
from sash.serve.door import Door

JOB = """
CREATE STREAM s (ts TIMESTAMP, k STRING, v BIGINT) TIMESTAMP BY ts WITH (format = 'csv', path = 's.csv', header = 'true');
CREATE TABLE names (k STRING, label STRING, price DECIMAL(10, 2), day DATE) RETROACTIVE;
CREATE MATERIALIZED VIEW totals AS
  SELECT k, COUNT(*) AS n, SUM(v) AS total, AVG(v) AS mean, MAX(ts) AS latest, COUNT(*) > 1 AS is_many, COLLECT_LIST(v) AS list
  FROM s [RANGE 1 HOUR] GROUP BY k;
CREATE MATERIALIZED VIEW `Odd "name"` AS SELECT k AS `Key`, v FROM s [RANGE 1 HOUR] WHERE v IS NULL OR v > 2;
CREATE VIEW big AS SELECT k, total FROM totals WHERE total > 3;
"""
ROWS = "ts,k,v\n2024-01-01 00:00:00,a,1\n2024-01-01 00:00:01.5,a,4\n2024-01-01 00:00:02,b,2\n2024-01-01 00:00:03,it's,\n"


@dataclass(frozen=True)
class Serving:
    """Where a server is, and the process that it is."""

    port: int
    flight_port: int
    process: subprocess.Popen[str]

    @property
    def url(self) -> str:
        return f"postgresql://reader@127.0.0.1:{self.port}/sash"


def write_job(folder: Path) -> Path:
    (folder / "s.csv").write_text(ROWS)
    (folder / "job.sql").write_text(JOB)
    return folder / "job.sql"


@pytest.fixture(scope="session")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    job = write_job(tmp_path_factory.mktemp("serve"))
    words = [sys.executable, "-m", "sash.cli.main", "serve", str(job), "--port", "0", "--flight-port", "0", "--grant", "change"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    try:
        told = ""
        while "Ctrl-C" not in told:
            line = process.stdout.readline()  # type: ignore[union-attr]
            assert line, process.stderr.read()  # type: ignore[union-attr]
            told += line
        while "still served" not in (line := process.stderr.readline()):  # type: ignore[union-attr]
            assert line
        port, flight = (int(found) for found in re.findall(r"//127\.0\.0\.1:(\d+)(?:/sash$|$)", told, re.M))
        yield Serving(port, flight, process)
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0


@pytest.fixture(scope="module")
def db() -> Iterator[sash.Database]:
    with sash.connect() as database:
        database.execute(
            "CREATE STREAM s (ts TIMESTAMP, k STRING, v BIGINT) TIMESTAMP BY ts;"
            "CREATE TABLE t (k STRING, label STRING) RETROACTIVE;"
            "CREATE MATERIALIZED VIEW totals AS SELECT k, SUM(v) AS total FROM s [RANGE 1 HOUR] GROUP BY k"
        )
        database.push("s", [("2024-01-01 00:00:00", "a", 1), ("2024-01-01 00:00:01", "b", 2)])
        yield database


@pytest.fixture(scope="module")
def door(db: sash.Database) -> Iterator[Door]:
    with db.serve(0, flight_port=0) as opened:
        yield opened
