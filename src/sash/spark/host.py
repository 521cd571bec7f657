"""The Spark host: one streaming query that runs all views of a job.

    source of packets ─▶ exchange ─▶ level 1 ─▶ exchange ─▶ level 2 ─▶ … ─▶ driver: live answers, progress
                                        └─▶ files of changes, late and dead rows ◀─┘

Each of its files knows one thing more of the job: it is opened, answers batches, runs, is read, and (here) takes statements.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from sash.errors import SashError
from sash.planner.job import Job
from sash.planner.read_plan import Code
from sash.runtime.history_limit import ALL
from sash.runtime.history_limit import History as HistoryLimit
from sash.runtime.packets import Cargo
from sash.runtime.progress import Progress
from sash.runtime.shard import Shard
from sash.schema import Schema
from sash.spark.jobs import needs_another_query
from sash.spark.listener import OnMetrics
from sash.spark.opened_job import Opening
from sash.spark.outputs import output_name
from sash.spark.readable_job import ReadableJob
from sash.spark.session_views import SessionViews
from sash.spark.shard_task import MakeEngine


class SparkHost(ReadableJob):
    """Runs a job on Spark, from a checkpoint on or from the beginning."""

    def __init__(
        self, spark: SparkSession, job: Job, base: Path, checkpoint: Path | str | None = None,
        output: Path | str | None = None, batch_rows: int | None = None, flush: bool = True, until: int | None = None,
        on_progress: Callable[[Progress], None] | None = None, *, on_metrics: OnMetrics | None = None, observe: bool = False,
        frames: Mapping[str, DataFrame] | None = None, make_engine: MakeEngine = Shard, code: Code | None = None,
        early: Sequence[tuple[str, pa.RecordBatch]] = (), history: HistoryLimit | None = None, shards: int | None = None,
    ) -> None:
        opening = Opening(base, checkpoint, output, batch_rows, flush, until, frames or {}, code, early, history, shards)
        super().__init__(spark, job, opening, on_progress, on_metrics, observe, make_engine)
        self._session_views = SessionViews(spark)
        self._awaited = 0  # the version that somebody may want to wait for
        if self._listener is not None:
            spark.streams.addListener(self._listener)

    def advance(self, now: int, stream: str = "") -> None:
        """Time moves on, without rows: that of a stream, or of all."""
        self._check_alive()
        self._checkpoint.ask({"advance": now, "stream": stream} if stream else {"advance": now})

    def change_table(self, name: str, change: pa.RecordBatch, position: Any = None) -> None:
        """Rows of a table come or go, by weight, where the input is when the next batch begins. Of a table that follows
        something, `position` says how far that was read."""
        self._check_alive()
        followed = {} if position is None else {"followed": {name: position}}
        with self._on_record():
            self._checkpoint.ask({"tables": self.versions.put_rows({name: change}), **followed})

    def change(self, make: Callable[[Job], Job], sql: str, fresh: Job, tables: Mapping[str, pa.RecordBatch]) -> None:
        """Run what is made of the job from the next batch on; who can wait for that batch lets the host `catch_up`.

        `fresh` is the job that the same views would be if they had been there from the beginning; tables that nobody has read so
        far have these rows.
        """
        self._check_alive()
        is_running = self._query is not None

        def stop_if_needed(before: Job, after: Job) -> None:
            if is_running and needs_another_query(before, after, self._frames, self._code.keys() - self._sent.keys()):
                if self._handle is not None:
                    self._handle.wait_for_next()
                self._stop_query()

        try:
            with self._on_record():
                number = self.steering.change(make, sql, fresh, self.versions.put_rows(tables), stop_if_needed)
        except BaseException as failure:
            if self._query is None:
                self._end_handle(failure)
            raise
        self._awaited = number if is_running else 0

    def catch_up(self) -> None:
        """Wait for the batch of the last change of the job, if a query ran then."""
        number, self._awaited = self._awaited, 0
        if not number:
            return
        try:
            if self._query is None:
                self.start()
            self._wait_for(number)
        except SashError as error:
            raise SashError(f"the statement is on record, but the job does not go on: {error.message}", error.hint) from error

    def keep_history(self, name: str, history: HistoryLimit) -> None:
        """So much of the past of a view is kept, in the outputs."""
        self._tidying.histories[output_name(name, Cargo.CHANGES)] = history

    def keeps_all(self, name: str) -> bool:
        """Whether no change of a view is ever dropped."""
        return self._tidying.history_of(output_name(name, Cargo.CHANGES)) == ALL

    def show(self, name: str, schema: Schema) -> None:
        """Let the session see a view, as a temporary view of its name."""
        self._session_views.show(name, self.ledger.changelog(output_name(name, Cargo.CHANGES)), schema)

    def hide(self, name: str) -> None:
        self._session_views.hide(name)

    def close(self) -> None:
        """Stop, and delete what was only for this process."""
        self.stop()
        self._session_views.hide_all()
        self._is_closed = True
        with self.ledger.came:
            self.ledger.came.notify_all()
        if self._listener is not None:
            self._spark.streams.removeListener(self._listener)
        if self._homes is not None:
            self._homes.close()
        if self._temporary is not None:
            self._temporary.remove()
        self._remove_arenas()
