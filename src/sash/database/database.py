"""The database: what people hold, whichever host runs it.

    db = sash.connect()              an engine in this process       EmbeddedDatabase
    db = sash.connect(spark, …)      the same on a SparkSession      SparkDatabase

Every public method stands here once, with what it means on both hosts. What a host cannot do is an error that says what to do
instead. What is the same for both is written here; hosts answer questions by what `Host` asks of them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import pyarrow as pa

from sash.database.answer import Answer, Rows
from sash.database.answering import Answering
from sash.database.explanation import Explanation
from sash.database.instants import Instant, moment_or_none
from sash.database.prepared import Prepared
from sash.errors import SashError, as_text
from sash.plan.streams import StreamSpec
from sash.runtime.instants import moment
from sash.runtime.packets import Cargo
from sash.runtime.progress import Progress
from sash.runtime.subscribing import OnBatch, Subscription
from sash.sql.syntax.statements import Advance
from sash.turns import in_turn

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from sash.serve.door import Door
    from sash.serve.limits import Limits
    from sash.spark.running_query import RunningQuery

FEW = 8  # names of one kind that a picture of a database has room for


class Database(Answering):
    """Streams, tables and views, and the engine that keeps the answers of the views up to date.

    Made by `sash.connect`. Many threads may use one database; every method is whole. Use it in a `with` statement, or call
    `close`: after that nothing can be asked any more.
    """

    _place: ClassVar[str]  # where it runs, for people

    # Declaring

    @in_turn
    def execute(self, sql: str) -> Rows | None:
        """Carry out SQL statements, one after the other; what the last one gives, if that is rows (SELECT, SHOW, DESCRIBE,
        EXPLAIN).

        On Spark a CREATE or DROP of a view that is carried out while a query runs returns when the view is there, or gone: it
        takes effect between two batches.
        """
        self._check_open()
        return self._execute(sql)

    @in_turn
    def register(self, name: str, code: Callable[..., Any], returns: str, parameters: Sequence[str] | None = None) -> None:
        """Let SQL call code of your own by a name. Given the types of its parameters it is a function over Arrow arrays, else a
        class that aggregates (`sash.plan.user_aggregates` says how it is made).

        On Spark the code goes to the workers by its name: register it again, before the first statement, after a restart.
        """
        self._check_open()
        self._register(name, code, returns, parameters)

    @in_turn
    def explain(self, subject: str) -> Explanation:
        """How a view, given by its name, or a query, given as SELECT …, will be run: plan, patterns, state, costs, and with whom
        it shares operators."""
        self._check_open()
        return Explanation(self._explained_subject(subject))

    def analyze(self, view: str) -> Explanation:
        """How a view has run so far: what was counted beside what was expected, and what its streams are like; on Spark in this
        run and over all shards."""
        with self._turn():
            name, host = self._kept_view(view), self._running()
            choice, shards = self._running_choice(name)
            return Explanation(self._analyzed(choice, shards, host.counted(), host.statistics()))

    # Rows and time

    @abstractmethod
    def push(self, name: str, rows: Any) -> None:
        """Rows come: dicts, tuples, columns, Arrow or pandas. In this process they are part of every answer when this returns.
        Of a stream with an encoding they may be messages: a list of bytes, or columns of which one is `value`.

        On Spark only tables take rows this way, from the next batch on; those of a stream come from its files, or from a
        DataFrame (`stream`).
        """

    @abstractmethod
    def delete(self, name: str, rows: Any) -> None:
        """Rows leave a table, each once; on Spark from the next batch on."""

    @abstractmethod
    def table(self, name: str, rows: Any) -> None:
        """Let a table hold exactly these rows: what it lacks enters, what it has besides leaves, at one instant; on Spark with
        the next batch, also after a restart.

        On Spark they may be a static DataFrame, or a temporary view of the session (`spark.table("names")`); a table that is not
        declared has its columns. Its rows are read now, through the driver: call it again when they have changed.
        """

    @abstractmethod
    def stream(
        self, name: str, frame: DataFrame, timestamp: str | None = None, *, delay: str | None = None,
        idle_after: str | None = None, partition: str | Sequence[str] | None = None, position: str | None = None,
    ) -> None:
        """On Spark, let a stream read a streaming DataFrame. One that is declared takes the columns of its names; else it is
        declared here, with the DataFrame's columns: `db.stream("conn", frame, timestamp="ts", delay="10 SECONDS")`.

        `partition` and `position` name the columns that tell where a row was in its source, as Kafka's `partition` (of several
        topics `("topic", "partition")`) and `offset` do: every partition has a clock of its own then, and batches do not show.
        Without them a batch is one unit, judged against the clock before it.

        In this process there are no DataFrames: push their rows.
        """

    @abstractmethod
    def advance(self, to: Instant, stream: str = "") -> None:
        """Time moves to an instant without data, for a stream or for all: no row before it will come any more.

        A timestamp, a time of the day of the last row ("12:05:00"), a datetime, or microseconds since 1970. On Spark it takes
        effect with the next batch.
        """

    @abstractmethod
    def poll(self) -> None:
        """Let time reach the present though no row arrives: that of streams stamped at arrival, and of those that are idle by
        their rule. Nothing happens if nobody waits for it. On Spark a running query does so by itself."""

    @abstractmethod
    def end(self) -> None:
        """The input is over: everything up to the greatest timestamp is final.

        On Spark this stops a running query, reads what is there to its end and finishes the checkpoint, which then takes no more.
        """

    # Running

    @abstractmethod
    def run(self) -> None:
        """Read what is there, files and on Spark DataFrames, to its end, and make everything up to it final, unless it was
        connected with `flush=False`. Other threads may use the database meanwhile."""

    @abstractmethod
    def start(self) -> RunningQuery:
        """On Spark, run in the background until `stop`; the handle has the methods of Spark's StreamingQuery. In this process
        rows are answered as they are pushed."""

    @abstractmethod
    def drain(self) -> None:
        """Wait until all that is there now is answered, and written by the sinks; an error if one of them cannot. In this process
        what was pushed is answered already."""

    @abstractmethod
    def stop(self) -> None:
        """End what `start` began; another `start` goes on from there. Nothing happens if nothing runs."""

    @abstractmethod
    def schedule(self, schedule: str = "auto", view: str = "", *, join: str = "auto") -> None:
        """Run operators in another order from now on, on Spark from the next batch on: all of them, or those of a view. `join` is
        which window of a shared join is served first: lwo, swf, mqt, auto. No answer depends on it."""

    @abstractmethod
    def spread(self, shards: int) -> None:
        """Spread the state over so many shards, on Spark: a job that runs goes on with them in a second or two, another one
        begins with them. It is refused, and nothing changes, where a view looks back further than memory goes. No answer depends
        on it."""

    @property
    def is_finished(self) -> bool:
        """Whether the end of the input has come. In this process more may come after it; on Spark the checkpoint is finished."""
        with self._turn():
            return self._running().is_finished

    @abstractmethod
    def close(self) -> None:
        """Stop, and let go of everything; on Spark the session stays. Nothing can be asked any more, subscribers get what they
        have not read, and end. It may be called again."""

    # Answers

    def view(self, name: str) -> Answer:
        """The answer of a view over all rows taken in so far, final or not: at the greatest timestamp that the streams of this
        view have had, or at their clock where that is later. The answer says at which instant it is (`as_of`), and whether that
        is final (`is_final`)."""
        with self._reading(name):
            found, host = self._kept_view(name), self._running()
            with self._looking():
                rows, instants = host.answer(found)
            return Answer(found, self._presented(found, rows), moment_or_none(instants.now), is_final=instants.is_final)

    def final(self, name: str) -> Answer:
        """The answer of a view at the greatest instant that is final: what its changes add up to."""
        with self._reading(name):
            found = self._kept_view(name)
            rows, instants = self._running().final_answer(found)
            return Answer(found, self._presented(found, rows), moment_or_none(instants.final_before - 1), is_final=True)

    def query(self, sql: str) -> Answer:
        """The answer of a SELECT over materialized views, tables and live windows, at one instant for all that it names: the
        latest at which one of them is. It is what a materialized view of the same text would hold, in the order of its ORDER BY.

        `FROM view TIMESTAMP AS OF '2026-01-01 12:05:00'` asks for all that the query names as it was then, as far back as the
        history of the views reaches (`connect(history=…)`, `CREATE MATERIALIZED VIEW … WITH (history = '7 DAYS') AS …`).

        Of a stream the rows are there that windows of running views hold. A question that needs more is refused, and says so.
        On Spark the rows of streams are elsewhere: ask views.
        """
        with self._turn():
            return self._ask(as_text(sql, "a question"))

    def prepare(self, sql: str) -> Prepared:
        """A SELECT with ? in place of constants: `db.prepare("SELECT * FROM v WHERE k = ?").query(7)`. Whatever a value holds, it
        stays one value. The text is read once where columns are compared with whole numbers and texts, else at every question."""
        self._check_open()
        return Prepared(sql, self.query)

    @abstractmethod
    def changes(self, name: str) -> pa.Table | DataFrame:
        """The changes of a view that are final and kept (`connect(history=…)`), in order: _op (+1 or -1), _ts, then its columns.

        In this process an Arrow table, whose metadata says from which instant on it is complete, as `changes_since` does. On
        Spark a streaming DataFrame, which goes on with what comes.
        """

    def changes_since(self, name: str) -> datetime:
        """From which instant on `changes` has every change; the beginning of the calendar if none was dropped."""
        with self._turn():
            return moment(self._running().changes_since(self._kept_view(name)))

    @abstractmethod
    def subscribe(
        self, name: str, timeout: float | None = None, *, snapshot: bool = False, since: Instant | None = None,
        progress: bool = False, on_batch: OnBatch | None = None, queue: int | None = None, slow: str = "error",
    ) -> Subscription:
        """The final changes of a view that come from now on, as an iterator of Arrow batches, for another thread, or for later;
        as an async iterator; or, given `on_batch`, as calls from a thread of its own.

        It begins with the answer (`snapshot`), or with the changes at an instant and later ones (`since`), which must be kept.
        `complete_before` of the subscription tells up to which instant all has been read; with `progress`, batches without rows
        come too when time has gone on. A reader that is slow is told what it has missed (`slow="error"`), or gets the answer
        instead, after a row with _op 0 (`slow="snapshot"`), or those who push rows wait for it (`slow="block"`, in this process
        alone); `queue` is how many changes may wait for it, without it as many as the history, or 64 MB, holds.

        It ends when the view is dropped or the database is closed, and, given a `timeout`, when nothing has come for so many
        seconds; then one may ask again.
        """

    def complete_since(self, name: str) -> datetime | None:
        """From when on a view is right for all rows that ever came; None: never, it is right for rows since its creation.

        A view that was there before the first row is complete since the beginning of the calendar.
        """
        with self._turn():
            since = self._running().complete_since(self._kept_view(name))
            return None if since is None else moment(since)

    @abstractmethod
    def write_answers(self, folder: Path | str | None = None) -> None:
        """Write the final answer of every view as a Parquet file into a folder; on Spark, if none is named, into that of
        `connect(output=…)`."""

    def serve(
        self, port: int = 5433, *, host: str = "127.0.0.1", flight_port: int | None = None,
        password_file: Path | str | None = None, tls_cert: Path | str | None = None, tls_key: Path | str | None = None,
        grants: Iterable[str] = (), limits: Limits | None = None,
    ) -> Door:
        """Let others in until `close()` of what this gives: clients of PostgreSQL (psql, psycopg, SQLAlchemy, DBeaver, Grafana …)
        at `port`, and, given a `flight_port`, those of Arrow Flight. Port 0 is any that is free.

        They may read, and more only if that is granted: "change" rows, "define" views. It listens on this machine only;
        elsewhere passwords (lines user:password in a file) and a certificate are needed. `sash.serve.limits.Limits` says how
        much clients get.
        """
        from sash.database.serving import ServedDatabase
        from sash.serve.access import access_of
        from sash.serve.door import open_door
        from sash.serve.limits import Limits

        self._check_open()
        access = access_of(host, password_file, tls_cert, tls_key, grants)
        return open_door(ServedDatabase(self), port, flight_port, access, limits or Limits())

    # What was lost, and what was done

    def late(self, name: str) -> pa.Table:
        """Rows of a stream that came too late: the newest, as far as they are kept; `metrics` counts them all."""
        with self._turn():
            return self._running().lost(self._stream(name), Cargo.LATE)

    def dead(self, name: str) -> pa.Table:
        """Rows of a stream that could not be read, each with the reason: the newest, as far as they are kept."""
        with self._turn():
            return self._running().lost(self._stream(name), Cargo.DEAD)

    def failures(self) -> list[tuple[str, int, object]]:
        """Expressions that failed on a row, on Spark in this run, and gave NULL: reason, count and an example."""
        with self._turn():
            return self._running().failures.items()

    def metrics(self) -> dict[str, Any]:
        """What the job has done, on Spark in this run and over all shards, as plain data: rows through every arc by sign, time
        and state of every operator, delays of every view (`sash.runtime.metrics`)."""
        with self._turn():
            return self._running().metrics()

    @property
    def progress(self) -> Progress:
        """How far it is: rows, changes, late and dead rows so far, the greatest timestamp; on Spark of this run."""
        with self._turn():
            return self._running().progress

    @property
    @abstractmethod
    def state_bytes(self) -> int:
        """Bytes that operators and ports hold, on Spark after the last batch, in all shards."""

    # For people

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        """Whatever the state of it: nothing is begun, and no turn is waited for."""
        streams, views = list(self.catalog.streams.values()), list(self.catalog.views.values())
        parts = [
            _named("stream", [one.name for one in streams if not one.is_table]),
            _named("table", [one.name for one in streams if one.is_table]),
            _named("view", [one.name for one in views]),
            _named("sink", [one.name for one in list(self.catalog.sinks.values())]),
            f"{self._rows_seen():,} rows seen",
        ]
        state = ", closed" if self._is_closed else ""
        return f"<{type(self).__name__} {self._place}{state}: {'; '.join(part for part in parts if part)}>"

    # What hosts add

    @abstractmethod
    def _turn(self) -> AbstractContextManager[None]:
        """An open database for one question, alone with it where that is needed."""

    def _reading(self, view: str) -> AbstractContextManager[None]:
        """The same to read a view."""
        return self._turn()

    @abstractmethod
    def _rows_seen(self) -> int:
        """So far, by a host that is there; nothing is begun."""

    @property
    @abstractmethod
    def _is_closed(self) -> bool: ...

    def _check_open(self) -> None:
        if self._is_closed:
            raise SashError("the database is closed", "connect again")

    def _taking_rows(self, name: str) -> StreamSpec:
        spec = self._stream(name)
        if spec.changes_from is not None:
            raise SashError(f'table "{spec.name}" has its rows from stream "{spec.changes_from}"', "push changes there")
        if spec.is_followed:
            raise SashError(f'table "{spec.name}" holds what its source holds', "change it there")
        return spec

    def _updatable_table(self, name: str) -> StreamSpec:
        spec = self._taking_rows(name)
        if not spec.is_table:
            raise SashError(f'"{spec.name}" is a stream, and rows of a stream are not taken back', "use a window, or a table")
        return spec

    def _advance(self, statement: Advance) -> None:
        self.advance(statement.time, statement.stream.text if statement.stream else "")


def _named(kind: str, names: list[str]) -> str:
    if not names:
        return ""
    more = f" and {len(names) - FEW} more" if len(names) > FEW else ""
    return f"{kind}{'s' if len(names) > 1 else ''} {', '.join(names[:FEW])}{more}"
