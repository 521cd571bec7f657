"""`./run restarts [--batches N …] [--history H]`: how long a restart takes, and what lies on the disk, after so many batches.

A job whose state stays as it is: a file of a few rows for every batch, taken away when it has been read, and a statement on a table
now and then. It is played on the host without a JVM, which keeps what Spark keeps of its own logs, so that a hundred thousand batches
are a matter of an hour. A restart is timed from `connect` until its first batch is answered and a view is read, the least of five;
each time the process has the code compiled already, and nothing else.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from shutil import rmtree

import pytest

from sash.database.on_spark import SparkDatabase
from soak import measures

sys.path.insert(0, str(Path(__file__).parents[1] / "spark"))
from without_spark import connected, query_of

SQL = """
CREATE STREAM s (ts TIMESTAMP, k STRING, v INT) TIMESTAMP BY ts WITH (format = 'csv', path = 's/*');
CREATE TABLE t (k STRING, name STRING);
CREATE MATERIALIZED VIEW counts AS
  SELECT s.k, t.name, COUNT(*) AS n, SUM(v) AS v FROM s [RANGE 60 SECONDS] s JOIN t ON s.k = t.k GROUP BY s.k, t.name;
"""
KEYS = 20
ROWS = 3  # of a batch, which is a second of the stream's time
LEFT = 5  # files that lie in the stream's folder
EVERY = 16  # batches between two statements
TRIES = 5


@dataclass(frozen=True)
class Restart:
    """What was found after so many batches."""

    batches: int
    milliseconds: float
    of_processor: float
    checkpoint_files: int
    checkpoint_kilobytes: float
    output_files: int
    output_kilobytes: float


class Job:
    """The job, in a folder of its own."""

    def __init__(self, history: str, patch: pytest.MonkeyPatch) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="sash-restarts-"))
        (self._folder / "s").mkdir()
        self._history, self._patch = history, patch
        self.batches = 0
        self._db = self._connected()
        self._db.execute("".join(f"INSERT INTO t VALUES ('k{key}', 'new');" for key in range(KEYS)))

    def _connected(self) -> SparkDatabase:
        db = connected(self._patch, self._folder, SQL, shards=1, history=self._history)
        db.start()
        return db

    def play(self, batches: int) -> None:
        """Go on until there are so many."""
        with _undurable(self._patch):
            while self.batches < batches:
                self._batch()

    def _batch(self) -> None:
        if self.batches % EVERY == 0:
            key = self.batches // EVERY % KEYS
            self._db.execute(f"DELETE FROM t WHERE k = 'k{key}'; INSERT INTO t VALUES ('k{key}', 'n{self.batches % 7}')")
        self._put_file()
        assert query_of(self._db).step()
        self.batches += 1

    def _put_file(self) -> None:
        number = self.batches
        rows = (f"{number}.{place},k{(number * 7 + place) % KEYS},{number % 11}\n" for place in range(ROWS))
        (self._folder / f"s/{number:09d}.csv").write_text("".join(rows))
        (self._folder / f"s/{number - LEFT:09d}.csv").unlink(missing_ok=True)

    def restart(self) -> Restart:
        """The driver is gone, and another one begins."""
        times = []
        for _ in range(TRIES):
            answer = self._answer()
            self._db.close()
            began = time.perf_counter(), time.process_time()
            self._db = self._connected()
            self._batch()
            seen = self._answer()
            times.append((time.perf_counter() - began[0], time.process_time() - began[1]))
            assert len(seen) == len(answer) == KEYS
        point, out = (measures.files(self._folder / name) for name in ("point", "out"))
        least = [1000 * min(kind) for kind in zip(*times, strict=True)]
        return Restart(self.batches, least[0], least[1], point[0], point[1] * 1024, out[0], out[1] * 1024)

    def _answer(self) -> list[dict[str, object]]:
        rows: list[dict[str, object]] = self._db.view("counts").to_arrow().to_pylist()
        return rows

    def close(self) -> None:
        self._db.close()
        rmtree(self._folder, ignore_errors=True)


@contextmanager
def _undurable(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """No power is lost while batches are played."""
    with patch.context() as inner:
        inner.setattr(os, "fsync", lambda descriptor: None)
        yield


def restarts(batches: Sequence[int], history: str) -> Iterator[Restart]:
    """After each of these numbers of batches."""
    with pytest.MonkeyPatch.context() as patch:
        job = Job(history, patch)
        try:
            for number in sorted(batches):
                job.play(number)
                yield job.restart()
        finally:
            job.close()


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="./run restarts", description=__doc__)
    parser.add_argument("--batches", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--history", default="2 MINUTES", help="how much of the changes is kept: all, none, a time, a size")
    asked = parser.parse_args(words)
    names = [field.name.replace("_", " ") for field in fields(Restart)]
    print("".join(f"{name:>22s}" for name in names), flush=True)
    for found in restarts(asked.batches, asked.history):
        print("".join(f"{getattr(found, field.name):22,.0f}" for field in fields(Restart)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
