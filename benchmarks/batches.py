"""Small batches on Spark: what 1,000 rows through one exchange cost, against an empty pipeline of the same shape.

    empty      file source ─ mapInArrow(pass) ─ repartition by key ─ mapInArrow(pass) ─ foreachBatch(collect)
    identity   the pipeline of Sash with no engine in it: source, packing, exchange, log and state, outputs
    sash       the whole: GROUP BY over a sliding window

Time is from one answered batch to the next, the median of a run without its first batches, in which workers start.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
from pyspark.sql import DataFrame

from benchmarks.bars import draw_bars
from benchmarks.identity import Identity, Recording
from benchmarks.pipeline import passing
from benchmarks.report import Options, Report, span
from sash.database.embedded import EmbeddedDatabase
from sash.generate import declare, pairs
from sash.spark.host import SparkHost
from sash.spark.session import local_session

ROWS = 1_000
FIRST = 5  # batches that are not counted
SHARDS = 2
VIEW = "CREATE MATERIALIZED VIEW answer AS SELECT k, COUNT(*) AS n, SUM(v) AS s FROM a [RANGE 60 SECONDS] GROUP BY k;"


def run(options: Options) -> list[Report]:
    batches, repeat = FIRST + (12 if options.quick else 40), options.repeat or (1 if options.quick else 3)
    found: dict[str, list[float]] = {"empty": [], "identity": [], "sash": []}
    with tempfile.TemporaryDirectory(prefix="sash-batches-") as name:
        folder, notes = Path(name), Path(name) / "notes"
        notes.mkdir()
        write_input(folder, batches)
        options.say("recording")
        run_sash(folder, Recording(notes))
        for _ in range(repeat):
            options.say("empty")
            found["empty"].append(run_empty(folder))
            options.say("identity")
            found["identity"].append(run_sash(folder, Identity(notes)))
            options.say("sash")
            found["sash"].append(run_sash(folder, None))
    empty = statistics.median(found["empty"])
    lines = [
        [way, f"{statistics.median(seconds) / empty:.2f}", span([1000 * value for value in seconds])]
        for way, seconds in found.items()
    ]
    numbers: list[dict[str, object]] = [{"pipeline": way, "rows": ROWS, "seconds": seconds} for way, seconds in found.items()]
    title = f"Batches of {ROWS:,} rows through one exchange, {batches - FIRST} batches a run, {repeat} runs each, in turns"
    return [Report(title, ("pipeline", "of empty", "milliseconds a batch"), lines, numbers, draw=lambda path: draw(found, path))]


def draw(found: dict[str, list[float]], path: Path) -> None:
    systems = {way: [[1000 * value for value in seconds]] for way, seconds in found.items()}
    draw_bars([f"{ROWS:,} rows through one exchange"], systems, "milliseconds a batch", path)


def write_input(folder: Path, batches: int) -> None:
    """One file a batch."""
    (folder / "a").mkdir()
    table = pairs(ROWS * batches, 1, keys=10_000)["a"]
    for number in range(batches):
        pa.parquet.write_table(table.slice(number * ROWS, ROWS), folder / "a" / f"{number:05}.parquet")


class Ticks:
    """When batches were answered."""

    def __init__(self) -> None:
        self._at: list[float] = []

    def __call__(self, *told: object) -> None:
        self._at.append(time.monotonic())

    @property
    def seconds(self) -> float:
        """From one to the next; the first batches start workers, the last one carries the end."""
        gaps = [after - before for before, after in zip(self._at, self._at[1:], strict=False)]
        return statistics.median(gaps[FIRST - 1 : -1])


def run_sash(folder: Path, engine: Recording | Identity | None) -> float:
    db, ticks = EmbeddedDatabase(base=folder), Ticks()
    db.execute(declare("a", "parquet").replace("'a.parquet'", "'a'") + VIEW)
    options = {} if engine is None else {"make_engine": engine}
    host = SparkHost(local_session(), db.planned(SHARDS), folder, batch_rows=ROWS, on_progress=ticks, **options)  # type: ignore[arg-type]
    host.run_to_end()
    host.close()
    return ticks.seconds


def run_empty(folder: Path) -> float:
    spark, ticks = local_session(), Ticks()

    def take(rows: DataFrame, batch: int) -> None:
        rows.collect()
        ticks()

    schema = "ts TIMESTAMP_NTZ, k BIGINT, v BIGINT"
    source = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder / "a"))
    exchanged = source.mapInArrow(passing(), schema).repartition(SHARDS, "k").mapInArrow(passing(), schema)
    with tempfile.TemporaryDirectory(prefix="sash-empty-") as checkpoint:
        writer = exchanged.writeStream.foreachBatch(take).option("checkpointLocation", checkpoint)
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
    return ticks.seconds
