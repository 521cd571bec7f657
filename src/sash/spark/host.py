"""The Spark host: one streaming query that runs all views of a job.

    source of packets ─▶ exchange ─▶ level 1 ─▶ exchange ─▶ level 2 ─▶ … ─▶ driver: live answers, progress
                                        └─▶ files of changes, late and dead rows ◀─┘
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from sash.errors import SashError, choices
from sash.folders.folder import Folder, remove_partial_files
from sash.plan.statistics import Statistics
from sash.plan.streams import StreamSpec
from sash.plan.times import Time
from sash.planner.explain import Counts
from sash.planner.job import Job, View
from sash.planner.lookback import horizon
from sash.planner.read_plan import Code
from sash.runtime.access import Read, Wanted
from sash.runtime.history_limit import ALL, DEFAULT
from sash.runtime.history_limit import History as HistoryLimit
from sash.runtime.instants import Instants, check_kept, moment, together, told_instants
from sash.runtime.kept import undone
from sash.runtime.live import LiveView, ReadRows, Relations, Weighed
from sash.runtime.losses import LossWarnings
from sash.runtime.packets import Cargo, Packet, changes_schema
from sash.runtime.packing import DEAD_SCHEMA
from sash.runtime.progress import Progress
from sash.runtime.shard import Shard
from sash.runtime.subscribing import Wishes, begun_with, not_kept
from sash.scalar.failures import Failures
from sash.schema import Schema
from sash.sources.listing import list_files
from sash.spark.answers import Answers
from sash.spark.arenas import BEFORE_ALL, arenas_on_this_machine, remove_arenas_of, run_lock
from sash.spark.available_now import IS_TOLD
from sash.spark.changes_source import FORMAT as CHANGES_FORMAT
from sash.spark.changes_source import OPTION, ChangesSource
from sash.spark.checkpoint import JOB, Checkpoint, find_checkpoint, fingerprint, make_checkpoint, newest_event
from sash.spark.epochs import NONE, check_epoch, check_unclaimed, claim_epoch, newest_epoch
from sash.spark.failures import explain
from sash.spark.folding import fold
from sash.spark.handing import Handing, Receiver
from sash.spark.homes import Homes
from sash.spark.idle import IdleRule
from sash.spark.interrupts import noted_interrupts
from sash.spark.job_changes import JobChanges
from sash.spark.jobs import job_at, needs_another_query
from sash.spark.lasting import LastingQuery
from sash.spark.layout import read_layout
from sash.spark.ledger import Ledger
from sash.spark.listener import MetricsListener, OnMetrics
from sash.spark.offsets import check_log, identity_of, newest_offset, offset_of, spark_folder
from sash.spark.outputs import output_name, write_answer
from sash.spark.pipeline import collected, configured, is_one_machine, on_workers, streaming, wants_homes
from sash.spark.placed_frames import kafka_streams
from sash.spark.planner import LOOK_EVERY, is_file_stream
from sash.spark.reading import Readers, look_here
from sash.spark.registration import register
from sash.spark.remote import is_remote
from sash.spark.resharding import Resharding
from sash.spark.running_query import Controls, RunningQuery
from sash.spark.sealed import SealedFolder
from sash.spark.session_views import SessionViews, session_schema
from sash.spark.settings import Settings
from sash.spark.shard_task import STAGE, MakeEngine
from sash.spark.sink_feed import FileFeed
from sash.spark.stage import stage
from sash.spark.starting import started
from sash.spark.store import History
from sash.spark.subscription import FileSubscription
from sash.spark.temporary import TemporaryFolder
from sash.spark.tidying import Tidying
from sash.spark.trials import shown
from sash.spark.versions import Facts, Versions
from sash.spark.watching import Watch
from sash.stores.group_index import Ranges
from sash.stores.view_index import IndexShape

ENGINE = ""  # the name of the facts of an engine
POLL = 0.2  # seconds between two looks at a running query
MARGIN = 0.05  # seconds that a look for files may take
PATIENCE = 10.0  # seconds in which a store shows an event that was put into it
ALWAYS = {"processingTime": "0 seconds"}
NAME = "sash"  # of the query, in Spark


def new_tag() -> str:
    """Tells the arenas of one host from those of others."""
    return uuid4().hex[:8]


class SparkHost:
    """Runs a job on Spark, from a checkpoint on or from the beginning."""

    def __init__(
        self, spark: SparkSession, job: Job, base: Path, checkpoint: Path | str | None = None,
        output: Path | str | None = None, batch_rows: int | None = None, flush: bool = True, until: int | None = None,
        on_progress: Callable[[Progress], None] | None = None, *, on_metrics: OnMetrics | None = None, observe: bool = False,
        frames: Mapping[str, DataFrame] | None = None, make_engine: MakeEngine = Shard, code: Code | None = None,
        early: Sequence[tuple[str, pa.RecordBatch]] = (), history: HistoryLimit | None = None, shards: int | None = None,
    ) -> None:
        """`shards` is what somebody asks for; the job is planned for the number that its checkpoint began with."""
        self.job = job
        self.progress = Progress()
        self._spark = spark
        self._frames = dict(frames or {})
        self._shards = shards
        self._said = {stream.name: stream for stream in job.streams}  # in this session, of what may differ from what is on record
        self._flush = flush
        self._on_progress = on_progress
        self._listener = None if on_metrics is None else MetricsListener(on_metrics)
        self._is_observed = observe or on_metrics is not None  # Spark takes some time to plan it, in every batch
        self._make_engine = make_engine
        self._code: Code = {} if code is None else code  # that the user has registered; it may grow
        self._sent: Code = {}  # what of it the tasks of the query have
        self._session_views = SessionViews(spark)
        self._homes: Homes | None = None  # of shards, where there are several machines; from the first query on
        self._temporary = TemporaryFolder() if checkpoint is None else None
        place = SealedFolder.of(checkpoint or "" if self._temporary is None else self._temporary.path)
        target = Folder.of(output) if output is not None else place.plain.child("output")
        self._checkpoint = self._open(place, base, len(early))
        folder = self._checkpoint.folder
        self._tag = new_tag()
        self._settings = Settings(
            str(base), folder, target, self._arenas_in(NONE), frozenset(self._frames), batch_rows,
            flush=flush and not self._frames, until=until, layout=read_layout(folder),
        )
        self._between_batches = threading.RLock()  # held by a batch, or by who wants the state to stand still
        self._query: LastingQuery | None = None
        self._receiver: Receiver | None = None  # of batches, while a query runs in a session of Spark Connect
        self._handle: RunningQuery | None = None  # from a start to the stop after it
        self._is_unsure = False  # whether a statement is on record
        self._held = ExitStack()  # the lock on the checkpoint, while a query runs
        self._told = 0.0  # when the query was begun, or its last batch ended
        self._idle = IdleRule(job.streams, 0)
        self._read_until = self._next_reads_until = 0  # on the wall: what came before is in the last batch, or in the next
        self._instants: dict[Time, Instants] = {}
        self._is_closed = False
        self._number = 0  # of the version of the job that runs
        self._awaited = 0  # the version that somebody may want to wait for
        self._adopted = threading.Condition()
        self.on_batch: Callable[[int], None] | None = None  # is told of the rows of every batch, and may try plans
        self.on_taken: Callable[[int], None] | None = None  # is told of every batch that is in the manifest, and may wait for it
        self.ledger = self._open_ledger(folder, target)
        self._tidying = Tidying(self.ledger, history or (DEFAULT if output is None else ALL), lambda batch: fold(folder, batch))
        self.versions = Versions(folder, self.ledger, self._code)
        self._answers = Answers(self.versions)
        self._readers = Readers(folder)
        self.steering = JobChanges(job, self._checkpoint, self.versions, self._frames)
        if self.versions.newest:
            self._number, self.job = self._job_of_next_batch()
        self._watch = Watch(self.job)
        self._warnings = LossWarnings()
        self._ask_early(early[: self._checkpoint.early])
        if self._listener is not None:
            spark.streams.addListener(self._listener)

    def _ask_early(self, early: Sequence[tuple[str, pa.RecordBatch]]) -> None:
        """Ask for the first changes of tables. A driver that died among them left the rest to the next; and two that do so at
        once ask for each of them once, as every change has its number."""
        for number in range(newest_event(self._settings.checkpoint) + 1, len(early) + 1):
            name, rows = early[number - 1]
            with self._on_record():
                self._checkpoint.ask_as(number, {"tables": self.versions.put_rows({name: rows}, number)})

    @property
    def is_finished(self) -> bool:
        """Has the end of the input been taken in?"""
        return self._checkpoint.is_finished

    @property
    def arenas(self) -> Path:
        """Where the arenas of this host lie, on a machine that runs its tasks."""
        return Path(on_workers(self._spark, partial(arenas_on_this_machine, self._settings.arenas))[0])

    def _arenas_in(self, epoch: int) -> Path:
        """A name that no arenas of others have: what they left is not trusted."""
        return Path(f"{self._checkpoint.number}-{epoch}-{self._tag}")

    def _remove_arenas(self) -> None:
        with suppress(Exception):  # Spark may be gone; then its folders are
            remove_arenas_of(self._settings.arenas)  # those that were made again in this process
            if self._readers.arenas is not None and is_one_machine(self._spark):
                remove_arenas_of(self._readers.arenas)
            else:
                on_workers(self._spark, partial(remove_arenas_of, self._settings.arenas))

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

    @contextmanager
    def _on_record(self) -> Iterator[None]:
        """A statement is put on record. Where that fails half way, this process no longer knows what the checkpoint knows."""
        try:
            yield
        except BaseException:
            self._is_unsure = True
            raise

    def _check_sure(self) -> None:
        if self._is_unsure:
            raise SashError(
                "an earlier statement could not be put on record, or not be seen to be",
                "connect again, with the same checkpoint, which knows whether it was taken",
            )

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

    def _check_mine(self) -> None:
        checkpoint, epoch = self._settings.checkpoint, self._settings.epoch
        if epoch == NONE:
            check_unclaimed(checkpoint, self._epoch_seen)
        else:
            check_epoch(checkpoint, epoch)

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

    def spread(self, shards: int) -> None:
        """Go on with so many shards: a job that runs at once, in another query of Spark's, else from the next start on. A job
        that cannot goes on as it was."""
        self._check_alive()
        if self._query is not None and self._handle is None:
            raise SashError("the job runs to the end of its input", "ask for another number of shards before, or after it")
        had, self._shards = self._shards, shards
        if self._handle is None:
            return
        self._handle.wait_for_next()
        self._stop_query()
        try:
            with self._explained():
                self._claim()
                self._spread_anew(self._committed)
        except BaseException:
            self._shards = had
            raise
        finally:
            self.start()

    def is_first(self, job: Job) -> bool:
        """Whether this is the job that the checkpoint began with."""
        return fingerprint(job) == fingerprint(self.steering.first)

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

    def view(self, name: str) -> pa.Table:
        """The answer of a view over all rows taken in so far, final or not."""
        return self.answer(name)[0]

    def answer(self, name: str) -> tuple[pa.Table, Instants]:
        """The same, and at which instant it is."""
        view = self._view(name)
        self._check_alive()
        with self._explained(), self._between_batches:
            return self._live()[name].rows(self._ahead(name)), self._instants_of(view)

    def answers(self, names: Sequence[str]) -> tuple[dict[str, pa.Table], Instants]:
        """The same of several views, which are at one instant if they read the same streams."""
        views = self._of_one_instant(names)
        with self._explained(), self._between_batches:
            return {name: self._live()[name].rows(self._ahead(name)) for name in names}, self._together(views)

    def at_one_instant(self, names: Sequence[str], ask: Callable[[ReadRows], Relations]) -> tuple[Relations, Instants]:
        """What is made of rows of some views, each row once with its weight, that are read one after the other; as above."""

        def read(one: Read) -> Weighed:
            live = self._live()[one.view]
            live.keep_indexes(one.wanted.indexes)
            return live.weighed(one.wanted, live.lanes(self._ahead(one.view)))

        views = self._of_one_instant(names)
        with self._explained(), self._between_batches:
            return ask(read), self._together(views)

    def _of_one_instant(self, names: Sequence[str]) -> list[View]:
        views = [self._view(name) for name in names]
        if len(times := {view.time for view in views if any(view.time)}) > 1:
            listed = "; ".join(", ".join(time) for time in sorted(times))
            raise SashError(
                f"on Spark, views that read different streams are at different instants: {listed}",
                "create a materialized view that reads them all, and ask that one",
            )
        self._check_alive()
        return views

    def _together(self, views: Sequence[View]) -> Instants:
        """Of views that are at one instant; one that reads no stream goes by the others."""
        timed = [view for view in views if any(view.time)]
        return together([self._instants_of(view) for view in timed or views])

    def select(self, name: str, wanted: Wanted) -> tuple[list[pa.Array], Instants]:
        """The columns of the rows of a view that are wanted, in no order, and at which instant."""
        view = self._view(name)
        self._check_alive()
        with self._explained(), self._between_batches:
            live = self._live()[name]
            live.keep_indexes(wanted.indexes)
            return live.select(wanted, live.lanes(self._ahead(name))), self._instants_of(view)

    def ranges(self, name: str, shape: IndexShape, indexes: Collection[IndexShape]) -> tuple[Ranges, Instants]:
        """How many rows of a view there are in the ranges of one of its indexes, all of which are told; and at which instant."""
        view = self._view(name)
        self._check_alive()
        with self._explained(), self._between_batches:
            live = self._live()[name]
            live.keep_indexes(indexes)
            return live.ranges(shape, live.lanes(self._ahead(name))), self._instants_of(view)

    def answers_at(self, names: Sequence[str], instant: int) -> tuple[dict[str, pa.Table], Instants]:
        """The same at an instant in the past that is final, from the changes in the outputs."""
        views, found = [self._view(name) for name in names], {}
        self._check_alive()
        with self._explained(), self._between_batches:
            live = self._live()
            for view in views:
                own = self._instants_of(view)
                kept = self.ledger.manifest.kept(output_name(view.name, Cargo.CHANGES)).complete_from
                check_kept(view.name, instant, own.final_before if kept is None else kept, own.now)
                if instant >= own.final_before:
                    raise SashError(
                        f'on Spark, view "{view.name}" is final before {moment(own.final_before)}: {moment(instant)} is open',
                        "ask for an earlier instant, or leave AS OF out",
                    )
                found[view.name] = live[view.name].rows(undone(self._changes_of(view), instant))
        return found, together([replace(self._instants_of(view), now=instant) for view in views if any(view.time)])

    def _changes_of(self, view: View) -> Iterator[pa.RecordBatch]:
        """All that are kept, as they are on record."""
        changelog, schema = self.ledger.changelog(output_name(view.name, Cargo.CHANGES)), changes_schema(view.schema)
        for piece in changelog.pieces(None, self.ledger.manifest.batch):
            if not piece.is_answer:
                yield from changelog.read(piece, schema)

    def has_begun(self, names: Sequence[str], at: int | None = None) -> bool:
        """Whether a stream has had a row; also if none of these views reads any. Of an instant in the past, whether one of the
        views has held something by then."""
        return not any(any(self._view(name).time) for name in names) or self.progress.event_time is not None

    def final(self, name: str) -> pa.Table:
        """The answer of a view as far as it is final."""
        return self.final_answer(name)[0]

    def final_answer(self, name: str) -> tuple[pa.Table, Instants]:
        """The same, and up to which instant that is."""
        view = self._view(name)
        self._check_alive()
        with self._explained(), self._between_batches:
            return self._live()[name].rows(), self._instants_of(view)

    def complete_since(self, name: str) -> int | None:
        """From when on a view is right for all rows that ever came; None: never."""
        return self.ledger.complete_since(name)

    def changes_since(self, name: str) -> int:
        """The instant from which on every change of a view is kept."""
        view = self._view(name)
        with self._between_batches:
            since = self.ledger.manifest.kept(output_name(name, Cargo.CHANGES)).complete_from
            return self._instants_of(view).final_before if since is None else since

    def show(self, name: str, schema: Schema) -> None:
        """Let the session see a view, as a temporary view of its name."""
        self._session_views.show(name, self.ledger.changelog(output_name(name, Cargo.CHANGES)), schema)

    def hide(self, name: str) -> None:
        self._session_views.hide(name)

    def keep_history(self, name: str, history: HistoryLimit) -> None:
        """So much of the past of a view is kept, in the outputs."""
        self._tidying.histories[output_name(name, Cargo.CHANGES)] = history

    def changes(self, name: str) -> DataFrame:
        """The changelog of a view, as a streaming DataFrame."""
        view = self._view(name)
        schema = session_schema(self._spark, changes_schema(view.schema))
        register(self._spark, ChangesSource)
        changelog = self.ledger.changelog(output_name(name, Cargo.CHANGES))
        return self._spark.readStream.format(CHANGES_FORMAT).schema(schema).option(OPTION, changelog.to_text()).load()

    def subscribe(self, name: str, timeout: float | None, wishes: Wishes) -> FileSubscription:
        """The changes of a view, as they come."""
        view = self._view(name)
        self._check_alive()  # not with the lock that a query needs to begin again
        changelog, schema = self.ledger.changelog(output_name(name, Cargo.CHANGES)), changes_schema(view.schema)
        if wishes.since is not None and wishes.since < (kept := self.changes_since(name)):
            raise not_kept(name, wishes.since, kept)
        with self._between_batches:
            first = [begun_with(self._live()[name].rows(), self._final_before(view) - 1, schema)] if wishes.snapshot else []
            last = None if wishes.since is not None else self.ledger.manifest.batch
            return FileSubscription(
                changelog, schema, last, first, self.ledger.came, self._may_come, lambda: self._final_before(view), wishes,
                timeout,
            )

    def _may_come(self) -> bool:
        """Whether changes may come; what the query died of, if it did, for who would wait for them."""
        query = self._query
        if query is not None and not query.isActive and (failure := query.exception()) is not None:
            with self._explained():
                raise failure
        return not self._is_closed

    def sink_feed(self, name: str) -> FileFeed:
        """The changes of a view for a sink."""
        schema = changes_schema(self._view(name).schema)
        return FileFeed(self.ledger.changelog(output_name(name, Cargo.CHANGES)), schema, self.ledger.came)

    @property
    def run(self) -> tuple[str, int]:
        """The checkpoint, and which of its drivers this is; one that has nothing to run goes on for the last one."""
        epoch = self._settings.epoch
        return self._checkpoint.number, newest_epoch(self._settings.checkpoint) if epoch == NONE else epoch

    def keeps_all(self, name: str) -> bool:
        """Whether no change of a view is ever dropped."""
        return self._tidying.history_of(output_name(name, Cargo.CHANGES)) == ALL

    @property
    def is_running(self) -> bool:
        return self._query is not None

    def _final_before(self, view: View) -> int:
        with self._between_batches:
            return self._instants_of(view).final_before

    def write_final(
        self, names: Container[str], present: Callable[[str, pa.Table], pa.Table], folder: Path | str | None = None
    ) -> None:
        """Write the answers of views, as they are presented, to their files, beside the changes or elsewhere."""
        target = self._settings.output if folder is None else Folder.of(folder)
        for view in (view for view in shown(self.job) if view.name in names):
            write_answer(target, view, present(view.name, self.final(view.name)))

    def _open(self, folder: SealedFolder, base: Path, early: int) -> Checkpoint:
        """Mistakes of the user come out here, before anything starts."""
        for stream in self.job.streams:
            if is_file_stream(stream, self._frames):
                list_files(stream, base)
        found = find_checkpoint(folder, self.job)
        self.is_new = found is None
        checkpoint = make_checkpoint(folder, self.job, early) if found is None else found
        self._epoch_seen = NONE if self.is_new else newest_epoch(checkpoint.folder)  # who finds a new one may run it at once
        return checkpoint

    def _open_ledger(self, checkpoint: SealedFolder, output: Folder) -> Ledger:
        ledger = Ledger(checkpoint, output)

        def has_begun() -> bool:
            return bool(spark_folder(checkpoint).child("offsets").names()) or ledger.record.is_there

        if self.is_new or not has_begun():
            # Who made the checkpoint may have died before its outputs were ready, or be about to go on: it is told.
            self._claim_epoch(ledger)
            if not has_begun():  # it may have gone on in the meantime
                ledger.begin(self.job)
        ledger.read()
        return ledger

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

    @property
    def first_job(self) -> Job:
        """The job that the checkpoint began with, as it runs."""
        return self._settings.layout.of(self.steering.first)

    def _job_of_next_batch(self) -> tuple[int, Job]:
        """The version of the job that runs next, which need not be the newest."""
        folder = self._settings.checkpoint
        offset = offset_of(folder, self._version)
        number = 0 if offset is None else offset.job
        return number, job_at(folder, number, self.steering.first, self._code)

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

    def _instants_of(self, view: View) -> Instants:
        """As the last batch told them, to this driver or to the one before."""
        if not self._instants and self._version != BEFORE_ALL:
            folder = self._settings.checkpoint
            first = self._settings.layout.folder(folder).child("1", "0")
            told = History(first, partial(identity_of, folder)).answer(self._version)
            self._instants = told_instants(told or ())
        return self._instants.get(view.time, Instants())

    def _view(self, name: str) -> View:
        for view in shown(self.job):
            if view.name == name:
                return view
        raise SashError(f'unknown view "{name}"', f"views are: {choices(view.name for view in shown(self.job))}")

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

    def _claim(self) -> None:
        """From now on this is the one that runs the job; whoever did before finds out and stops."""
        if (path := self._settings.checkpoint.local_path) is not None:
            self._held.enter_context(run_lock(path))
        self._claim_epoch(self.ledger)
        remove_partial_files(self._settings.checkpoint)
        remove_partial_files(self._settings.output)

    def _claim_epoch(self, ledger: Ledger) -> None:
        settings = self._settings
        if settings.epoch != NONE:
            check_epoch(settings.checkpoint, settings.epoch)
            return
        epoch = claim_epoch(settings.checkpoint, self._epoch_seen)
        self._settings = replace(settings, epoch=epoch, arenas=self._arenas_in(epoch))
        ledger.epoch, ledger.fence = epoch, partial(check_epoch, settings.checkpoint, epoch)

    def _begin(self, trigger: Mapping[str, object]) -> None:
        self._claim()
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

    def _mind_homes(self) -> None:
        if self._homes is not None and self._homes.are_due(set(self._watch.moves.places.values())):
            with configured(self._spark, self._settings.checkpoint):
                self._homes.give_anew()

    def _think(self, told: list[Packet], rows: int) -> None:
        clocks = [packet.facts()["clock"] for packet in told if packet.cargo is Cargo.FACTS and packet.name == ENGINE]
        on_batch = self.on_batch
        self.steering.think(clocks, self._answers.live, None if on_batch is None else lambda: on_batch(rows))

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

    def look_afresh(self) -> None:
        """From now on statistics are about rows that are still to come."""
        with self._between_batches:
            self._watch.look_afresh()

    def counted(self) -> dict[str, Counts]:
        """What every operator has done in this run, for every second of the streams' time."""
        with self._between_batches:
            return self._watch.counted()

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

    @property
    def _version(self) -> int:
        """The last batch that was answered by all shards."""
        return self.progress.batch if self.progress.batch >= 0 else self._committed

    @property
    def _committed(self) -> int:
        commits = spark_folder(self._settings.checkpoint).child("commits").names()
        return max((int(name) for name in commits if name.isdigit()), default=BEFORE_ALL)

    def _live(self) -> Mapping[str, LiveView]:
        if not self._answers.live and self._query is None:
            self.ledger.read()
        self._answers.begin(self.job, self._version + 1)
        return self._answers.live

    def _ahead(self, name: str) -> list[pa.Table]:
        """The net changes of a view that rows already in would make, were time to go on to the last of them."""
        version = self._version
        if version == BEFORE_ALL or self.is_finished or self.progress.is_end:
            return []
        # A shard that has to be made again for it goes through the versions of the job from the first one on.
        first, settings, code = self.first_job, self._settings, dict(self._code)
        job = self.job.on(first.shards)
        look = partial(look_here, job, first, settings, self._readers.arenas, self._make_engine, code, version)
        return self._readers.ahead(version, name, look)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """An error of a task, or of Spark itself, as one clear message."""
        try:
            yield
        except (PySparkException, Py4JJavaError) as failure:
            told = explain(failure)
            raise told from told.__cause__
