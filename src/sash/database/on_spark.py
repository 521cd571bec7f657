"""The database on Spark: the statements of a session, run as one streaming query."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pyarrow as pa

from sash.database.answer import Rows
from sash.database.database import Database
from sash.database.following import Follower
from sash.database.instants import Instant, parse_instant
from sash.database.options import check_count
from sash.database.replan import Replanner
from sash.database.sinks import ActiveSink
from sash.database.tables import TableRows, changed_rows, file_rows, whole_rows
from sash.errors import SashError, SinkWarning, SourceWarning, warn
from sash.folders.folder import reached
from sash.operators.spec import PortSpec, parts
from sash.plan.nodes import Plan
from sash.plan.streams import StreamSpec
from sash.planner.choose import Choice
from sash.planner.job import Job, View
from sash.planner.placement import Expiry
from sash.runtime.history_limit import Asked, parse_history
from sash.runtime.live import Net
from sash.runtime.progress import Progress
from sash.runtime.subscribing import OnBatch, Slow, Subscription, Wishes
from sash.sinks.make import make_sink
from sash.sinks.options import Mode, sink_spec
from sash.sinks.runner import Runner
from sash.spark.checkpoint import shards_of
from sash.spark.frame_streams import FILE_FORMATS, as_read, check_declared, check_streaming, declaration, loaded
from sash.spark.frame_tables import check_static, is_frame, static_rows, table_declaration
from sash.spark.host import SparkHost
from sash.spark.placed_frames import check_places, placed
from sash.spark.remote import cores
from sash.spark.running_query import RunningQuery
from sash.spark.sealed import SealedFolder
from sash.spark.trials import shown
from sash.spark.workers import begin_check
from sash.sql.bind.changes import DeleteRows, InsertRows, UpdateRows
from sash.sql.catalog import SinkDefinition, ViewDefinition
from sash.sql.define import Definition, define
from sash.sql.questions import Question
from sash.sql.syntax.parse import parse_statements
from sash.sql.syntax.statements import CreateAggregate, CreateIndex, CreateStream, CreateView, Drop, Statement
from sash.sql.syntax.text_positions import quoted
from sash.turns import in_turn

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.listener import StreamingQueryProgress


PATIENCE = 60.0  # seconds that a batch waits for a sink whose changes are not kept for ever


class SparkDatabase(Database):
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
        super().__init__(base, expiry, schedule, join_schedule, indexes)
        check_count("batch_rows", batch_rows)
        check_count("shards", shards)
        self._spark = spark
        self._workers_are_good = begin_check(spark)
        self._frames: dict[str, DataFrame] = {}
        self._host: SparkHost | None = None
        self._shards = shards
        self._backfill = backfill
        self._is_shown = temp_views and not callable(spark)  # nobody else uses a session that is made here
        self._flush = flush
        self._tables: dict[str, TableRows] = {}
        self._early: list[tuple[str, pa.RecordBatch]] = []  # changes of tables before the start
        self._set: dict[str, pa.RecordBatch] = {}  # all that tables are to hold, as was said before the start
        self._has_closed = False
        self._declared: list[str] = []  # statements since the start that no version of the job has on record
        self._replanner = Replanner()
        self._options = {
            "checkpoint": checkpoint, "output": output, "batch_rows": batch_rows, "flush": flush,
            "until": None if until is None else parse_instant(until),
            "on_progress": on_progress, "on_metrics": on_metrics, "observe": observe,
            "history": None if history is None else parse_history(history),
        }

    @in_turn
    def push(self, name: str, rows: Any) -> None:
        self._check_open()
        spec = self._taking_rows(name)
        if not spec.is_table:
            raise SashError(
                f'on Spark the rows of stream "{spec.name}" come from its source',
                "put them into its files, or connect a streaming DataFrame with stream()",
            )
        self._change_table(spec, lambda table: table.insert(whole_rows(spec, rows)))

    @in_turn
    def delete(self, name: str, rows: Any) -> None:
        self._check_open()
        spec = self._updatable_table(name)
        self._change_table(spec, lambda table: table.delete(whole_rows(spec, rows)))

    @in_turn
    def table(self, name: str, rows: Any) -> None:
        self._check_open()
        if is_frame(rows):
            if self.catalog.find(name) is None:
                check_static(name, rows)
                self.execute(table_declaration(name, rows))
            rows = static_rows(self._updatable_table(name), rows)
        spec = self._updatable_table(name)
        batch = whole_rows(spec, rows)
        if self._host is None:
            self._set[spec.name] = batch
        self._change_table(spec, lambda table: table.become(batch))

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

    @property
    def _is_closed(self) -> bool:
        return self._has_closed

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """A statement that waits for its batch holds no question back."""
        self._check_open()
        yield

    def _running_choice(self, view: str) -> tuple[Choice, int]:
        choice = None if self._host is None else self._host.steering.choice_of(view)
        return choice or self._chosen(self._view(view).plan), self._shards or 1

    def _rows_seen(self) -> int:
        return 0 if self._host is None else self._host.progress.rows

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

    def _set_again(self, host: SparkHost) -> None:
        """After a restart, tables hold what the checkpoint says; what they are to hold may have changed meanwhile."""
        for name, batch in self._set.items() if not host.is_finished else ():
            with self._table(self._stream(name)).changing() as table:
                change = table.become(batch)
                if change.num_rows:
                    host.change_table(name, change)

    def _fresh_job(self) -> Job:
        """The job of all views, as if it began now."""
        return replace(self.planned(self._shards or 1), remembers=self._backfill)

    def _go_on_with(self, host: SparkHost, job: Job) -> None:
        """A checkpoint may know of views that came and went after its beginning, which this session has not been told."""
        for sql in host.versions.statements if job != host.steering.newest and host.is_first(job) else ():
            for statement in parse_statements(sql):
                if not self._is_declared(statement):
                    define(statement, self.catalog)  # type: ignore[arg-type]
        for view in shown(host.steering.newest):
            self.queries.add(view, self._view(view.name).plan)
        host.on_batch = self._maybe_replan if self.expiry is Expiry.AUTO and self._backfill else None

    def _is_declared(self, statement: Statement) -> bool:
        """Whether this session has said itself what the checkpoint knows besides its materialized views."""
        if isinstance(statement, CreateStream):
            return self.catalog.streams.get(statement.name.text.lower()) == as_read(self._with_messages(statement).spec)
        if isinstance(statement, CreateAggregate):
            return statement.name.text.lower() in self.catalog.macros and not statement.or_replace
        if isinstance(statement, CreateView) and not statement.is_materialized and not statement.or_replace:
            return statement.name.text.lower() in self.catalog.views
        if isinstance(statement, CreateIndex):
            return statement.name.text.lower() in self.catalog.indexes
        if isinstance(statement, Drop) and statement.kind == "INDEX":
            return statement.name.text.lower() not in self.catalog.indexes
        return isinstance(statement, Drop) and statement.kind != "AGGREGATE" and self.catalog.find(statement.name.text) is None

    def _maybe_replan(self, rows: int) -> None:
        """Between two batches: try other plans, if the streams have come to look very different from what was thought."""
        host = self._host
        if host is None or not self._replanner.is_due(rows):
            return
        statistics, views = host.statistics(), [view for view in list(self.catalog.views.values()) if view.is_materialized]
        host.look_afresh()
        running = {view.name: view.spec for view in host.steering.newest.views}

        def current(view: ViewDefinition) -> Choice | None:
            """None for a view that has no other plan, or that came later and is not run as it would be by itself."""
            choice = host.steering.choice_of(view.name) or self._chosen(view.plan)
            if choice.is_only or running.get(view.name) != choice.placed(self._shards or 1, self.expiry)[0]:
                return None
            return choice

        found = self._replanner.found(statistics, views, current, self._shards or 1)
        better = {View(view.name, *choice.placed(self._shards or 1, self.expiry)): choice for view, choice in found}
        if better:
            host.steering.try_plans(better)

    def _chosen(self, plan: Plan) -> Choice:
        return self.queries.chosen(plan, self._shards or 1, self.expiry, self.statistics)

    def _check_open(self) -> None:
        if self._is_closed:
            raise SashError("the database is closed", "connect again, with the same checkpoint to go on from there")

    def _execute(self, sql: str) -> Rows | None:
        result = super()._execute(sql)
        self._catch_up()
        return result

    def _carry_out(self, statement: Statement) -> Rows | None:
        self._catch_up()
        self._follow_plans()
        return super()._carry_out(statement)

    def _catch_up(self) -> None:
        """What is on record, the session knows by now: whatever becomes of the batch that brings it, it is not undone."""
        if self._host is not None:
            self._host.catch_up()

    def _follow_plans(self) -> None:
        """Views may have been planned anew since the last statement."""
        for view in shown(self._host.steering.newest) if self._host is not None else ():
            if view.name in self.queries.views and self.queries.views[view.name] != view:
                self.queries.remove(view.name)
                self.queries.add(view, self._view(view.name).plan)

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

    def _define(self, statement: Definition) -> None:
        """What is declared while the job runs is put down with the next view, which may read it."""
        super()._define(statement)
        if isinstance(statement, CreateStream) and statement.name.text.lower() in self.catalog.streams:
            declared = self._stream(statement.name.text)
            self.catalog.streams[declared.name.lower()] = as_read(declared)
        is_materialized = isinstance(statement, CreateView) and statement.is_materialized
        if self._host is not None and not is_materialized:
            self._declared.append(statement.source.sql)

    def _define_index(self, statement: CreateIndex | Drop) -> None:
        """An index of a view is no part of the job. One of a window is: what is said of it is put down with the next change."""
        name, declared = statement.name.text.lower(), self._declared
        if isinstance(statement, CreateIndex):
            is_of_window = statement.window is not None
        else:
            is_of_window = name in self.catalog.indexes and self.catalog.indexes[name].view.lower() in self.catalog.windows
        if self._host is not None and is_of_window:
            self._declared = [*declared, statement.source.sql]
        try:
            super()._define_index(statement)
        except SashError:
            self._declared = declared
            raise

    def _window_created(self, window: ViewDefinition) -> None:
        self._run_view(window, "")

    def _window_dropped(self, name: str) -> None:
        self._end_view(name, "")

    def _view_created(self, view: ViewDefinition, replaces: str | None = None) -> None:
        if view.history is not None:
            parse_history(view.history)  # an error if it says nothing
        columns = ", ".join(map(quoted, view.plan.schema.names))
        how = "CREATE" if replaces is None else "CREATE OR REPLACE"
        kept = "" if view.history is None else f" WITH (history = '{parse_history(view.history)}')"
        said = f"{how} MATERIALIZED VIEW {quoted(view.name)} ({columns}){kept} AS {view.sql}"
        self._run_view(view, said, replaces)

    def _run_view(self, view: ViewDefinition, said: str, replaces: str | None = None) -> None:
        """Let the job have one more, which this statement makes, if it is not one of those that are put down with it."""
        if self._host is None:
            return
        self._must_remember()
        placed = self.queries.place(
            view, self._shards or 1, self.expiry, self.statistics, self._host.versions.newest + 1, remembers=True
        )
        self._check_frames(placed)
        streams, before = tuple(self.catalog.streams.values()), self._host.steering.newest

        def make(job: Job) -> Job:
            return job.with_view(placed, streams, replaces)

        tables = self._rows_of_new_ports(before, make(before))
        self._change(make, said, tables)
        self._present(self._host, view)
        if replaces is not None:
            self.queries.remove(replaces)
        self.queries.add(placed, view.plan)

    def _present(self, host: SparkHost, view: ViewDefinition) -> None:
        """A view has come: so much of its past is kept, and the session sees it, if that is wanted."""
        if view.history is not None:
            host.keep_history(view.name, parse_history(view.history))
        if self._is_shown and view.name.lower() in self.catalog.views:
            host.show(view.name, view.plan.schema)

    def _rows_of_new_ports(self, before: Job, after: Job) -> dict[str, pa.RecordBatch]:
        """Of the tables that are read by a key by which nobody has read them so far: all their rows."""
        streams = {port.stream for port in after.new_ports(before)}
        return {one.name: self._table(one).rows() for one in after.streams if one.is_table and one.name in streams}

    def _view_dropped(self, name: str) -> None:
        self._end_view(name, f"DROP VIEW {quoted(name)}")

    def _end_view(self, name: str, said: str) -> None:
        if self._host is None:
            return
        self._must_remember()
        self._change(lambda job: job.without_view(name), said, {})
        self._host.hide(name)
        self.queries.remove(name)

    def _change(self, make: Callable[[Job], Job], sql: str, tables: Mapping[str, pa.RecordBatch]) -> None:
        """Put a change of the job on record; nothing has changed where that is refused."""
        assert self._host is not None
        self._host.change(make, ";\n".join([*self._declared, sql]), self._fresh_job(), tables)
        self._declared = []

    def _must_remember(self) -> None:
        if not self._backfill:
            raise SashError("the views of this job cannot change", "connect without backfill=False")

    def _check_frames(self, view: View) -> None:
        assert self._host is not None
        steering = self._host.steering
        known = {stream.name for stream in (*steering.first.streams, *steering.newest.streams)}
        for part in parts(view.spec):
            stream = part.stream if isinstance(part, PortSpec) else None
            spec = self.catalog.streams.get((stream or "").lower())
            if spec is not None and spec.name not in known and not spec.is_table and spec.path is None:
                raise SashError(
                    f'stream "{spec.name}" was not read when the job began, and has no files',
                    "let a view read it before start(), or declare it WITH (format = …, path = …)",
                )

    def _table(self, spec: StreamSpec) -> TableRows:
        """What a table holds: its files, then all changes that were asked for."""
        if spec.name not in self._tables:
            if spec.name in self._frames:
                raise SashError(f'table "{spec.name}" comes as a DataFrame', "change it there")
            table = file_rows(spec, self.base)
            for change in self._host.versions.table_changes(spec.name) if self._host is not None else ():
                table.apply(change)
            self._tables[spec.name] = table  # whole, or not at all
        return self._tables[spec.name]

    def _indexes_changed(self) -> None:
        """The driver has indexes of the answers that it holds; a question makes them, or drops those that are gone."""

    def _sink_created(self, sink: SinkDefinition) -> None:
        """It is written while the job runs; whose the table is, is seen then: the run is the checkpoint."""
        spec = sink_spec(sink, self._view(sink.view).plan)
        place = make_sink(sink.kind, spec, self.base, None)
        self.sinks.check_place(place)
        place.check()
        self.sinks.add(ActiveSink(sink, spec, place))
        if self._host is not None and self._host.is_running:
            self._begin_sinks()

    def _sink_dropped(self, name: str) -> None:
        with self.sinks.lock:
            gone = self.sinks.active.pop(name)
        if gone.runner is not None:
            gone.runner.stop(wait=True)
            try:
                gone.sink.release()
            except SashError as error:
                told = f'who creates sink "{gone.spec.name}" again goes on where it was: {error}'
                warn(told, SinkWarning)

    def _begin_sinks(self) -> None:
        """Let those write that do not; for this checkpoint, and for this driver of it. No turn is needed: a batch calls this, and
        who has the turn may wait for a batch."""
        host = self._running()
        with self.sinks.lock:
            idle = [one for one in self.sinks.active.values() if one.runner is None or one.runner.is_stopped]
            if not idle:
                return
            run, epoch = host.run
            for one in idle:
                # Another view of the name is another run.
                query = hashlib.sha256(self._view(one.spec.view).sql.encode()).hexdigest()
                whose = f"checkpoint {run} {one.spec.name} {query[:16]}"
                sink = make_sink(one.definition.kind, one.spec, self.base, whose, epoch)
                feed = host.sink_feed(one.spec.view)
                self.sinks.add(replace(one, sink=sink, feed=feed, runner=Runner(one.spec.name, feed, sink)))

    def _wait_for_sinks(self, batch: int) -> None:
        """A batch is on record. Where its changes may be dropped before a sink has written them, it waits for the sink."""
        self._begin_sinks()
        for one in list(self.sinks.active.values()):
            if one.runner is not None and one.spec.mode is Mode.CHANGES and not self._running().keeps_all(one.spec.view):
                one.runner.drain_patiently(PATIENCE)

    def _drain_sinks(self) -> None:
        if self.sinks.active:
            self._begin_sinks()
            self.sinks.drain()

    def _ask_windows(self, question: Question, tables: Mapping[str, Net], views: Sequence[str]) -> NoReturn:
        names = " and ".join(f'"{stream.name}"' for stream in question.streams)
        raise SashError(
            f"on Spark the rows of streams are in its workers, and {names} cannot be asked here",
            "create a materialized view of this window, and ask that one: SELECT … FROM view; or, before rows come, an index",
        )

    def _answer_of_streams(self, question: Question) -> NoReturn:
        raise self._lacks_rows(question)

    def _rows_of(self, table: StreamSpec) -> pa.RecordBatch:
        return self._table(table).rows()

    def _follow(self, host: SparkHost) -> None:
        """What tables follow is looked at; a checkpoint may know of some that this session has not declared."""
        if not host.is_finished:
            self.following.keep(self.catalog.streams.values())
            self.following.go_on(host.versions.followed_to)
            self.following.look()

    @in_turn
    def _apply_followed(self, spec: StreamSpec, follower: Follower, fetched: Any) -> None:
        if self.catalog.streams.get(spec.name.lower()) != spec:
            return  # it was dropped meanwhile
        with self._table(spec).changing() as table:
            change = follower.change(table, fetched)
            if change.rows.num_rows:
                self._running().change_table(spec.name, change.rows, change.position)
        if change.dead.num_rows:
            where, row, reason = (change.dead.column(name)[0].as_py() for name in ("file", "row", "reason"))
            told = f'{change.dead.num_rows:,} messages of table "{spec.name}" cannot be read; the first, {where} {row}: {reason}'
            warn(told, SourceWarning)

    def _change_rows(self, change: InsertRows | UpdateRows | DeleteRows) -> None:
        spec = change.into if isinstance(change, InsertRows) else change.table
        if not spec.is_table:
            raise SashError(f'"{spec.name}" is a stream: on Spark its rows come from its source', "put them into its files")
        self._change_table(spec, lambda table: changed_rows(table, change))

    def _change_table(self, spec: StreamSpec, change: Callable[[TableRows], pa.RecordBatch]) -> None:
        with self._table(spec).changing() as table:
            if self._host is None:
                self._early.append((spec.name, change(table)))
            else:
                self._host.change_table(spec.name, change(table))

    def _not_started(self, what: str) -> None:
        if self._host is not None:
            raise SashError(f"{what} while the job runs", "declare everything before start() or run()")
