"""A table in PostgreSQL that holds the answer of a view, or all its changes (`table_sink.py`)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import AbstractContextManager

import psycopg
import pyarrow as pa

from sash.errors import SashError
from sash.runtime.instants import moment
from sash.schema import BEGINNING, END
from sash.sinks.netting import NetRows, not_a_key
from sash.sinks.options import SinkSpec
from sash.sinks.owner import Owner
from sash.sinks.postgres.columns import sendable
from sash.sinks.postgres.merging import Merge, copy_rows, make_stage
from sash.sinks.postgres.target import Connection, Target
from sash.sinks.sink import Taken
from sash.sinks.table_sink import Record, TableSink
from sash.sources.postgres import Server, first_line


class PostgresSink(TableSink):
    """For one run (`owner.py`)."""

    def __init__(self, spec: SinkSpec, run: str | None, epoch: int = 0) -> None:
        super().__init__(spec, run, epoch)
        self._server = Server.of("a sink", dict(spec.options))
        self._target = Target(spec)

    def __str__(self) -> str:
        return f"{self._server} {self._spec.option('table')}"

    @property
    def _text(self) -> str:
        return self._target.text

    def _open(self) -> PostgresTable:
        connection = self._server.connect()
        try:
            self._target.look_up(connection)
            connection.commit()  # a transaction that comes later is one by itself
        except BaseException:
            connection.close()
            raise
        return PostgresTable(connection, self._target)

    def _sendable(self, changes: pa.Table) -> pa.Table:
        return sendable(changes)

    @contextlib.contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except psycopg.errors.UniqueViolation as error:
            raise not_a_key(error.diag.message_detail or first_line(error), self._spec.key_names) from None
        except psycopg.Error as error:
            raise SashError(f"{self._server}: {first_line(error)}") from None


class PostgresTable:
    """The table, over a connection."""

    def __init__(self, connection: Connection, target: Target) -> None:
        self._connection, self._target = connection, target

    def transaction(self) -> AbstractContextManager[object]:
        return self._connection.transaction()

    def prepare(self) -> bool:
        return self._target.prepare(self._connection)

    def make_stage(self) -> None:
        make_stage(self._connection, self._target)

    def locked_record(self) -> Record | None:
        record = self._target.query("SELECT run, epoch, position FROM {record} WHERE target = %s FOR UPDATE")
        found = self._connection.execute(record, (self._target.text,)).fetchone()
        return None if found is None else (found[0], int(found[1]), None if found[2] is None else int(found[2]))

    def has_rows(self) -> bool:
        return self._connection.execute(self._target.query("SELECT 1 FROM {table} LIMIT 1")).fetchone() is not None

    def claim(self, owner: Owner, position: int | None) -> None:
        self._connection.execute(
            self._target.query(
                "INSERT INTO {record} (target, sink, run, epoch, position, rows) VALUES (%s, %s, %s, %s, %s, 0)"
                " ON CONFLICT (target) DO UPDATE SET sink = excluded.sink, run = excluded.run, epoch = excluded.epoch,"
                " position = excluded.position, rows = CASE WHEN excluded.position IS NULL THEN 0 ELSE {record}.rows END"
            ),
            (self._target.text, self._target.spec.name, owner.run, owner.epoch, position),
        )  # fmt: skip

    def put_position(self, taken: Taken, rows: int) -> None:
        before = taken.complete_before
        instant = None if before is None else moment(min(max(before, BEGINNING), END - 1))
        self._connection.execute(
            self._target.query(
                "UPDATE {record} SET position = %s, rows = rows + %s, complete_before = coalesce(%s, complete_before),"
                " written = now() WHERE target = %s"
            ),
            (taken.position, rows, instant, self._target.text),
        )  # fmt: skip

    def free(self, run: str | None) -> None:
        freed = self._target.query("UPDATE {record} SET run = '' WHERE target = %s AND run = %s")
        self._connection.execute(freed, (self._target.text, run))

    def clear(self) -> None:
        self._connection.execute(self._target.query("DELETE FROM {table}"))

    def append(self, rows: pa.Table) -> None:
        copy_rows(self._connection, self._target.table, self._target.columns, rows)

    def merge(self, net: NetRows) -> None:
        Merge(self._connection, self._target, net).run()

    def close(self) -> None:
        with contextlib.suppress(psycopg.Error):
            self._connection.close()
