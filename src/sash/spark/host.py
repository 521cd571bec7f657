"""The Spark host: one streaming query that runs all views of a job.

    source of packets ─▶ exchange ─▶ level 1 ─▶ exchange ─▶ level 2 ─▶ … ─▶ driver: live answers, progress
                                        └─▶ files of changes, late and dead rows ◀─┘
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.query import StreamingQuery

from sash.errors import SashError, choices
from sash.physical.job import Job, View
from sash.runtime.packets import Cargo, changes_schema
from sash.runtime.progress import Progress
from sash.runtime.shard import Shard
from sash.sources.listing import list_files
from sash.spark.arenas import run_lock
from sash.spark.checkpoint import Checkpoint, find_checkpoint, make_checkpoint
from sash.spark.failures import explain
from sash.spark.folder import Folder
from sash.spark.frames import pack_frame
from sash.spark.keeper import STAGE, MakeEngine
from sash.spark.live import LiveAnswer
from sash.spark.outputs import folder_of, prepare_outputs, read_changes, write_answer
from sash.spark.planner import is_file_stream
from sash.spark.settings import Settings, to_text
from sash.spark.source import FORMAT, OPTION, SPARK_SCHEMA, SashSource
from sash.spark.stage import stage
from sash.spark.wire import from_batch

POLL = 0.2  # seconds between two looks at a running query

# A query's stages are planned once, and move few rows with large bodies.
QUERY_CONFIGURATION = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "64",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(64 << 20),
}


class SparkHost:
    """Runs a job on Spark, from a checkpoint on or from the beginning."""

    def __init__(
        self, spark: SparkSession, job: Job, base: Path, checkpoint: Path | str | None = None,
        output: Path | str | None = None, batch_rows: int | None = None, flush: bool = True, until: int | None = None,
        on_progress: Callable[[Progress], None] | None = None, *, frames: Mapping[str, DataFrame] | None = None,
        make_engine: MakeEngine = Shard,
    ) -> None:
        self.job = job
        self.progress = Progress()
        self._spark = spark
        self._frames = dict(frames or {})
        self._flush = flush
        self._on_progress = on_progress
        self._make_engine = make_engine
        self._temporary = tempfile.mkdtemp(prefix="sash-") if checkpoint is None else None
        folder = Folder.of(self._temporary or checkpoint or "")
        target = Folder.of(output) if output is not None else folder.child("output")
        self._checkpoint = self._open(folder, target, base)
        arenas = Path(tempfile.gettempdir()) / "sash-arenas" / self._checkpoint.number
        self._settings = Settings(
            str(base), folder, target, arenas, batch_rows, flush=flush and not self._frames, until=until
        )
        self._live: dict[str, LiveAnswer] | None = None
        self._live_lock = threading.Lock()
        self._query: StreamingQuery | None = None
        self._clock = 0.0

    @property
    def is_finished(self) -> bool:
        """Has the end of the input been taken in?"""
        return self._checkpoint.is_finished

    @property
    def arenas(self) -> Path:
        """Where the arenas of this host lie."""
        return self._settings.arenas

    def run_to_end(self) -> None:
        """Read what is there, to its end. A finished checkpoint stays as it is."""
        if self.is_finished:
            return
        self._run_bounded()
        if self._flush and self._frames:
            self._checkpoint.ask({"end": 1})
            self._run_bounded()
        if self._flush:
            self._checkpoint.finish()
            shutil.rmtree(self._settings.arenas, ignore_errors=True)

    def start(self) -> None:
        """Begin to run, until `stop`."""
        if self.is_finished:
            raise SashError(f"the checkpoint {self._settings.checkpoint.place} is finished", "give a new folder")
        self._begin({"processingTime": "0 seconds"})

    def drain(self) -> None:
        """Wait until all input that is there now, and all that was asked, has been answered."""
        with self._explained():
            if self._query is not None:
                self._query.processAllAvailable()

    def advance(self, now: int) -> None:
        """Time moves on, without rows."""
        self._checkpoint.ask({"advance": now})

    def stop(self) -> None:
        """Stop after the batch at hand is abandoned; a later run goes on with it."""
        query, self._query = self._query, None
        if query is not None:
            query.stop()

    def close(self) -> None:
        """Stop, and delete what was only for this process."""
        self.stop()
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)
            shutil.rmtree(self._settings.arenas, ignore_errors=True)

    def view(self, name: str) -> pa.Table:
        """The answer of a view over all rows taken in so far."""
        self._view(name)
        return self._answers(None)[name].rows()

    def changes(self, name: str) -> DataFrame:
        """The changelog of a view, as a streaming DataFrame."""
        view = self._view(name)
        schema = from_arrow_schema(changes_schema(view.schema), prefer_timestamp_ntz=True)
        folder = folder_of(self._settings.output, name, Cargo.CHANGES)
        # Changes never grow too old to be read.
        return self._spark.readStream.schema(schema).option("maxFileAge", "36500d").parquet(folder.place)

    def write_final(self) -> None:
        """Write the answer of every view to its file."""
        for view in self.job.views:
            write_answer(self._settings.output, view, self.view(view.name))

    def _open(self, folder: Folder, output: Folder, base: Path) -> Checkpoint:
        """Mistakes of the user come out here, before anything starts."""
        for stream in self.job.streams:
            if is_file_stream(stream):
                list_files(stream, base)
        found = find_checkpoint(folder, self.job)
        if found is not None:
            return found
        prepare_outputs(output, self.job)
        return make_checkpoint(folder, self.job)

    def _view(self, name: str) -> View:
        for view in self.job.views:
            if view.name == name:
                return view
        raise SashError(f'unknown view "{name}"', f"views are: {choices(view.name for view in self.job.views)}")

    def _run_bounded(self) -> None:
        with run_lock(self._settings.arenas), self._explained():
            self._begin({"availableNow": True})
            try:
                while self._query is not None and not self._query.awaitTermination(POLL):
                    pass
            finally:
                self.stop()

    def _begin(self, trigger: Mapping[str, object]) -> None:
        self._clock = time.monotonic()
        self._started = self._clock
        self._spark.dataSource.register(SashSource)
        with self._configured():
            writer = self._packets().writeStream.foreachBatch(self._take)
            writer = writer.option("checkpointLocation", self._settings.checkpoint.child("spark").place)
            self._query = writer.trigger(**trigger).queryName("sash").start()

    def _packets(self) -> DataFrame:
        """The whole pipeline; what comes out is for the driver."""
        packets = self._spark.readStream.format(FORMAT).option(OPTION, to_text(self.job, self._settings)).load()
        for name, frame in self._frames.items():
            packets = packets.unionByName(pack_frame(self.job, self.job.stream(name), frame))
        for level in range(1, self.job.levels + 1):
            run = stage(self.job, self._settings, level, self._make_engine)
            packets = packets.repartitionById(self.job.shards, "shard").mapInArrow(run, SPARK_SCHEMA)
        return packets

    def _take(self, packets: DataFrame, batch: int) -> None:
        """Run a batch; add up what it tells."""
        facts = []
        answers = self._answers(batch)
        for record_batch in packets.toArrow().to_batches():
            for packet in from_batch(record_batch):
                if packet.cargo is Cargo.NET:
                    answers[packet.name].add(pa.Table.from_batches([packet.batch()]))
                elif packet.cargo is Cargo.FACTS and packet.name == STAGE:
                    facts.append(packet.facts())
        now = time.monotonic()
        self.progress = self.progress.after(batch, now - self._clock, now - self._started, facts)
        self._clock = now
        if self._on_progress is not None:
            self._on_progress(self.progress)

    def _answers(self, before: int | None) -> dict[str, LiveAnswer]:
        """The live answers; the first time, from the changes on record of the batches before this one."""
        with self._live_lock:
            if self._live is None:
                self._live = {view.name: LiveAnswer(view.schema) for view in self.job.views}
                for view in self.job.views:
                    self._live[view.name].add_changelog(read_changes(self._settings.output, view, before))
            return self._live

    @contextmanager
    def _configured(self) -> Iterator[None]:
        """The query's own configuration while it is made; the user's session keeps its own."""
        before = {key: self._spark.conf.get(key, None) for key in QUERY_CONFIGURATION}
        for key, value in QUERY_CONFIGURATION.items():
            self._spark.conf.set(key, value)
        try:
            yield
        finally:
            for key, old in before.items():
                self._spark.conf.unset(key) if old is None else self._spark.conf.set(key, old)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """An error of a task as one clear message."""
        try:
            yield
        except StreamingQueryException as failure:
            raise explain(failure) from None
