"""A table in MySQL or MariaDB that holds the answer of a view, or all its changes (`table_sink.py`).

Net rows go to a stage, a temporary table, and from there are deleted, updated and inserted. Keys are compared by `<=>`, for which
NULL is a value like any other, and an index finds it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pymysql

from sash.errors import SashError
from sash.runtime.instants import moment
from sash.schema import BEGINNING, END, Schema
from sash.sinks.mysql.columns import parts_as_json, type_name
from sash.sinks.mysql.target import Target, stage_columns
from sash.sinks.netting import NetRows, not_a_key
from sash.sinks.options import SinkSpec
from sash.sinks.owner import Owner
from sash.sinks.sink import Taken
from sash.sinks.table_sink import Record, TableSink, not_as_written
from sash.sources.mysql import Connection, MySqlServer, first_line, named, run

INSERT, UPDATE, DELETE = 1, 2, 3
DOUBLED = 1062  # the error of a unique index


class MySqlSink(TableSink):
    """For one run (`owner.py`)."""

    def __init__(self, spec: SinkSpec, run: str | None, epoch: int = 0) -> None:
        super().__init__(spec, run, epoch)
        self._server = MySqlServer.of("a sink", dict(spec.options))
        self._target = Target(spec, self._server.database)

    def __str__(self) -> str:
        return f"{self._server} {self._spec.option('table')}"

    @property
    def _text(self) -> str:
        return self._target.text

    def _open(self) -> OpenMySqlTable:
        return OpenMySqlTable(self._server.connect(), self._target)

    def _sendable(self, changes: pa.Table) -> pa.Table:
        return changes

    @contextlib.contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except pymysql.MySQLError as error:
            if error.args and error.args[0] == DOUBLED:
                raise not_a_key(first_line(error), self._spec.key_names) from None
            raise SashError(f"{self._server}: {first_line(error)}") from None


class OpenMySqlTable:
    """The table, over a connection."""

    def __init__(self, connection: Connection, target: Target) -> None:
        self._connection, self._target = connection, target

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        try:
            yield
            self._connection.commit()
        except BaseException:
            with contextlib.suppress(pymysql.MySQLError):  # a connection that is gone has undone it
                self._connection.rollback()
            raise

    def prepare(self) -> bool:
        return self._target.prepare(self._connection)

    def make_stage(self) -> None:
        self._run(f"CREATE TEMPORARY TABLE sash_stage ({stage_columns(self._target)}) ENGINE = InnoDB")

    def locked_record(self) -> Record | None:
        record = self._target.record
        _, found = self._run(f"SELECT run, epoch, position FROM {record} WHERE target = %s FOR UPDATE", self._target.text)
        return (found[0][0], int(found[0][1]), found[0][2]) if found else None

    def has_rows(self) -> bool:
        return bool(self._run(f"SELECT 1 FROM {self._target.table} LIMIT 1")[0])

    def claim(self, owner: Owner, position: int | None) -> None:
        found = self.locked_record()
        values = (self._target.spec.name, owner.run, owner.epoch, position)
        if found is None:
            into = f"INSERT INTO {self._target.record} (sink, run, epoch, position, `rows`, target)"
            self._run(f"{into} VALUES (%s, %s, %s, %s, 0, %s)", *values, self._target.text)
        else:
            again = ", `rows` = 0" if position is None else ""
            said = f"UPDATE {self._target.record} SET sink = %s, run = %s, epoch = %s, position = %s{again} WHERE target = %s"
            self._run(said, *values, self._target.text)

    def put_position(self, taken: Taken, rows: int) -> None:
        before = taken.complete_before
        instant = None if before is None else moment(min(max(before, BEGINNING), END - 1))
        self._run(
            f"UPDATE {self._target.record} SET position = %s, `rows` = `rows` + %s,"
            " complete_before = coalesce(%s, complete_before), written = utc_timestamp(6) WHERE target = %s",
            taken.position, rows, instant, self._target.text,
        )  # fmt: skip

    def free(self, run: str | None) -> None:
        self._run(f"UPDATE {self._target.record} SET run = '' WHERE target = %s AND run = %s", self._target.text, run)

    def clear(self) -> None:
        self._run(f"DELETE FROM {self._target.table}")

    def append(self, rows: pa.Table) -> None:
        written = self._target.written
        self._fill(self._target.table, list(written.names), written, rows)

    def merge(self, net: NetRows) -> None:
        self._run("DELETE FROM sash_stage")
        schema, key = self._target.spec.schema, self._target.spec.key
        numbered = [f"c{place}" for place in range(len(schema))]
        for op, rows in ((INSERT, net.inserted), (UPDATE, net.updated), (DELETE, net.deleted)):
            self._fill("sash_stage", [*numbered, "op"], schema, rows, f", {op}")
        table, names = self._target.table, [named(name) for name in schema.names]
        same = " AND ".join(["TRUE", *(f"t.{names[place]} <=> s.c{place}" for place in key)])
        beside = f"sash_stage s STRAIGHT_JOIN {table} t ON {same}"
        self._expect(len(net.deleted), f"DELETE t FROM {beside} WHERE s.op = {DELETE}")
        changed = ", ".join(f"t.{names[place]} = s.c{place}" for place in range(len(schema)) if place not in key)
        if changed:
            self._expect(len(net.updated), f"UPDATE {beside} SET {changed} WHERE s.op = {UPDATE}")
        if not len(net.inserted):
            return
        if self._run(f"SELECT 1 FROM {beside} WHERE s.op = {INSERT} LIMIT 1")[0]:
            raise not_a_key("a new row has the key of one that stays", self._target.spec.key_names)
        values = ", ".join(numbered)
        self._run(f"INSERT INTO {table} ({', '.join(names)}) SELECT {values} FROM sash_stage WHERE op = {INSERT}")

    def close(self) -> None:
        with contextlib.suppress(pymysql.MySQLError):
            self._connection.close()

    def _expect(self, count: int, text: str) -> None:
        found = self._run(text)[0]
        if found != count:
            raise not_as_written(self._target.text, count, found)

    def _fill(self, table: str, names: list[str], schema: Schema, rows: pa.Table, more: str = "") -> None:
        """Rows into a table; a value that it cannot hold is an error, and not NULL."""
        places = range(len(schema))
        kinds = [self._target.defined(f"j{place}", type_name(schema.types[place])) for place in places]
        columns = ", ".join(f"{kind} PATH '$[{place}]' ERROR ON ERROR" for place, kind in enumerate(kinds))
        into = f"INSERT INTO {table} ({', '.join(map(named, names))})"
        chosen = ", ".join(f"j{place}" for place in places)
        for part in parts_as_json(schema, rows):
            self._run(f"{into} SELECT {chosen}{more} FROM JSON_TABLE(%s, '$[*]' COLUMNS ({columns})) AS sash_rows", part)

    def _run(self, text: str, *values: object) -> tuple[int, Sequence[tuple[Any, ...]]]:
        return run(self._connection, text, values)
