"""The database on Spark: the statements of a session, run as one streaming query."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from sash.database.instants import Instant, parse_instant
from sash.database.options import check_count
from sash.database.views_on_spark import ViewsOnSpark
from sash.errors import SashError
from sash.folders.folder import reached
from sash.planner.choose import Choice
from sash.runtime.history_limit import Asked, parse_history
from sash.runtime.live import Net
from sash.runtime.progress import Progress
from sash.runtime.subscribing import OnBatch, Slow, Subscription, Wishes
from sash.spark.checkpoint import shards_of
from sash.spark.frame_streams import FILE_FORMATS, check_declared, check_streaming, declaration, loaded
from sash.spark.host import SparkHost
from sash.spark.placed_frames import check_places, placed
from sash.spark.remote import cores
from sash.spark.running_query import RunningQuery
from sash.spark.sealed import SealedFolder
from sash.spark.workers import begin_check
from sash.sql.questions import Question
from sash.turns import in_turn

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.listener import StreamingQueryProgress


class SparkDatabase(ViewsOnSpark):
    """Views on a SparkSession, run as one streaming query. While it runs, CREATE and DROP take effect between two of its batches.

        db = sash.connect(spark, checkpoint="…", output="…")
        db.execute("CREATE STREAM …; CREATE MATERIALIZED VIEW v AS …")
        db.stream("conn", streaming_df, timestamp="ts")   # any streaming DataFrame; files are read by their path
        db.start()                               # or db.run(), to the end of bounded input
        db.view("v"); db.changes("v")            # the live answer; a streaming DataFrame
    """

    _place = "on Spark"

    def __init__(
        self, spark: SparkSession | Callable[[], SparkSession], *, checkpoint: Path | str | None = None,
        output: Path | str | None = None, shards: int | None = None, batch_rows: int | None = None,
        base: Path | str | None = None, expiry: str = "auto", schedule: str = "auto", join_schedule: str = "auto",
        until: Instant | None = None, flush: bool = True, on_progress: Callable[[Progress], None] | None = None,
        on_metrics: Callable[[StreamingQueryProgress, dict[str, Any]], None] | None = None, observe: bool = False,
        backfill: bool = True, history: Asked | None = None, temp_views: bool = True, indexes: str = "auto",
    ) -> None:
        is_shown = temp_views and not callable(spark)  # nobody else uses a session that is made here
        super().__init__(base, expiry, schedule, join_schedule, indexes, shards, backfill=backfill, is_shown=is_shown)
        check_count("batch_rows", batch_rows)
        check_count("shards", shards)
        self._spark = spark
        self._workers_are_good = begin_check(spark)
        self._flush = flush
        self._has_closed = False
        self._options = {
            "checkpoint": checkpoint, "output": output, "batch_rows": batch_rows, "flush": flush,
            "until": None if until is None else parse_instant(until),
            "on_progress": on_progress, "on_metrics": on_metrics, "observe": observe,
            "history": None if history is None else parse_history(history),
        }

    @in_turn
    def stream(
        self, name: str, frame: DataFrame, timestamp: str | None = None, *, delay: str | None = None,
        idle_after: str | None = None, partition: str | Sequence[str] | None = None, position: str | None = None,
    ) -> None:
        self._check_open()
        self._not_started("a stream cannot be connected")
        check_streaming(name, frame)
        check_places(name, frame, partition, position)
        if self.catalog.find(name) is None:
            self.execute(declaration(name, frame, timestamp, delay, idle_after))
        else:
            check_declared(self._stream(name), timestamp, delay, idle_after)
        spec = placed(self._stream(name), partition, position)
        self.catalog.streams[spec.name.lower()] = spec
        self._frames[spec.name] = frame

    def advance(self, to: Instant, stream: str = "") -> None:
        self._check_open()
        name, host = self._stream(stream).name if stream else "", self._running()
        host.advance(parse_instant(to, host.progress.event_time or 0), name)

    def poll(self) -> None:
        self._check_open()

    def end(self) -> None:
        self._check_open()
        if not self._flush:
            raise SashError("the end of the input was to be left open", "connect with the same checkpoint, and not flush=False")
        self.stop()
        self.run()

    def run(self) -> None:
        try:
            host = self._running()
            host.check_idle()  # a query that has failed would take nothing
            self._follow(host)
            host.run_to_end()
            self._drain_sinks()
        finally:
            self.sinks.stop()

    def start(self) -> RunningQuery:
        host = self._running()
        host.check_idle()
        self._follow(host)
        handle = host.start(self)
        self._begin_sinks()
        self.following.begin()
        return handle

    def drain(self) -> None:
        self._follow(self._running())
        self._running().drain()
        self._drain_sinks()

    def stop(self) -> None:
        self.following.stop()
        if self._host is not None:
            self._host.stop()
        self.sinks.stop()

    @in_turn
    def schedule(self, schedule: str = "auto", view: str = "", *, join: str = "auto") -> None:
        self._check_open()
        self._set_schedule(schedule, view, join)
        if self._host is not None:
            schedules = self._all_schedules()
            self._host.change(lambda job: replace(job, schedules=schedules), "", self._fresh_job(), {})
            self._host.catch_up()

    @in_turn
    def spread(self, shards: int) -> None:
        self._check_open()
        check_count("shards", shards)
        if self._host is None:
            self._shards = shards
        else:
            self._host.spread(shards)

    def close(self) -> None:
        is_first, self._has_closed = not self._has_closed, True
        self.following.stop()
        if self._host is not None and is_first:
            self._host.stop()
            self.sinks.last_words()
            self.sinks.stop()
            self._host.close()

    def _check_open(self) -> None:
        if self._is_closed:
            raise SashError("the database is closed", "connect again, with the same checkpoint to go on from there")

    @property
    def _is_closed(self) -> bool:
        return self._has_closed

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """A statement that waits for its batch holds no question back."""
        self._check_open()
        yield

    def _not_started(self, what: str) -> None:
        if self._host is not None:
            raise SashError(f"{what} while the job runs", "declare everything before start() or run()")

    def changes(self, name: str) -> DataFrame:
        self._check_open()
        found = self._kept_view(name)
        return self._running().changes(found)

    def subscribe(
        self, name: str, timeout: float | None = None, *, snapshot: bool = False, since: Instant | None = None,
        progress: bool = False, on_batch: OnBatch | None = None, queue: int | None = None, slow: str = "error",
    ) -> Subscription:
        self._check_open()
        found = self._kept_view(name)
        if queue is not None or slow == Slow.BLOCK.value:
            raise SashError(
                "on Spark changes wait in files: no queue is bounded, and nobody waits for a reader",
                'leave queue out, keep more history, or say slow="snapshot"',
            )
        host = self._running()
        begin = None if since is None else parse_instant(since, host.progress.event_time or 0)
        subscription = host.subscribe(found, timeout, Wishes.of(snapshot, begin, progress, queue, slow))
        return subscription if on_batch is None else subscription.call(on_batch)

    def write_answers(self, folder: Path | str | None = None) -> None:
        self._running().write_final(self.materialized(), self._presented, folder)

    @property
    def state_bytes(self) -> int:
        return self._running().progress.state_bytes

    def _running_choice(self, view: str) -> tuple[Choice, int]:
        choice = None if self._host is None else self._host.steering.choice_of(view)
        return choice or self._chosen(self._view(view).plan), self._shards or 1

    def _rows_seen(self) -> int:
        return 0 if self._host is None else self._host.progress.rows

    def _ask_windows(self, question: Question, tables: Mapping[str, Net], views: Sequence[str]) -> NoReturn:
        names = " and ".join(f'"{stream.name}"' for stream in question.streams)
        raise SashError(
            f"on Spark the rows of streams are in its workers, and {names} cannot be asked here",
            "create a materialized view of this window, and ask that one: SELECT … FROM view; or, before rows come, an index",
        )

    def _answer_of_streams(self, question: Question) -> NoReturn:
        raise self._lacks_rows(question)

    def _running(self) -> SparkHost:
        """The host; from the first call on, statements change what runs."""
        self._check_open()
        return self._host or self._made_host()

    @in_turn
    def _made_host(self) -> SparkHost:
        """Threads that come at once find one; a statement that waits for its batch holds nobody back later."""
        if self._host is None:
            if not self.materialized() and not self.catalog.windows:
                raise SashError("there is no materialized view to run", "execute CREATE MATERIALIZED VIEW … first")
            self._workers_are_good()
            spark = self._spark() if callable(self._spark) else self._spark
            wanted = self._shards
            self._shards = self._shards_on_record() or wanted or cores(spark)  # for plans, which stay as they are
            job = self._fresh_job()
            frames = self._frames | self._loaded(spark, {stream.name for stream in job.streams})
            known = {"frames": frames, "code": self.catalog.code, "early": self._early, "shards": wanted}
            with reached(self._options["checkpoint"], self._options["output"]):
                host = SparkHost(spark, job, self.base, **known, **self._options)  # type: ignore[arg-type]
            self._go_on_with(host, job)
            for view in (*self.materialized().values(), *self.catalog.windows.values()):
                self._present(host, view)
            host.on_taken = self._wait_for_sinks
            self._host = host
            if not host.is_new:
                self._tables.clear()  # what they hold by now, the checkpoint tells
                self._set_again(host)
        return self._host

    def _shards_on_record(self) -> int | None:
        """The number of shards that the plans of a checkpoint were made for."""
        place = self._options["checkpoint"]
        if place is None:
            return None
        with reached(place):
            return shards_of(SealedFolder.of(place))  # type: ignore[arg-type]

    def _loaded(self, spark: SparkSession, names: set[str]) -> dict[str, DataFrame]:
        """Streams of any format that Spark knows and Sash does not read itself."""
        frames = {}
        for stream in self.catalog.streams.values():
            if stream.name not in names or stream.name in self._frames:
                continue
            form = stream.option("format")
            if stream.is_followed or (stream.is_table and form is None and stream.path is None):
                continue  # its rows come by statements, or as if they did
            if form is None and stream.path is None:
                raise SashError(
                    f'stream "{stream.name}" has no source',
                    "add WITH (format = …, path = …), or connect a DataFrame with stream()",
                )
            if form is not None and form.lower() not in FILE_FORMATS:
                frames[stream.name] = loaded(spark, stream, form)
        return frames

    def _follow(self, host: SparkHost) -> None:
        """What tables follow is looked at; a checkpoint may know of some that this session has not declared."""
        if not host.is_finished:
            self.following.keep(self.catalog.streams.values())
            self.following.go_on(host.versions.followed_to)
            self.following.look()
