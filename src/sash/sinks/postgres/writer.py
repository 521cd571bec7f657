"""A table in PostgreSQL that holds the answer of a view, or all its changes, each batch written once.

    one transaction    the position is the one that the batch comes after, and this run still has the table
                       rows go, change and come
                       the position is put down

Whatever fails, none of it has happened. Whether a transaction was committed whose end nobody heard, the position says.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import psycopg
import pyarrow as pa

from sash.errors import SashError
from sash.runtime.instants import moment
from sash.schema import BEGINNING, END
from sash.sinks.netting import net_rows, not_a_key
from sash.sinks.options import Existing, Mode, SinkSpec
from sash.sinks.owner import Owner
from sash.sinks.postgres.columns import sendable
from sash.sinks.postgres.merging import Merge, copy_rows, make_stage
from sash.sinks.postgres.target import Connection, Target
from sash.sinks.sink import SinkMoved, SinkRefused, Taken, dropped_changes
from sash.sources.postgres import Server, first_line


class PostgresSink:
    """For one run (`owner.py`)."""

    def __init__(self, spec: SinkSpec, run: str | None, epoch: int = 0) -> None:
        self._server = Server.of("a sink", dict(spec.options))
        self._spec, self._target = spec, Target(spec)
        self._owner = Owner(run, epoch, "table", lambda: f"table {self._target.text}")
        self._connection: Connection | None = None

    def __str__(self) -> str:
        return f"{self._server} {self._spec.option('table')}"

    def check(self) -> None:
        """What would be refused later is refused at once: nobody is there, or the table has other columns, or rows of others."""
        with self._telling(), self._server.connect() as connection:
            self._target.look_up(connection)
            self._target.prepare(connection)
            if self._owner.run is not None:
                self._position(connection)

    def begin(self) -> int | None:
        self._owner.may_begin()
        self.close()
        with self._telling():
            self._connection = self._server.connect()
            with self._connection.transaction():
                self._target.look_up(self._connection)
                is_new = self._target.prepare(self._connection)
                found = self._position(self._connection)
                position = None if is_new else found  # somebody has dropped the table: it is written anew
                self._claim(self._connection, position)
                make_stage(self._connection, self._target)
            self._owner.has_begun()
            return position

    def write(self, taken: Taken) -> int:
        assert self._connection is not None
        with self._telling(), self._connection.transaction():
            self._check_position(self._connection, taken)
            written = self._write_rows(self._connection, taken)
            self._put_position(self._connection, taken, written)
        return written

    def release(self) -> None:
        with self._telling(), self._server.connect() as connection:
            self._target.look_up(connection)
            freed = self._target.query("UPDATE {record} SET run = '' WHERE target = %s AND run = %s")
            connection.execute(freed, (self._target.text, self._owner.run))

    def close(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(psycopg.Error):
                self._connection.close()
            self._connection = None

    def _position(self, connection: Connection) -> int | None:
        """How far this run is in the table; None if it begins, which it must be allowed to."""
        found = self._locked_record(connection)
        has_rows = connection.execute(self._target.query("SELECT 1 FROM {table} LIMIT 1")).fetchone() is not None
        if found is not None and self._owner.is_mine(found[0], int(found[1])):
            return None if found[2] is None else int(found[2])
        is_ours = found is not None and self._spec.mode is Mode.UPSERT
        policy = self._spec.existing or (Existing.REPLACE if is_ours else Existing.REFUSE)
        if has_rows and policy is Existing.REFUSE:
            whose = "that another run has written" if found is not None else "that no sink has written"
            append = " or existing = 'append'" if self._spec.mode is Mode.CHANGES else ""
            raise SinkRefused(
                f"table {self._target.text} has rows {whose}",
                f"empty it, name another table, or say what becomes of them: existing = 'replace'{append}",
            )
        return None

    def _locked_record(self, connection: Connection) -> tuple[Any, ...] | None:
        """Run, epoch and position of the table, which nobody else changes before this transaction ends."""
        record = self._target.query("SELECT run, epoch, position FROM {record} WHERE target = %s FOR UPDATE")
        return connection.execute(record, (self._target.text,)).fetchone()

    def _claim(self, connection: Connection, position: int | None) -> None:
        connection.execute(
            self._target.query(
                "INSERT INTO {record} (target, sink, run, epoch, position, rows) VALUES (%s, %s, %s, %s, %s, 0)"
                " ON CONFLICT (target) DO UPDATE SET sink = excluded.sink, run = excluded.run, epoch = excluded.epoch,"
                " position = excluded.position, rows = CASE WHEN excluded.position IS NULL THEN 0 ELSE {record}.rows END"
            ),
            (self._target.text, self._spec.name, self._owner.run, self._owner.epoch, position),
        )  # fmt: skip

    def _check_position(self, connection: Connection, taken: Taken) -> None:
        found = self._locked_record(connection)
        if found is None:
            raise self._owner.replaced()
        self._owner.must_be_mine(found[0], int(found[1]))
        if found[2] != taken.after:
            raise SinkMoved(found[2])

    def _write_rows(self, connection: Connection, taken: Taken) -> int:
        changes = sendable(taken.changes)
        is_new = taken.after is None or taken.is_answer
        if self._spec.mode is Mode.CHANGES:
            return self._append(connection, taken, changes)
        net = net_rows(changes.column(0), changes.select(changes.column_names[2:]), self._spec.key)
        if not is_new:
            if net.count:
                Merge(connection, self._target, net).run()
            return net.count
        if len(net.updated) or len(net.deleted):
            raise SinkRefused(
                f'rows leave view "{self._spec.view}" that never came',
                "drop the sink and create it again to write the whole answer",
            )
        connection.execute(self._target.query("DELETE FROM {table}"))
        copy_rows(connection, self._target.table, self._target.columns, net.inserted)
        return net.count

    def _append(self, connection: Connection, taken: Taken, changes: pa.Table) -> int:
        if taken.is_answer and taken.after is not None:
            raise dropped_changes(self._spec.view, "drop the sink and create it with existing = 'replace' to begin anew")
        if taken.after is None and self._spec.existing is not Existing.APPEND:
            connection.execute(self._target.query("DELETE FROM {table}"))
        copy_rows(connection, self._target.table, self._target.columns, changes)
        return len(changes)

    def _put_position(self, connection: Connection, taken: Taken, rows: int) -> None:
        before = taken.complete_before
        instant = None if before is None else moment(min(max(before, BEGINNING), END - 1))
        connection.execute(
            self._target.query(
                "UPDATE {record} SET position = %s, rows = rows + %s, complete_before = coalesce(%s, complete_before),"
                " written = now() WHERE target = %s"
            ),
            (taken.position, rows, instant, self._target.text),
        )  # fmt: skip

    @contextlib.contextmanager
    def _telling(self) -> Iterator[None]:
        """What PostgreSQL says, as an error of ours, which names the place."""
        try:
            yield
        except psycopg.errors.UniqueViolation as error:
            raise not_a_key(error.diag.message_detail or first_line(error), self._spec.key_names) from None
        except psycopg.Error as error:
            raise SashError(f"{self._server}: {first_line(error)}") from None
