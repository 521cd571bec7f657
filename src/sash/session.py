"""The facade: connect, declare, push rows, read answers.

    db = sash.connect()                     one engine in this process
    db = sash.connect(spark, …)             the same statements on a SparkSession (sash.spark_database)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from datetime import time as time_of_day
from pathlib import Path
from typing import Any

import pyarrow as pa

from sash.declare import Declarations
from sash.errors import SashError
from sash.logical.explain import explain_patterns
from sash.logical.nodes import scans
from sash.logical.streams import Stamp, StreamSpec
from sash.physical.explain import explain_streams, explain_view
from sash.physical.job import Job
from sash.runtime.embedded import EmbeddedHost
from sash.runtime.packets import Packet, changes_schema
from sash.runtime.schedule import parse_schedule
from sash.schema import BEGINNING
from sash.sources.batches import batches
from sash.sources.convert import convert
from sash.sources.read import read
from sash.sources.splits import Split
from sash.sql.binder.changes import DeleteRows, InsertRows, UpdateRows
from sash.sql.statements import Advance
from sash.state.arena import Arena
from sash.tables import TableRows, stamped

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


class Answer:
    """The answer of a view at the moment it was asked for."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def to_arrow(self) -> pa.Table:
        return self._table

    def to_pylist(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self._table.to_pylist()
        return rows

    def to_pandas(self) -> Any:
        return self._table.to_pandas()

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __repr__(self) -> str:
        return str(self._table)


class Database(Declarations):
    """An engine in this process."""

    def __init__(
        self, clock: Callable[[], int] = now_in_microseconds, base: Path | None = None, expiry: str = "auto",
        schedule: str = "auto",
    ) -> None:
        super().__init__(base or Path.cwd(), expiry, schedule)
        self._clock = clock
        self._arena = Arena.anonymous()
        self._last_arrival = 0
        self._host: EmbeddedHost | None = None
        self._tables: dict[str, TableRows] = {}
        self._moments, self._has_new_rows = 0, False
        self._table_instant, self._is_advanced = BEGINNING - 1, False

    def push(self, name: str, rows: Any) -> None:
        """Rows of a stream: dicts, tuples, columns, Arrow or pandas. They become part of every answer at once."""
        spec = self._stream(name)
        result = convert(spec, rows)
        batch = self._table_change(self._table(spec).insert(result.batch)) if spec.is_table else result.batch
        self._take(spec, batch, result.dead)

    def delete(self, name: str, rows: Any) -> None:
        """Rows leave a table, each once."""
        spec = self._stream(name)
        result = convert(spec, rows)
        self._take(spec, self._table_change(self._table(spec).delete(result.batch)), result.dead)

    def advance(self, to: str | int, stream: str = "") -> None:
        """Time moves to an instant without data: no row before it will come any more."""
        host = self._running()
        self._is_advanced = True
        instant = to if isinstance(to, int) else parse_instant(to, host.event_time)
        host.advance(instant, self._stream(stream).name if stream else "")

    def schedule(self, schedule: str, view: str = "") -> None:
        """Run operators in another order from now on: all of them, or those of a view. No answer depends on it."""
        name, text = self._kept_view(view) if view else "", str(parse_schedule(schedule))
        self._schedules = {**(self._schedules if view else {}), name: text}
        if self._host is not None:
            self._host.reschedule(self._all_schedules())

    def end(self) -> None:
        """The input is over: everything up to the greatest timestamp is final."""
        self._running().end()

    def view(self, name: str) -> Answer:
        """The answer over all rows taken in so far."""
        return Answer(self._running().view(self._kept_view(name)))

    def changes(self, name: str) -> pa.Table:
        """All changes of a view that are final, in order: _op, _ts, then its columns."""
        host, found = self._running(), self._kept_view(name)
        return pa.Table.from_batches(host.changes[found], changes_schema(host.job.view(found).schema))

    def late(self, name: str) -> pa.Table:
        """Rows of a stream that came too late."""
        spec = self._stream(name)
        return pa.Table.from_batches(self._running().late.get(spec.name, []), spec.schema.arrow)

    def dead(self, name: str) -> pa.Table:
        """Rows of a stream that could not be read, each with the reason."""
        batches = self._running().dead.get(self._stream(name).name, [])
        return pa.Table.from_batches(batches) if batches else pa.table({"reason": pa.array([], pa.string())})

    def metrics(self) -> dict[str, Any]:
        """What the job has done so far, as plain data: rows through every arc by sign, time and state of every operator, delays
        of every view (`sash.runtime.metrics`)."""
        return self._running().metrics()

    def analyze(self, view: str) -> str:
        """How a view has run so far: what was counted beside what was expected, and what its streams are like."""
        host, name = self._running(), self._kept_view(view)
        choice = self._chosen(self._view(name), 1)
        streams = sorted({scan.name for scan in scans(choice.plan)})
        table = explain_view(choice, self.expiry, self.statistics, host.counted(), shards=1)
        return "\n\n".join([explain_patterns(choice.plan), table, explain_streams(streams, host.statistics())])

    def failures(self) -> list[tuple[str, int, object]]:
        """Expressions that failed on a row and gave NULL: reason, count and an example."""
        return self._running().failures.items()

    def run(
        self, until: int | None = None, batch_rows: int | None = None,
        on_batch: Callable[[EmbeddedHost], None] | None = None, flush: bool = True,
    ) -> None:
        """Read the files of all streams to their end; `flush` makes everything up to it final."""
        host = self._running()
        if until is not None:
            host.limit(until)
        for batch in batches(host.job.streams, self.base, batch_rows):
            host.step(packet for split in batch for packet in self._packets(split))
            if on_batch is not None:
                on_batch(host)
        if flush:
            host.end(until)
        if on_batch is not None:
            on_batch(host)

    def final(self, name: str) -> pa.Table:
        """The answer as far as it is final."""
        return self._running().live[self._kept_view(name)].rows()

    def _packets(self, split: Split) -> Iterable[Packet]:
        spec = self._stream(split.stream)
        result = read(spec, split)
        if spec.is_table:
            self._table(spec).insert(result.batch)
        arrival = self._arrival(spec, result.batch.num_rows)
        return self._running().packets(spec.name, result.batch, result.dead, arrival)

    def _table(self, spec: StreamSpec) -> TableRows:
        return self._tables.setdefault(spec.name, TableRows(spec))

    def _table_change(self, change: pa.RecordBatch) -> pa.RecordBatch:
        """Every change of a table has an instant of its own, not before anything that is final.

        Where NOW() is asked and there is no stream to tell the time, the changes do: by the wall clock, until somebody advances.
        """
        host = self._running()
        self._table_instant = max(self._table_instant + 1, host.now)
        if host.job.asks_tables_for_time:
            if not self._is_advanced:
                self._table_instant = max(self._table_instant, self._clock())
            host.advance(self._table_instant)
        return stamped(change, self._table_instant)

    def job(self) -> Job:
        return self.planned(1)

    def _changed(self) -> None:
        """Statements changed what is to run: build it anew over the same state."""
        if self._host is not None:
            self._host = self._host.rebuilt(self.job(), {name: table.rows() for name, table in self._tables.items()})

    def _change_rows(self, change: InsertRows | UpdateRows | DeleteRows) -> None:
        if isinstance(change, InsertRows):
            self.push(change.into.name, list(change.rows))
            return
        table = self._table(change.table)
        if isinstance(change, UpdateRows):
            batch = table.update(dict(change.assignments), change.predicate)
        else:
            batch = table.delete_where(change.predicate)
        self._take(change.table, self._table_change(batch), convert(change.table, []).dead)

    def _advance(self, statement: Advance) -> None:
        self.advance(statement.time, statement.stream.text if statement.stream else "")

    def _running(self) -> EmbeddedHost:
        if self._host is None:
            self._host = EmbeddedHost(self.job(), self._arena)
        return self._host

    def _moment(self) -> int:
        self._moments += self._has_new_rows
        self._has_new_rows = False
        return self._moments

    def _take(self, spec: StreamSpec, batch: pa.RecordBatch, dead: pa.RecordBatch) -> None:
        host = self._running()
        self._has_new_rows = True
        if all(stream.name != spec.name for stream in host.job.streams):
            return  # nobody reads it
        for start in range(0, max(1, batch.num_rows), PUSH_ROWS):
            piece = batch.slice(start, PUSH_ROWS)
            host.take(spec.name, piece, dead if start == 0 else dead.slice(0, 0), self._arrival(spec, piece.num_rows))

    def _arrival(self, spec: StreamSpec, rows: int) -> int | None:
        """Arrivals are stamped by one clock for all streams, each later than the one before."""
        if spec.stamp is Stamp.EXTERNAL or spec.is_table:
            return None
        arrival = max(self._clock(), self._last_arrival + 1)
        self._last_arrival = arrival + rows - 1
        return arrival
