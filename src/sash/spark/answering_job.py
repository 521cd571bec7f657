"""A job that takes what the batches of its query tell: answers, progress, figures, another version of itself."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from sash.plan.statistics import Statistics
from sash.plan.streams import StreamSpec
from sash.plan.times import Time
from sash.planner.explain import Counts
from sash.planner.job import Job, View
from sash.planner.lookback import horizon
from sash.runtime.instants import Instants, told_instants
from sash.runtime.losses import LossWarnings
from sash.runtime.packets import Cargo, Packet
from sash.runtime.packing import DEAD_SCHEMA
from sash.runtime.progress import Progress
from sash.scalar.failures import Failures
from sash.spark.answers import Answers
from sash.spark.arenas import BEFORE_ALL
from sash.spark.checkpoint import JOB
from sash.spark.homes import Homes
from sash.spark.idle import IdleRule
from sash.spark.listener import MetricsListener
from sash.spark.offsets import check_log, identity_of
from sash.spark.opened_job import OpenedJob, Opening, new_tag
from sash.spark.outputs import output_name
from sash.spark.pipeline import collected, configured
from sash.spark.resharding import Resharding
from sash.spark.shard_task import STAGE
from sash.spark.store import History
from sash.spark.versions import Facts
from sash.spark.watching import Watch

ENGINE = ""  # the name of the facts of an engine


class AnsweringJob(OpenedJob):
    """A job that is told of every batch."""

    def __init__(
        self, spark: SparkSession, job: Job, opening: Opening, on_progress: Callable[[Progress], None] | None,
        listener: MetricsListener | None,
    ) -> None:
        super().__init__(spark, job, opening)
        self._on_progress = on_progress
        self._listener = listener
        self._homes: Homes | None = None  # of shards, where there are several machines; from the first query on
        self._between_batches = threading.RLock()  # held by a batch, or by who wants the state to stand still
        self._told = 0.0  # when the query was begun, or its last batch ended
        self._idle = IdleRule(job.streams, 0)
        self._read_until = self._next_reads_until = 0  # on the wall: what came before is in the last batch, or in the next
        self._instants: dict[Time, Instants] = {}
        self._adopted = threading.Condition()
        self._answers = Answers(self.versions)
        self._watch = Watch(self.job)
        self._warnings = LossWarnings()
        self.on_batch: Callable[[int], None] | None = None  # is told of the rows of every batch, and may try plans
        self.on_taken: Callable[[int], None] | None = None  # is told of every batch that is in the manifest, and may wait for it

    def _resume(self) -> None:
        """Go on after the last batch that is committed; a later one will be answered again."""
        committed = self._committed
        self._spread_anew(committed)
        self.progress = replace(self.progress, batch=committed)
        if self.versions.newest:
            self._number, self.job = self._job_of_next_batch()
        self._tidying.join()
        self.ledger.open(committed, self.job)
        self._answers.live, self._instants = {}, {}
        self._readers.forget()

    def _spread_anew(self, committed: int) -> None:
        """Over the number of shards that was asked for. What lies in arenas is the state of the old ones."""
        settings, first, fence = self._settings, self.steering.first, self.ledger.fence
        check_log(settings.checkpoint, committed)
        layout = Resharding(settings, first, dict(self._code), self.ledger, fence, committed).to(self._shards)
        if layout == settings.layout:
            return
        self._remove_arenas()
        self._tag = new_tag()
        self._settings = replace(settings, layout=layout, arenas=self._arenas_in(settings.epoch))
        self._readers.arenas = None
        self._watch.moves.places.clear()
        if self._homes is not None:
            self._homes.close()
            self._homes = None

    def _take(self, packets: DataFrame, batch: int) -> None:
        """Run a batch; add up what it tells."""
        with self._between_batches:
            self._readers.before_batch()
            told = list(collected(packets))
            self.ledger.fence()
            facts = [packet.facts() for packet in told if packet.cargo is Cargo.FACTS and packet.name == STAGE]
            self._answers.begin(self.job, batch)
            self._tidying.before_batch(batch, self.job, self._answers.live)
            self._adopt(max((fact.get(JOB) or 0 for fact in facts), default=0), batch, facts)
            self._answers.take(self.job, told)
            self._readers.take(batch, self._settings.layout.of(self.job), told, facts, self._settings.arenas)
            self._instants = told_instants(told)
            now, rows = time.monotonic(), self.progress.rows
            self._watch.observe(told, facts, now - self._told)
            self._mind_homes()
            self._warnings.hear(told, self.job.streams)
            progress = self.progress.after(batch, now - self._told, facts)
            self.ledger.take(batch, told, progress.event_time)
            self.progress = progress
            self._told = now
            if self._listener is not None:
                self._listener.keep(batch, self.metrics())
            self._read_until, self._next_reads_until = self._next_reads_until, time.time_ns() // 1000
            self._idle.observe(facts, self._next_reads_until)
            self._idle.saw_partitions(told, self._next_reads_until)
            if not self.progress.is_end:
                self._think(told, self.progress.rows - rows)
        if self.on_taken is not None:
            self.on_taken(batch)
        if self._on_progress is not None:
            self._on_progress(self.progress)

    def _adopt(self, number: int, batch: int, facts: Facts) -> None:
        """The batch ran another version of the job than the one before."""
        if number <= self._number:
            return
        self._tidying.wait()
        before, self.job = self.job, self.versions.read(number).job
        self._answers.adopt(before, self.job, batch, facts, self.steering.trial_runs)
        self._idle.watch(self.job.streams, time.time_ns() // 1000, horizon(self.job))
        self._watch.use(self.job)
        with self._adopted:
            self._number = number
            self._adopted.notify_all()

    def _mind_homes(self) -> None:
        if self._homes is not None and self._homes.are_due(set(self._watch.moves.places.values())):
            with configured(self._spark, self._settings.checkpoint):
                self._homes.give_anew()

    def _think(self, told: list[Packet], rows: int) -> None:
        clocks = [packet.facts()["clock"] for packet in told if packet.cargo is Cargo.FACTS and packet.name == ENGINE]
        on_batch = self.on_batch
        self.steering.think(clocks, self._answers.live, None if on_batch is None else lambda: on_batch(rows))

    def _instants_of(self, view: View) -> Instants:
        """As the last batch told them, to this driver or to the one before."""
        if not self._instants and self._version != BEFORE_ALL:
            folder = self._settings.checkpoint
            first = self._settings.layout.folder(folder).child("1", "0")
            told = History(first, partial(identity_of, folder)).answer(self._version)
            self._instants = told_instants(told or ())
        return self._instants.get(view.time, Instants())

    def metrics(self) -> dict[str, Any]:
        """What operators, arcs and views have done in this run, over all shards, as plain data."""
        with self._between_batches:
            return self._watch.figures(self.job)

    @property
    def failures(self) -> Failures:
        """Expressions that failed in this run."""
        with self._between_batches:
            return self._watch.failures

    def lost(self, stream: StreamSpec, cargo: Cargo) -> pa.Table:
        """The rows of a stream that were late, or the letters for those that could not be read, of all batches that are kept."""
        with self._between_batches:
            schema = stream.schema.arrow if cargo is Cargo.LATE else DEAD_SCHEMA
            return pa.concat_tables([schema.empty_table(), *self.ledger.read_all(output_name(stream.name, cargo))])

    def statistics(self) -> Statistics:
        """What is known of the streams and operators by now."""
        with self._between_batches:
            return self._watch.statistics()

    def shares(self) -> dict[str, float]:
        """Of the rows that filters were given, how many they let through."""
        with self._between_batches:
            return self._watch.shares()

    def look_afresh(self) -> None:
        """From now on statistics are about rows that are still to come."""
        with self._between_batches:
            self._watch.look_afresh()

    def counted(self) -> dict[str, Counts]:
        """What every operator has done in this run, for every second of the streams' time."""
        with self._between_batches:
            return self._watch.counted()
