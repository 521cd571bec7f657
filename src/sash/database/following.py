"""Tables that follow something outside: it is looked at again and again, and what has changed is put down like a statement.

    CREATE TABLE rates (code STRING, rate DOUBLE) WITH (format = 'jdbc', dsn = '…', table = 'rates', every = '10 SECONDS')

So a change takes effect for every view at the latest instant of the streams that this view reads, as INSERT, UPDATE and DELETE
do, and a restart meets it at the same place of the input. Looking is slow, and holds nobody up; applying is quick.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from sash.database.tables import TableRows, whole_rows
from sash.errors import SashError, SourceWarning, choices, needing, warn
from sash.plan.streams import KEYED, POLLED, VERSIONED, StreamSpec
from sash.schema import SECOND
from sash.sources.change_files import read_files
from sash.sources.databases import is_mysql
from sash.sources.debezium import Envelopes, Event, Key, Message, Row
from sash.sources.kafka import check_settings, read_topic
from sash.sources.registry.place import REACHING
from sash.sources.result import NO_LETTERS
from sash.sql.length_of_time import parse_duration

EVERY = "10 SECONDS"  # if nothing is said
LOOK = 0.5  # seconds after which a thread that waits looks whether it is still wanted


class Follower(Protocol):
    """What a table follows."""

    def fetch(self) -> Any:
        """What is there, or has come since the last change that was applied; nothing is changed by that."""

    def change(self, table: TableRows, fetched: Any) -> Change:
        """What that changes in the table, which takes it in."""

    def go_on(self, position: Any) -> None:
        """What was fetched up to a position is in the table already."""

    def refused(self) -> None:
        """What was fetched last is not in the table, whatever was changed for it: it is to be fetched again."""


class DatabaseTable(Protocol):
    """A table of a database, or what a query gives."""

    def rows(self) -> list[tuple[Any, ...]]:
        """All of it, at one instant of the database."""


@dataclass(frozen=True)
class Change:
    """What is put down together."""

    rows: pa.RecordBatch  # with their weights
    dead: pa.RecordBatch  # messages that could not be read
    position: Any = None  # how far the source was read; None: it is always read as a whole


class PolledTable:
    """A table of a database, read as a whole: what is new enters, what is gone leaves."""

    def __init__(self, spec: StreamSpec) -> None:
        _check_options(spec, ("dsn", "dsn_env", "table", "query"))
        if (spec.option("table") is None) == (spec.option("query") is None):
            raise SashError(f'table "{spec.name}" needs table or query', "add table = 'schema.name', or query = 'SELECT …'")
        self._spec, self._source = spec, _table_of_a_database(spec)

    def fetch(self) -> pa.RecordBatch:
        return whole_rows(self._spec, self._source.rows())

    def change(self, table: TableRows, fetched: pa.RecordBatch) -> Change:
        return Change(table.become(fetched), NO_LETTERS)

    def go_on(self, position: Any) -> None:
        """It is read as a whole."""

    def refused(self) -> None:
        """It is read as a whole."""


def _table_of_a_database(spec: StreamSpec) -> DatabaseTable:
    """By its DSN: one of MySQL says so, any other is PostgreSQL's."""
    who, options, wanted = f'table "{spec.name}"', dict(spec.options), (spec.option("table"), spec.option("query"))
    if is_mysql(options):
        with needing("a table of MySQL", "pymysql", "mysql"):
            from sash.sources.mysql import MySqlServer, MySqlTable
        return MySqlTable(MySqlServer.of(who, options), spec.schema, *wanted)
    with needing("a table of a database", "psycopg", "postgres"):
        from sash.sources.postgres import PostgresTable, Server
    return PostgresTable(Server.of(who, options), spec.schema, *wanted)


class ChangeFeed:
    """A table whose rows are told of one by one, by their key: the messages of Debezium, in a topic or in files.

    A message that comes again changes nothing, as it says what the row of its key is.
    """

    def __init__(self, spec: StreamSpec, base: Path) -> None:
        _check_options(spec, ("key", "path", "servers", "topic", "encoding", *REACHING, "kafka.…"))
        if not spec.key:
            raise SashError(f'table "{spec.name}" needs a key, by which changes find their rows', "say PRIMARY KEY (a, b)")
        if (spec.option("topic") is None) == (spec.option("path") is None):
            way_out = "add servers = 'host:9092', topic = 'name', or path = 'folder' with files of JSON lines"
            raise SashError(f'table "{spec.name}" needs a topic or a path', way_out)
        if spec.option("topic") is not None:
            check_settings(spec)
        self._spec, self._base, self._envelopes = spec, base, Envelopes(spec, spec.key)
        self._position: Any = None
        self._before: Any = None  # the position before what was fetched last
        self._rows: dict[Key, Row] | None = None  # None: what the table holds when it is first changed

    def go_on(self, position: Any) -> None:
        self._position, self._rows = position, None

    def refused(self) -> None:
        self.go_on(self._before)

    def fetch(self) -> tuple[list[Message], Any]:
        self._before = self._position
        if self._spec.option("topic") is None:
            return read_files(self._spec, self._base, self._position)
        return read_topic(self._spec, self._position or {})

    def change(self, table: TableRows, fetched: tuple[list[Message], Any]) -> Change:
        messages, self._position = fetched
        events, dead = self._envelopes.events(messages)
        if self._rows is None:
            held = (tuple(row.values()) for row in table.rows().to_pylist())
            self._rows = {tuple(row[place] for place in self._spec.key): row for row in held}
        before = self._apply(events, self._rows)
        after = {key: self._rows.get(key) for key in before}
        changed = [key for key in before if before[key] != after[key]]
        leaving, entering = ([row for key in changed if (row := side[key]) is not None] for side in (before, after))
        return Change(table.exchange(leaving, entering), dead, self._position)

    def _apply(self, events: Iterable[Event], rows: dict[Key, Row]) -> dict[Key, Row | None]:
        """Take events in; the rows that keys had before, of all that they touch."""
        before: dict[Key, Row | None] = {}
        for event in events:
            for key in list(rows) if event.key is None else [event.key]:
                before.setdefault(key, rows.get(key))
                if event.row is None:
                    rows.pop(key, None)
                else:
                    rows[key] = event.row
        return before


class VersionedTable:
    """A Delta table: of a new version what has changed since the last one, where it has a feed that says so, else all rows."""

    def __init__(self, spec: StreamSpec, base: Path) -> None:
        with needing("a table of Delta", "deltalake", "delta"):
            from sash.sources.delta import DeltaVersions
        _check_options(spec, ("path",))
        path = spec.option("path")
        if path is None:
            raise SashError(f'table "{spec.name}" needs the folder of a Delta table', "add path = 'folder'")
        self._spec, self._source = spec, DeltaVersions(f'table "{spec.name}"', path, base, spec.schema)
        self._position: Any = None

    def fetch(self) -> Any:
        return self._source.after(self._position)

    def change(self, table: TableRows, fetched: Any) -> Change:
        if fetched is None:
            return Change(table.exchange([], []), NO_LETTERS, self._position)
        self._position = None  # if it does not fit, it is read as a whole at the next look
        entering = whole_rows(self._spec, fetched.entering)
        if fetched.leaving is None:
            rows = table.become(entering)
        else:
            rows = table.replace(whole_rows(self._spec, fetched.leaving), entering)
        self._position = fetched.position
        return Change(rows, NO_LETTERS, self._position)

    def go_on(self, position: Any) -> None:
        self._position = position

    def refused(self) -> None:
        """It is read as a whole, and compared."""
        self._position = None


FOLLOWERS: dict[str, Callable[[StreamSpec, Path], Follower]] = {
    POLLED: lambda spec, base: PolledTable(spec), KEYED: ChangeFeed, VERSIONED: VersionedTable,
}  # fmt: skip


def make_follower(spec: StreamSpec, base: Path) -> Follower:
    return FOLLOWERS[(spec.option("format") or "").lower()](spec, base)


def _check_options(spec: StreamSpec, known: tuple[str, ...]) -> None:
    options = ("format", "every", *known)
    for option in dict(spec.options):
        if option not in options and not (option.startswith("kafka.") and "kafka.…" in options):
            raise SashError(f'table "{spec.name}" has no option "{option}"', f"options are: {choices(options)}")


@dataclass
class Followed:
    """A table, and when it was looked at."""

    spec: StreamSpec
    follower: Follower
    every: float  # seconds
    looked: float | None = None
    is_placed: bool = False  # whether it is known how far the table has followed before
    is_failing: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)  # what was fetched is applied before somebody fetches again


class Following:
    """The followed tables of a session; `apply` puts a change down, in the turn of who changes the database."""

    def __init__(self, base: Path, apply: Callable[[StreamSpec, Follower, Any], None]) -> None:
        self._base, self._apply = base, apply
        self._tables: dict[str, Followed] = {}
        self._thread: threading.Thread | None = None
        self._is_wanted = threading.Event()

    def keep(self, specs: Iterable[StreamSpec]) -> None:
        """These tables are declared now."""
        wanted = {spec.name: spec for spec in specs if spec.is_followed}
        known = {name: one for name, one in self._tables.items() if wanted.get(name) == one.spec}
        self._tables = known | {name: self._made(spec) for name, spec in wanted.items() if name not in known}

    def _made(self, spec: StreamSpec) -> Followed:
        said = spec.option("every") or EVERY
        every = parse_duration(said, f"every = '{said}' of table \"{spec.name}\"", "every = '10 SECONDS'") / SECOND
        return Followed(spec, make_follower(spec, self._base), every)

    def go_on(self, position: Callable[[str], Any]) -> None:
        """Tables that this session has not looked at yet go on where a checkpoint says."""
        for one in self._tables.values():
            if not one.is_placed:
                one.follower.go_on(position(one.spec.name))
                one.is_placed = True

    def look(self, *, only_due: bool = False) -> None:
        """Look at all tables, and apply what has changed; an error if one cannot be looked at."""
        for one in list(self._tables.values()):
            with one.lock:
                self._look_at(one, only_due=only_due)

    def look_at_new(self) -> None:
        """The same for tables that nobody has looked at, by one who has the turn: whoever looks at one may wait for it."""
        for one in list(self._tables.values()):
            if one.looked is None and one.lock.acquire(blocking=False):
                try:
                    self._look_at(one, only_due=True)
                finally:
                    one.lock.release()

    def _look_at(self, one: Followed, *, only_due: bool) -> None:
        if only_due and one.looked is not None and time.monotonic() - one.looked < one.every:
            return
        try:
            fetched = one.follower.fetch()
            try:
                self._apply(one.spec, one.follower, fetched)
            except BaseException:
                one.follower.refused()
                raise
        finally:
            one.looked = time.monotonic()
        one.is_failing = False

    def begin(self) -> None:
        """Look from now on, in a thread, as often as was asked for."""
        if self._thread is None and self._tables:
            self._is_wanted.set()
            self._thread = threading.Thread(target=self._run, daemon=True, name="sash followed tables")
            self._thread.start()

    def stop(self) -> None:
        self._is_wanted.clear()
        thread, self._thread = self._thread, None
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _run(self) -> None:
        while self._is_wanted.is_set():
            for one in list(self._tables.values()):
                self._look_patiently(one)
            waits = [one.every - (time.monotonic() - (one.looked or 0.0)) for one in self._tables.values()]
            time.sleep(min(LOOK, max(0.01, min(waits, default=LOOK))))

    def _look_patiently(self, one: Followed) -> None:
        """A table that cannot be looked at stays as it is; it is told once, and tried again."""
        try:
            with one.lock:
                self._look_at(one, only_due=True)
        except Exception as error:
            if not one.is_failing and self._is_wanted.is_set():
                warn(f'table "{one.spec.name}" stays as it is: {error}', SourceWarning)
            one.is_failing = True
