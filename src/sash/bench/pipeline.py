"""The Spark pipeline against its limit: Sash, and an identity pipeline, in turns, in one run."""

from __future__ import annotations

import statistics
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from sash.bench.identity import Identity, Recording
from sash.bench.memory import WorkerMemory
from sash.bench.report import Options, Report, span
from sash.generate import generate
from sash.session import Database
from sash.spark.host import SparkHost
from sash.spark.session import local_session

JOBS = {
    "join and group-by": """
        CREATE MATERIALIZED VIEW counts AS SELECT k, COUNT(*) AS n, SUM(v) AS s FROM a [RANGE 60 SECONDS] GROUP BY k;
        CREATE MATERIALIZED VIEW pairs AS
          SELECT a.k, a.v, b.v AS w FROM a [RANGE 1 SECOND] JOIN b [RANGE 1 SECOND] ON a.k = b.k;""",
    "join under group-by": """
        CREATE MATERIALIZED VIEW sums AS
          SELECT a.v % 1000 AS part, COUNT(*) AS n, SUM(b.v) AS s
          FROM a [RANGE 1 SECOND] JOIN b [RANGE 1 SECOND] ON a.k = b.k GROUP BY a.v % 1000;""",
}
LARGE = """
    CREATE MATERIALIZED VIEW pairs AS
      SELECT a.k, a.v, b.v AS w FROM a [RANGE 1000 SECONDS] JOIN b [RANGE 1000 SECONDS] ON a.k = b.k AND a.v = b.v;"""


ROWS, QUICK_ROWS = 1_000_000, 100_000


@dataclass(frozen=True)
class Measured:
    """Rows per second of both pipelines, each run's, and the ratio of their medians."""

    job: str
    rows: int
    changes: int
    sash: list[float]
    identity: list[float]

    @property
    def ratio(self) -> float:
        return statistics.median(self.sash) / statistics.median(self.identity)


def run(options: Options) -> list[Report]:
    rows, repeat = options.rows or (QUICK_ROWS if options.quick else ROWS), options.repeat or (2 if options.quick else 3)
    measured = []
    for name in JOBS:
        options.say(name)
        measured.append(measure_ratio(name, rows, repeat))
    options.say("memory")
    memory = measure_memory(rows)
    lines = [
        [one.job, f"{one.ratio:.2f}", span(one.sash), span(one.identity), f"{one.changes:,}"] for one in measured
    ]
    note = f"windows of {rows:,} rows per side: {memory / 1e9:.2f} GB (PSS) in all Python workers together"
    numbers = [{**asdict(one), "ratio": one.ratio, "memory": memory} for one in measured]
    title = f"Spark pipeline against a pipeline without an engine, {2 * rows:,} rows, {repeat} runs each, in turns"
    return [Report(title, ("job", "of identity", "sash rows/s", "identity rows/s", "changes"), lines, numbers, [note])]


def measure_ratio(name: str, rows: int = 1_000_000, repeat: int = 3, shards: int = 2) -> Measured:
    """`rows` of each of two streams through a job, with and without the engine."""
    with tempfile.TemporaryDirectory(prefix="sash-bench-") as folder:
        base = Path(folder)
        generate("pairs", rows, 1, base)
        notes = base / "notes"
        notes.mkdir()
        changes, _ = _run(base, JOBS[name], shards, Recording(notes))
        sash, identity = [], []
        for _ in range(repeat):
            sash.append(2 * rows / _run(base, JOBS[name], shards, None)[1])
            identity.append(2 * rows / _run(base, JOBS[name], shards, Identity(notes))[1])
        return Measured(name, 2 * rows, changes, sash, identity)


def measure_memory(rows: int = 1_000_000, shards: int = 2) -> int:
    """Greatest memory of all Python workers together while windows hold `rows` rows per side."""
    with tempfile.TemporaryDirectory(prefix="sash-bench-") as folder:
        generate("pairs", rows, 1, Path(folder))
        with WorkerMemory() as memory:
            _run(Path(folder), LARGE, shards, None)
        return memory.greatest


def _run(base: Path, views: str, shards: int, engine: Recording | Identity | None) -> tuple[int, float]:
    """Changes written, and seconds from the start of the query to its end; Spark itself runs already."""
    db = Database(base=base)
    db.execute((base / "streams.sql").read_text() + views)
    spark = local_session()
    with tempfile.TemporaryDirectory(prefix="sash-out-") as out:
        options = {} if engine is None else {"make_engine": engine}
        host = SparkHost(spark, db.planned(shards), base, output=Path(out), **options)  # type: ignore[arg-type]
        started = time.monotonic()
        host.run_to_end()
        seconds = time.monotonic() - started
        host.close()
        return host.progress.changes, seconds
