"""The Spark pipeline against its limit: Sash, and an identity pipeline, in turns, in one run."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa

from benchmarks.bars import draw_bars
from benchmarks.identity import Identity, Recording
from benchmarks.memory import WorkerMemory
from benchmarks.report import Options, Report, span
from sash.database.embedded import EmbeddedDatabase
from sash.generate import generate
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
    bare: list[float]

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
        [one.job, f"{one.ratio:.2f}", span(one.sash), span(one.identity), span(one.bare), f"{one.changes:,}"] for one in measured
    ]
    note = f"windows of {rows:,} rows per side: {memory / 1e9:.2f} GB (PSS) in all Python workers together"
    numbers = [{**asdict(one), "ratio": one.ratio, "memory": memory} for one in measured]
    title = f"Spark pipeline against a pipeline without an engine, {2 * rows:,} rows, {repeat} runs each, in turns"
    columns = ("job", "of identity", "sash rows/s", "identity rows/s", "mapInArrow rows/s", "changes")
    return [Report(title, columns, lines, numbers, [note], draw=lambda path: draw(measured, path))]


def draw(measured: Sequence[Measured], path: Path) -> None:
    names = {"Sash": "sash", "pipeline without an engine": "identity", "bare mapInArrow": "bare"}
    systems = {system: [getattr(one, name) for one in measured] for system, name in names.items()}
    draw_bars([one.job for one in measured], systems, "rows a second", path)


def measure_ratio(name: str, rows: int = 1_000_000, repeat: int = 3, shards: int = 2) -> Measured:
    """`rows` of each of two streams through a job, with and without the engine."""
    with tempfile.TemporaryDirectory(prefix="sash-bench-") as folder:
        base = Path(folder)
        generate("pairs", rows, 1, base)
        notes = base / "notes"
        notes.mkdir()
        changes, _ = _run(base, JOBS[name], shards, Recording(notes))
        sash, identity, bare = [], [], []
        for _ in range(repeat):
            sash.append(2 * rows / _run(base, JOBS[name], shards, None)[1])
            identity.append(2 * rows / _run(base, JOBS[name], shards, Identity(notes))[1])
            bare.append(2 * rows / run_bare(base))
        return Measured(name, 2 * rows, changes, sash, identity, bare)


def measure_memory(rows: int = 1_000_000, shards: int = 2) -> int:
    """Greatest memory of all Python workers together while windows hold `rows` rows per side."""
    with tempfile.TemporaryDirectory(prefix="sash-bench-") as folder:
        generate("pairs", rows, 1, Path(folder))
        with WorkerMemory() as memory:
            _run(Path(folder), LARGE, shards, None)
        return memory.greatest


def run_bare(base: Path) -> float:
    """Seconds for the same files through a `mapInArrow` that passes them on: no exchange, no output, one batch."""
    spark = local_session()
    schema = "ts TIMESTAMP_NTZ, k BIGINT, v BIGINT"
    source = spark.readStream.schema(schema).option("pathGlobFilter", "*.csv").csv(str(base), header=True)
    with tempfile.TemporaryDirectory(prefix="sash-bare-") as checkpoint:
        started = time.monotonic()
        writer = source.mapInArrow(passing(), schema).writeStream.format("noop").option("checkpointLocation", checkpoint)
        writer.trigger(availableNow=True).start().awaitTermination()
        return time.monotonic() - started


def passing() -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function that workers get whole, so that they need not import this module."""

    def unchanged(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches

    return unchanged


def _run(base: Path, views: str, shards: int, engine: Recording | Identity | None) -> tuple[int, float]:
    """Changes written, and seconds from the start of the query to its end; Spark itself runs already."""
    db = EmbeddedDatabase(base=base)
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
