"""A job and the streaming query that runs it: begun, waited for, begun again, stopped."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from uuid import UUID, uuid4

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from sash.errors import SashError
from sash.folders.folder import remove_partial_files
from sash.planner.job import Job
from sash.planner.lookback import horizon
from sash.planner.read_plan import Code
from sash.runtime.progress import Progress
from sash.spark.answering_job import AnsweringJob
from sash.spark.arenas import run_lock
from sash.spark.available_now import IS_TOLD
from sash.spark.checkpoint import newest_event
from sash.spark.handing import Handing, Receiver
from sash.spark.homes import Homes
from sash.spark.idle import IdleRule
from sash.spark.interrupts import noted_interrupts
from sash.spark.lasting import LastingQuery
from sash.spark.listener import MetricsListener, OnMetrics
from sash.spark.offsets import newest_offset, spark_folder
from sash.spark.opened_job import Opening
from sash.spark.pipeline import configured, streaming, wants_homes
from sash.spark.placed_frames import kafka_streams
from sash.spark.planner import LOOK_EVERY, is_file_stream
from sash.spark.remote import is_remote
from sash.spark.running_query import Controls, RunningQuery
from sash.spark.shard_task import MakeEngine
from sash.spark.stage import stage
from sash.spark.starting import started

POLL = 0.2  # seconds between two looks at a running query
MARGIN = 0.05  # seconds that a look for files may take
PATIENCE = 10.0  # seconds in which a store shows an event that was put into it
ALWAYS = {"processingTime": "0 seconds"}
NAME = "sash"  # of the query, in Spark


class RunningJob(AnsweringJob):
    """A job that can be run, by one query at a time."""

    def __init__(
        self, spark: SparkSession, job: Job, opening: Opening, on_progress: Callable[[Progress], None] | None,
        on_metrics: OnMetrics | None, observe: bool, make_engine: MakeEngine,
    ) -> None:
        super().__init__(spark, job, opening, on_progress, None if on_metrics is None else MetricsListener(on_metrics))
        self._said = {stream.name: stream for stream in job.streams}  # in this session, of what may differ from what is on record
        self._is_observed = observe or on_metrics is not None  # Spark takes some time to plan it, in every batch
        self._make_engine = make_engine
        self._sent: Code = {}  # of the code of the user, what the tasks of the query have
        self._query: LastingQuery | None = None
        self._receiver: Receiver | None = None  # of batches, while a query runs in a session of Spark Connect
        self._handle: RunningQuery | None = None  # from a start to the stop after it
        self._held = ExitStack()  # the lock on the checkpoint, while a query runs

    def run_to_end(self) -> None:
        """Read what is there, to its end. A finished checkpoint stays as it is; what it has written must still be there."""
        if self.is_finished:
            self.ledger.open_finished(self._committed, self.job)
            return
        self.check_idle()
        self._until_taken(self._run_bounded)
        if self._flush and self._frames:
            # Only when the DataFrames are drained is it known that the end has come.
            self._checkpoint.ask({"end": 1})
            self._until_taken(self._run_bounded)
        if self._flush:
            self._checkpoint.finish()
            self._remove_arenas()

    def start(self, controls: Controls | None = None) -> RunningQuery:
        """Begin to run, until `stop`; who holds the host may want to do more when that is asked of the handle."""
        if self.is_finished:
            raise SashError(f"the checkpoint {self._settings.checkpoint.place} is finished", "give a new folder")
        self.check_idle()
        with self._explained():
            try:
                self._begin(ALWAYS)
            except BaseException as failure:
                self._end_handle(failure)
                self.stop()
                raise
        assert self._query is not None
        if self._handle is None:
            self._handle = RunningQuery(self._query, controls or self)
        self._handle.go_on_with(self._query)
        threading.Thread(target=self._mind_the_idle, args=(self._query,), daemon=True).start()
        return self._handle

    def check_idle(self) -> None:
        """One query at a time; one that has failed makes room for another try."""
        self._check_sure()
        if self._query is not None and self._query.isActive:
            raise SashError("the job runs already", "call stop() before it is started in another way")
        if self._query is not None:
            self._end_handle()  # one that waits for another query of Spark's goes on
        self._stop_query()

    def _check_alive(self) -> None:
        """A query that has come to its end by itself takes nothing any more, and nobody is to wait for it; nor does a job that
        another driver runs, as what tables hold by now only that one knows."""
        self._check_sure()
        self._check_mine()
        query = self._query
        if query is None or query.isActive:
            return
        with self._explained():
            failure = query.exception()
            if failure is not None:
                raise failure
        raise SashError("the query was stopped by somebody else", "call start() to go on")

    @property
    def is_running(self) -> bool:
        return self._query is not None

    def drain(self) -> None:
        """Wait until all input that is there now, and all that was asked, has been answered."""
        if self._query is None:
            raise SashError("the job does not run, so nothing would be waited for", "call start() first")
        if any(is_file_stream(stream, self._frames) for stream in self.job.streams):
            time.sleep(LOOK_EVERY + MARGIN)  # until the files that are there now have been seen
        with self._explained():
            self._take_all()

    def _take_all(self) -> None:
        """Until batches have taken all that is there."""
        assert self._query is not None
        self._until_taken(self._query.processAllAvailable)

    def _until_taken(self, take: Callable[[], None]) -> None:
        """Let batches take what is there, again until they have taken all that was asked for: an event that the store does not
        show at once would be taken with rows that came later, or never, if it is the end."""
        folder, patience = self._settings.checkpoint, time.monotonic() + PATIENCE
        while True:
            take()
            self.ledger.fence()  # a query without a batch has not noticed that another driver had them
            newest = newest_offset(folder)
            if newest.is_end or newest.seen >= newest_event(folder):
                return
            if time.monotonic() > patience:
                raise SashError(
                    f"what was asked of the job is on record in {folder.child('control').place}, and no batch has taken it up",
                    "see that the checkpoint shows the files that are in it, and connect again",
                )
            time.sleep(POLL)

    def _wait_for(self, number: int) -> None:
        """Until a version of the job has run, here and not at another driver's."""
        with self._explained():
            while self._number < number:
                self.ledger.fence()
                query = self._query
                if query is None or (failure := query.exception()) is not None:
                    raise failure if query is not None and failure is not None else SashError("the query was stopped")
                with self._adopted:
                    self._adopted.wait(POLL)

    def spread(self, shards: int) -> None:
        """Go on with so many shards: a job that runs at once, in another query of Spark's, else from the next start on. A job
        that cannot goes on as it was."""
        self._check_alive()
        if self._query is not None and self._handle is None:
            raise SashError("the job runs to the end of its input", "ask for another number of shards before, or after it")
        had, handle = self._shards, self._handle
        self._shards = shards
        if handle is None:
            return
        try:
            handle.wait_for_next()
            self._stop_query()
            with self._explained():
                self._claim()
                with self._between_batches:
                    self._spread_anew(self._committed)
        except BaseException:
            self._shards = had
            raise
        finally:
            if self._handle is handle:
                self.start()
            else:  # somebody has stopped the job meanwhile
                self._held.close()

    def stop(self) -> None:
        """Stop; the batch at hand is given up, and a later run begins with it."""
        self._stop_query()
        self._end_handle()

    def _end_handle(self, failure: BaseException | None = None) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            handle.end(failure)

    def _stop_query(self) -> None:
        query, self._query = self._query, None
        if query is not None:
            query.stop()
        receiver, self._receiver = self._receiver, None
        if receiver is not None:
            receiver.stop()
        self._tidying.join()
        self._held.close()

    def _run_bounded(self) -> None:
        with self._explained(), noted_interrupts() as interrupt:
            try:
                self._begin_bounded()
                while self._query is not None and not self._query.awaitTermination(POLL):
                    if interrupt.is_set():
                        raise KeyboardInterrupt
                    if not IS_TOLD:  # who would go on for ever is stopped when all is answered
                        self._take_all()
                        break
                self.ledger.fence()  # a run that had nothing to do may not have noticed that another one did it all
                self._tidying.finish()
            finally:
                self.stop()

    def _begin_bounded(self) -> None:
        settings = self._settings
        self._settings = replace(settings, is_bounded=not IS_TOLD)
        try:
            self._begin({"availableNow": True} if IS_TOLD else ALWAYS)
        finally:
            self._settings = replace(self._settings, is_bounded=False)

    def _begin(self, trigger: Mapping[str, object]) -> None:
        self._claim()
        with self._between_batches:
            self._resume()
        self.steering.begin()
        self._told = time.monotonic()
        now = self._read_until = self._next_reads_until = time.time_ns() // 1000
        self._idle = IdleRule(self.job.streams, now, horizon(self.job))
        self._settings = replace(self._settings, kafka=kafka_streams(self.steering.first.streams, self._frames))
        job, settings = self.first_job, self._settings
        code = self._sent = dict(self._code)
        with configured(self._spark, settings.checkpoint):
            if self._homes is None and wants_homes(self._spark):
                self._homes = Homes(self._spark, job.shards)
            packets = streaming(
                self._spark, job, self.steering.newest.on(job.shards), settings, self._frames,
                lambda level: stage(job, settings, level, self._make_engine, code), self._homes,
                said=self._said, is_observed=self._is_observed,
            )
            writer = packets.writeStream.foreachBatch(self._taking()).queryName(self._name())
            writer = writer.option("checkpointLocation", spark_folder(settings.checkpoint).place)
        self._query = LastingQuery(lambda: self._launched(writer.trigger(**trigger)), lambda: self.progress.batch)

    def _claim(self) -> None:
        """From now on this is the one that runs the job; whoever did before finds out and stops."""
        if (path := self._settings.checkpoint.local_path) is not None:
            self._held.enter_context(run_lock(path))
        self._claim_epoch(self.ledger)
        remove_partial_files(self._settings.checkpoint)
        remove_partial_files(self._settings.output)

    def _taking(self) -> Callable[[DataFrame, int], None]:
        """What Spark calls with every batch."""
        if not is_remote(self._spark):
            return self._take
        settings, run = self._settings, uuid4().hex
        self._receiver = Receiver(settings.checkpoint, run, self._take)
        self._receiver.begin()
        return Handing(settings.checkpoint, settings.epoch, run)

    def _launched(self, writer: DataStreamWriter) -> StreamingQuery:
        """The query of this host, from its checkpoint on; perhaps after another that ended."""
        if self._query is not None:
            with self._between_batches:
                self._resume()
        with configured(self._spark, self._settings.checkpoint):
            query = started(writer)
        if self._listener is not None:
            self._listener.runs.add(UUID(str(query.runId)))
        return query

    def _name(self) -> str:
        """Of the query, for people; no two that run have the same."""
        is_taken = any(query.name == NAME for query in self._spark.streams.active)
        return f"{NAME}-{self._checkpoint.number[:8]}" if is_taken else NAME

    def _mind_the_idle(self, query: LastingQuery) -> None:
        """Let streams that have fallen silent follow the others, for as long as the query runs."""
        while self._query is query:
            time.sleep(POLL)
            looked = time.time_ns() // 1000
            read_until = looked if query.has_read_all else 0  # who asks has it begun again, if a worker died
            with self._between_batches:
                is_watched, read_until = self._query is query and self._idle.is_set, max(read_until, self._read_until)
                for event in self._idle.events(time.time_ns() // 1000, read_until) if is_watched else ():
                    self._checkpoint.ask(event)
