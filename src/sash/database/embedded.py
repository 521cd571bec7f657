"""The facade: connect, declare, push rows, read answers.

    db = sash.connect()                     one engine in this process
    db = sash.connect(spark, …)             the same statements on a SparkSession (sash.database.on_spark)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from datetime import time as time_of_day
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa

from sash.database.answer import Answer
from sash.database.replan import Replanner
from sash.database.statements import StatementExecutor
from sash.database.subscription import Subscription
from sash.database.tables import TableRows, changed_rows
from sash.errors import SashError
from sash.plan.streams import Stamp, StreamSpec
from sash.planner.job import Job
from sash.planner.placement import Expiry
from sash.runtime.embedded import EmbeddedHost
from sash.runtime.history_limit import DEFAULT, Asked, parse_history
from sash.runtime.idle_clock import Present
from sash.runtime.packets import Packet, changes_schema
from sash.schema import BEGINNING
from sash.sources.batches import batches
from sash.sources.convert import convert
from sash.sources.read import read
from sash.sources.result import ReadResult
from sash.sources.splits import Split
from sash.sql.bind.changes import DeleteRows, InsertRows, UpdateRows
from sash.sql.catalog import ViewDefinition
from sash.sql.syntax.statements import Advance
from sash.stores.arena import Arena
from sash.turns import in_turn

COMPLETE_SINCE = "complete_since"  # in the metadata of a table of changes
PUSH_ROWS = 1 << 18  # a larger push is worked off in pieces


def now_in_microseconds() -> int:
    return time.time_ns() // 1000


def parse_instant(text: str, day: int) -> int:
    """A timestamp, or a time of the day that `day` is in, as microseconds."""
    epoch = datetime(1970, 1, 1)
    try:
        if ":" in text[:3]:
            moment = datetime.combine((epoch + timedelta(microseconds=day)).date(), time_of_day.fromisoformat(text))
        else:
            moment = datetime.fromisoformat(text)
    except ValueError:
        raise SashError(f'"{text}" is not a timestamp', "write it as 2024-05-01 12:00:00 or 12:00:00") from None
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    return (moment - epoch) // timedelta(microseconds=1)


def moment(instant: int) -> datetime:
    return datetime(1970, 1, 1) + timedelta(microseconds=instant)


class EmbeddedDatabase(StatementExecutor):
    """An engine in this process."""

    def __init__(
        self, clock: Callable[[], int] = now_in_microseconds, base: Path | None = None, expiry: str = "auto",
        schedule: str = "auto", *, backfill: bool = True, history: Asked = DEFAULT,
    ) -> None:
        super().__init__(base or Path.cwd(), expiry, schedule)
        self._job = Job((), (), (), 1, 1, remembers=backfill)
        self._history = parse_history(history)
        self._clock = clock
        self._arena = Arena.anonymous()
        self._last_arrival = 0
        self._host: EmbeddedHost | None = None
        self._present = Present(clock())
        self._tables: dict[str, TableRows] = {}
        self._has_rows, self._creations = False, 0
        self._table_instant, self._is_advanced = BEGINNING - 1, False
        self._replanner = Replanner()

    @in_turn
    def push(self, name: str, rows: Any) -> None:
        """Rows of a stream: dicts, tuples, columns, Arrow or pandas. They become part of every answer at once."""
        spec = self._taking_rows(name)
        result = convert(spec, rows)
        batch = self._table(spec).insert(result.batch) if spec.is_table else result.batch
        self._take(spec, batch, result.dead)

    @in_turn
    def delete(self, name: str, rows: Any) -> None:
        """Rows leave a table, each once."""
        spec = self._taking_rows(name)
        result = convert(spec, rows)
        self._take(spec, self._table(spec).delete(result.batch), result.dead)

    @in_turn
    def advance(self, to: str | int, stream: str = "") -> None:
        """Time moves to an instant without data: no row before it will come any more."""
        host = self._running()
        self._is_advanced = True
        instant = to if isinstance(to, int) else parse_instant(to, host.event_time)
        with self.turns.work():
            host.advance(instant, self._stream(stream).name if stream else "", self._unread())

    @in_turn
    def poll(self) -> None:
        """Let time reach the present though no row arrives: that of streams stamped at arrival, and of those that are idle.

        Nothing happens if nobody waits for it.
        """
        host, now = self._running(), max(self._clock(), self._last_arrival + 1)
        if not host.graph.waits_before(now):
            return
        if host.job.asks_tables_for_time and not self._is_advanced:
            self._tell_the_time(host)
        for stream, clock in self._present.advances(host.job, host.clocks, now).items():
            self._last_arrival = max(self._last_arrival, now - 1)
            with self.turns.work():
                host.advance(clock, stream)

    @in_turn
    def schedule(self, schedule: str, view: str = "") -> None:
        """Run operators in another order from now on: all of them, or those of a view. No answer depends on it."""
        self._set_schedule(schedule, view)
        if self._host is not None:
            with self.turns.work():
                self._host.reschedule(self._all_schedules())

    @in_turn
    def end(self) -> None:
        """The input is over: everything up to the greatest timestamp is final."""
        host = self._running()
        with self.turns.work():
            host.end(unread=self._unread())

    @in_turn
    def view(self, name: str) -> Answer:
        """The answer over all rows taken in so far."""
        host, found = self._running(), self._kept_view(name)
        with self.turns.look():
            rows = host.view(found)
        return Answer(self._presented(found, rows))

    @in_turn
    def changes(self, name: str) -> pa.Table:
        """The changes of a view that are final and kept (`connect(history=…)`), in order: _op, _ts, then its columns.

        The table's metadata says from which instant on it is complete, as `changes_since` does.
        """
        host, found = self._running(), self._kept_view(name)
        table = pa.Table.from_batches(host.changes(found), changes_schema(host.views[found].view.schema))
        return table.replace_schema_metadata({COMPLETE_SINCE: moment(host.changes_since(found)).isoformat(" ")})

    @in_turn
    def changes_since(self, name: str) -> datetime:
        """From which instant on `changes` has every change; the beginning of the calendar if none was dropped."""
        return moment(self._running().changes_since(self._kept_view(name)))

    @in_turn
    def subscribe(self, name: str, timeout: float | None = None) -> Subscription:
        """The changes of a view that come from now on, as an iterator of Arrow batches, for another thread, or for later.

        It ends when the view is dropped or the database is closed, and, given a `timeout`, when nothing has come for so many
        seconds; then one may ask again.
        """
        return Subscription(self._running().unread(self._kept_view(name)), self.turns, timeout)

    def close(self) -> None:
        """Nothing can be asked any more; subscribers get what they have not read, and end."""
        with self.turns.last_turn():
            self.turns.close()
            self._host = None

    def __enter__(self) -> EmbeddedDatabase:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    @in_turn
    def complete_since(self, name: str) -> datetime | None:
        """From when on a view is right for all rows that ever came; None: never, it is right for rows since its creation.

        A view that was there before the first row is complete since the beginning of the calendar.
        """
        since = self._running().views[self._kept_view(name)].complete_since
        return None if since is None else moment(since)

    @property
    @in_turn
    def state_bytes(self) -> int:
        """Bytes that operators and ports hold."""
        return self._running().state_bytes

    @in_turn
    def late(self, name: str) -> pa.Table:
        """Rows of a stream that came too late: the newest, as far as they are kept; `metrics` counts them all."""
        host, spec = self._running(), self._stream(name)
        return pa.Table.from_batches(host.late[spec.name].batches() if spec.name in host.late else [], spec.schema.arrow)

    @in_turn
    def dead(self, name: str) -> pa.Table:
        """Rows of a stream that could not be read, each with the reason: the newest, as far as they are kept."""
        host, found = self._running(), self._stream(name).name
        batches = host.dead[found].batches() if found in host.dead else []
        return pa.Table.from_batches(batches) if batches else pa.table({"reason": pa.array([], pa.string())})

    @in_turn
    def metrics(self) -> dict[str, Any]:
        """What the job has done so far, as plain data: rows through every arc by sign, time and state of every operator, delays
        of every view (`sash.runtime.metrics`)."""
        return self._running().metrics()

    @in_turn
    def analyze(self, view: str) -> str:
        host, name = self._running(), self._kept_view(view)
        choice = self.queries.chosen(self._view(name).plan, 1, self.expiry, self.statistics)
        return self._analyzed(choice, 1, host.counted(), host.statistics())

    @in_turn
    def failures(self) -> list[tuple[str, int, object]]:
        """Expressions that failed on a row and gave NULL: reason, count and an example."""
        return self._running().failures.items()

    def run(
        self, until: int | None = None, batch_rows: int | None = None,
        on_batch: Callable[[EmbeddedHost], None] | None = None, flush: bool = True,
    ) -> None:
        """Read the files of all streams to their end; `flush` makes everything up to it final.

        Other threads have their turns between two batches; `on_batch` is called there too.
        """
        host = self._begin_run(until)
        for batch in batches(host.job.streams, self.base, batch_rows):
            self._run_batch(batch)
            if on_batch is not None:
                on_batch(host)
        if flush:
            self._end_run(until)
        if on_batch is not None:
            on_batch(host)

    @in_turn
    def _begin_run(self, until: int | None) -> EmbeddedHost:
        host = self._running()
        if until is not None:
            with self.turns.work():
                host.limit(until)
        return host

    @in_turn
    def _run_batch(self, splits: Sequence[Split]) -> None:
        """What cannot be read changes nothing: all is read before any of it is taken."""
        host, specs = self._running(), [self._stream(split.stream) for split in splits]
        results = [(spec, read(spec, split)) for spec, split in zip(specs, splits, strict=True)]
        before, self._has_rows = host.progress.rows, True
        with self.turns.work():
            host.step(packet for spec, result in results for packet in self._packets(spec, result))
        self._think_again(host.progress.rows - before)

    @in_turn
    def _end_run(self, until: int | None) -> None:
        host = self._running()
        with self.turns.work():
            host.end(until, self._unread())

    @in_turn
    def final(self, name: str) -> pa.Table:
        """The answer as far as it is final."""
        found = self._kept_view(name)
        return self._presented(found, self._running().final(found))

    def _packets(self, spec: StreamSpec, result: ReadResult) -> Iterable[Packet]:
        if spec.is_table:
            self._table(spec).insert(result.batch)
        arrival = self._arrival(spec, result.batch.num_rows)
        return self._running().packets(spec.name, result.batch, result.dead, arrival)

    def _unread(self) -> list[str]:
        """The streams that no view reads."""
        read = {stream.name for stream in self._job.streams}
        return [stream.name for stream in self.catalog.streams.values() if not stream.is_table and stream.name not in read]

    def _taking_rows(self, name: str) -> StreamSpec:
        spec = self._stream(name)
        if spec.changes_from is not None:
            raise SashError(f'table "{spec.name}" has its rows from stream "{spec.changes_from}"', "push changes there")
        return spec

    def _table(self, spec: StreamSpec) -> TableRows:
        return self._tables.setdefault(spec.name, TableRows(spec))

    @in_turn
    def job(self) -> Job:
        return self._job

    def _view_created(self, view: ViewDefinition, replaces: str | None = None) -> None:
        self._creations += 1
        moment = self._creations if self._has_rows else 0
        placed = self.queries.place(
            view, 1, self.expiry, self.statistics, moment, remembers=self._job.remembers
        )
        if replaces is not None:
            self.queries.remove(replaces)
        self.queries.add(placed, view.plan)
        job, schedules = self._job.with_view(placed, self.catalog.streams.values(), replaces), self._all_schedules()
        read = {str(port.stream) for port in (job.new_ports(self._job) if job.remembers else job.ports)}
        self._job = job if job.schedules == schedules else replace(job, schedules=schedules)
        if self._host is not None:
            new = {name: table.rows() for name, table in self._tables.items() if name in read}
            with self.turns.work():
                self._host.add(placed, self._job, new, replaces)

    def _view_dropped(self, name: str) -> None:
        self.queries.remove(name)
        self._job = self._job.without_view(name)
        if self._host is not None:
            with self.turns.work():
                self._host.drop(name, self._job)

    def _change_rows(self, change: InsertRows | UpdateRows | DeleteRows) -> None:
        if isinstance(change, InsertRows):
            self.push(change.into.name, list(change.rows))
            return
        self._take(change.table, changed_rows(self._table(change.table), change), convert(change.table, []).dead)

    def _advance(self, statement: Advance) -> None:
        self.advance(statement.time, statement.stream.text if statement.stream else "")

    def _running(self) -> EmbeddedHost:
        if self._host is None:
            self._host = EmbeddedHost(self._job, self._arena, self._history)
        return self._host

    def _take(self, spec: StreamSpec, batch: pa.RecordBatch, dead: pa.RecordBatch) -> None:
        host = self._running()
        self._present.heard(spec.name, self._clock())
        self._has_rows = True
        if all(stream.name != spec.name for stream in host.job.streams):
            with self.turns.work():
                host.take_unread(spec, batch, self._arrival(spec, batch.num_rows))
            return
        if spec.is_table and host.job.asks_tables_for_time:
            self._tell_the_time(host)
        for start in range(0, max(1, batch.num_rows), PUSH_ROWS):
            piece = batch.slice(start, PUSH_ROWS)
            with self.turns.work():
                host.take(spec.name, piece, dead if start == 0 else dead.slice(0, 0), self._arrival(spec, piece.num_rows))
            self._think_again(piece.num_rows)

    def _think_again(self, rows: int) -> None:
        """Plan views anew, if their streams have come to look very different from what was thought."""
        if self.expiry is Expiry.AUTO and self._job.remembers and self._replanner.is_due(rows):
            host = self._running()
            with self.turns.work():
                self._replanner.look(host, self.queries, self.materialized().values(), self.catalog.streams.values())
            self._job = host.job

    def _tell_the_time(self, host: EmbeddedHost) -> None:
        """Where NOW() is asked and there is no stream, table changes move time: by the wall clock, until somebody advances."""
        wall = BEGINNING if self._is_advanced else self._clock()
        self._table_instant = max(self._table_instant + 1, host.told, wall)
        with self.turns.work():
            host.tell(self._table_instant)

    def _arrival(self, spec: StreamSpec, rows: int) -> int | None:
        """Arrivals are stamped by one clock for all streams, each later than the one before."""
        if spec.stamp is Stamp.EXTERNAL or spec.is_table:
            return None
        arrival = max(self._clock(), self._last_arrival + 1)
        self._last_arrival = arrival + rows - 1
        return arrival
