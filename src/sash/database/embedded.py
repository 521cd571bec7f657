"""The database in this process: rows are pushed, and are part of every answer at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from sash.database.indexes import shapes_of
from sash.database.instants import Instant, parse_instant
from sash.database.questions import not_remembered
from sash.database.rows_in_process import RowsInProcess
from sash.database.sinks import MOST_WAITING, ActiveSink, EmbeddedFeed
from sash.database.subscription import EmbeddedSubscription
from sash.database.tables import file_rows
from sash.errors import SashError, as_text
from sash.file_names import file_name, writing
from sash.plan.streams import StreamSpec
from sash.planner.choose import Choice
from sash.runtime.asking import Found
from sash.runtime.history_limit import parse_history
from sash.runtime.instants import moment
from sash.runtime.live import Net
from sash.runtime.packets import changes_schema
from sash.runtime.subscribing import OnBatch, Slow, Wishes
from sash.runtime.taking_host import Changes
from sash.sinks.make import make_sink
from sash.sinks.options import Mode, sink_spec
from sash.sinks.runner import Runner
from sash.sql.catalog import SinkDefinition, ViewDefinition
from sash.sql.questions import Question, relation_of
from sash.turns import in_turn

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

COMPLETE_SINCE = "complete_since"  # in the metadata of a table of changes


class EmbeddedDatabase(RowsInProcess):
    """An engine in this process, without a JVM: for tests, notebooks, and answers within microseconds to milliseconds."""

    _place = "in this process"

    def stream(
        self, name: str, frame: DataFrame, timestamp: str | None = None, *, delay: str | None = None,
        idle_after: str | None = None, partition: str | Sequence[str] | None = None, position: str | None = None,
    ) -> NoReturn:
        self._check_open()
        raise SashError("a streaming DataFrame is read on Spark only", "push its rows, or connect to its session: connect(spark)")

    def start(self) -> NoReturn:
        self._check_open()
        raise SashError("an engine in this process does not run in the background", "push rows, or read files by run()")

    def drain(self) -> None:
        self._check_open()
        self.following.look()
        self.sinks.drain()

    def stop(self) -> None:
        return

    @in_turn
    def schedule(self, schedule: str = "auto", view: str = "", *, join: str = "auto") -> None:
        self._set_schedule(schedule, view, join)
        self._job = replace(self._job, schedules=self._all_schedules())
        if self._host is not None:
            with self.turns.work():
                self._host.reschedule(self._job.schedules)

    @in_turn
    def spread(self, shards: int) -> None:
        raise SashError("in this process there is one shard, and one core that it runs on", "connect to Spark to have several")

    def close(self) -> None:
        self.sinks.last_words()
        self.turns.close()
        self.sinks.stop()
        if self._host is not None:
            self._seen, self._host = self._host.progress.rows, None

    @in_turn
    def changes(self, name: str) -> pa.Table:
        host, found = self._running(), self._kept_view(name)
        table = pa.Table.from_batches(host.changes(found), changes_schema(host.views[found].view.schema))
        return table.replace_schema_metadata({COMPLETE_SINCE: moment(host.changes_since(found)).isoformat(" ")})

    @in_turn
    def subscribe(
        self, name: str, timeout: float | None = None, *, snapshot: bool = False, since: Instant | None = None,
        progress: bool = False, on_batch: OnBatch | None = None, queue: int | None = None, slow: str = "error",
    ) -> EmbeddedSubscription:
        host, found = self._running(), self._kept_view(name)
        begin = None if since is None else parse_instant(since, max(host.event_time, 0))
        unread = host.unread(found, Wishes.of(snapshot, begin, progress, queue, slow))
        subscription = EmbeddedSubscription(unread, self.turns, timeout, progress=progress)
        return subscription if on_batch is None else subscription.call(on_batch)

    def write_answers(self, folder: Path | str | None = None) -> None:
        self._check_open()
        if folder is None:
            raise SashError("an engine in this process has no output folder", "name one: write_answers(folder)")
        with writing(folder):
            Path(folder).mkdir(parents=True, exist_ok=True)
        for name in self.materialized():
            answer, path = self.final(name).to_arrow(), Path(folder) / f"{file_name(name)}.parquet"
            with writing(path):
                pq.write_table(answer, path)

    @property
    @in_turn
    def state_bytes(self) -> int:
        return self._running().state_bytes

    def taken_rows(self) -> dict[str, Changes]:
        """All changes, late and dead rows since the last call, by view or stream; they are kept no longer. Sinks come first."""
        self.sinks.drain()
        return self._taken_rows()

    @in_turn
    def _taken_rows(self) -> dict[str, Changes]:
        taken, views = self._running().taken_rows(), self.materialized()
        return {**taken, "changes": {name: changes for name, changes in taken["changes"].items() if name in views}}

    def _ask_windows(self, question: Question, tables: Mapping[str, Net], views: Sequence[str]) -> Found:
        specs = (*self.catalog.streams.values(), *map(relation_of, question.views))
        found = self._running().ask(self.questions.spec(question), specs, tables, views, question.whole)
        if found.missing is not None:
            raise not_remembered(found.missing, self._job)
        return found

    def _rows_of(self, table: StreamSpec) -> pa.RecordBatch:
        """Files of a table that no view has read are read for the question."""
        if table.name in self._tables or table.path is None:
            return self._table(table).rows()
        return file_rows(table, self.base).rows()

    @property
    def _is_closed(self) -> bool:
        return self.turns.is_closed

    def _turn(self) -> AbstractContextManager[None]:
        return self.turns.turn()

    def _reading(self, view: str) -> AbstractContextManager[None]:
        name = as_text(view, "a view's name").strip().lower()

        def is_through() -> bool:
            found = self.catalog.views.get(name)
            return found is not None and self._running().is_through(found.name)

        return self.turns.reading(name, is_through)

    def _looking(self) -> AbstractContextManager[None]:
        return self.turns.look()

    def _running_choice(self, view: str) -> tuple[Choice, int]:
        return self.queries.chosen(self._view(view).plan, 1, self.expiry, self.statistics), 1

    def _rows_seen(self) -> int:
        return self._seen if self._host is None else self._host.progress.rows

    def _view_created(self, view: ViewDefinition, replaces: str | None = None) -> None:
        history = None if view.history is None else parse_history(view.history)
        self._creations += 1
        moment = self._creations if self._has_rows else 0
        placed = self.queries.place(
            view, 1, self.expiry, self.statistics, moment, remembers=self._job.remembers
        )
        if replaces is not None:
            self._common_joins.go(replaces)
            self.queries.remove(replaces)
        if self._may_replan:
            placed = self._common_joins.come(placed, view.plan)
        self.queries.add(placed, view.plan)
        job, schedules = self._job.with_view(placed, self.catalog.streams.values(), replaces), self._all_schedules()
        read = {str(port.stream) for port in (job.new_ports(self._job) if job.remembers else job.ports)}
        self._job = job if job.schedules == schedules else replace(job, schedules=schedules)
        if self._host is not None:
            new = {name: table.rows() for name, table in self._tables.items() if name in read}
            with self.turns.work():
                if history is not None and replaces is None:
                    self._host.keep_history(view.name, history)
                self._host.add(placed, self._job, new, replaces)
                if history is not None and replaces is not None:
                    self._host.keep_history(view.name, history)
        self._move_joins()

    def _view_dropped(self, name: str) -> None:
        self._common_joins.go(name)
        self.queries.remove(name)
        self._job = self._job.without_view(name)
        if self._host is not None:
            with self.turns.work():
                self._host.drop(name, self._job)
        self._move_joins()

    def _indexes_changed(self) -> None:
        if self._host is not None:
            self._host.keep_indexes(shapes_of(self.catalog))

    def _sink_created(self, sink: SinkDefinition) -> None:
        """It begins with the answer, and follows. The run is this sink in this process: nobody goes on with it."""
        spec = sink_spec(sink, self._view(sink.view).plan)
        place = make_sink(sink.kind, spec, self.base, f"process {uuid4().hex}")
        self.sinks.check_place(place)
        place.check()
        host, slow = self._running(), Slow.BLOCK if spec.mode is Mode.CHANGES else Slow.SNAPSHOT
        wishes = Wishes(snapshot=True, slow=slow, queue=MOST_WAITING if slow is Slow.BLOCK else None)
        feed = EmbeddedFeed(lambda: host.unread(sink.view, wishes), self.turns)
        self.sinks.add(ActiveSink(sink, spec, place, Runner(sink.name, feed, place), feed))

    def _sink_dropped(self, name: str) -> None:
        gone = self.sinks.active.pop(name)
        if gone.runner is not None:
            gone.runner.stop(wait=False)  # it may wait for a turn, and this is one

    def _follow_declared(self) -> None:
        self.following.look_at_new()
