"""The table of a sink, and Sash's own beside it, which says whose it is and how far it is written (`table_sink.py`)."""

from __future__ import annotations

from typing import Any, LiteralString

import psycopg
from psycopg import sql

from sash.errors import SashError, choices
from sash.schema import TIMESTAMP, Schema
from sash.sinks.options import Mode, SinkSpec
from sash.sinks.postgres.columns import check_columns, check_length, is_type, type_name
from sash.sinks.table_sink import RECORD, other_columns

MOST_INDEXED = 32  # columns of an index
NULLS_NOT_DISTINCT = 150000  # the first version of PostgreSQL in which a unique index can take NULLs for equal
MOST_KEYS = 63  # columns of a key: which of them are NULL is a number

Connection = psycopg.Connection[tuple[Any, ...]]


class Target:
    """Names and definitions; every name that a user gave is an identifier, never text."""

    def __init__(self, spec: SinkSpec) -> None:
        self.spec = spec
        written = spec.option("table")
        if not written:
            raise SashError("a sink in PostgreSQL needs a table", "add table = 'schema.name', or table = 'name'")
        parts = written.split(".")
        if len(parts) > 2 or not all(parts):
            raise SashError(f"'{written}' is no name of a table", "write it as 'schema.name' or 'name', as PostgreSQL has it")
        for part in parts:
            check_length(part)
        check_columns(spec.schema)
        if len(spec.key) > MOST_KEYS:
            raise SashError(f"a key of {len(spec.key)} columns is too long", f"name at most {MOST_KEYS}: key = 'a, b'")
        self._schema: str | None = parts[0] if len(parts) == 2 else None
        self._name = parts[-1]

    @property
    def is_changes(self) -> bool:
        return self.spec.mode is Mode.CHANGES

    @property
    def columns(self) -> list[str]:
        return [*(("_op", "_ts") if self.is_changes else ()), *self.spec.schema.names]

    def look_up(self, connection: Connection) -> None:
        """Where names without a schema are."""
        if self._schema is None:
            found = connection.execute("SELECT current_schema()").fetchone()
            if found is None or found[0] is None:
                raise SashError("this user has no schema of its own", "name one: table = 'schema.name'")
            self._schema = found[0]

    @property
    def text(self) -> str:
        return f"{self._schema}.{self._name}"

    @property
    def table(self) -> sql.Identifier:
        return sql.Identifier(self._schema or "", self._name)

    @property
    def record(self) -> sql.Identifier:
        return sql.Identifier(self._schema or "", RECORD)

    def query(self, text: LiteralString, **parts: sql.Composable) -> sql.Composed:
        return sql.SQL(text).format(table=self.table, record=self.record, **parts)

    def prepare(self, connection: Connection) -> bool:
        """Let both tables be there, in a transaction of who calls; whether the table is new. An error if it is another one."""
        connection.execute("SELECT pg_advisory_xact_lock(hashtext('sash_sinks'))")  # two that create at once would collide
        connection.execute(self.query(
            "CREATE TABLE IF NOT EXISTS {record} (target text PRIMARY KEY, sink text NOT NULL, run text NOT NULL,"
            " epoch bigint NOT NULL, position bigint, rows bigint NOT NULL, complete_before timestamp, written timestamptz)"
        ))  # fmt: skip
        found = self._found(connection)
        if found:
            self._check(found)
        else:
            self._create(connection)
        return not found

    def _found(self, connection: Connection) -> dict[str, str]:
        rows = connection.execute(
            "SELECT a.attname, format_type(a.atttypid, a.atttypmod) FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid"
            " JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relname = %s AND a.attnum > 0"
            " AND NOT a.attisdropped",
            (self._schema, self._name),
        ).fetchall()  # fmt: skip
        return {str(name): str(kind) for name, kind in rows}

    def _check(self, found: dict[str, str]) -> None:
        wanted = self._wanted()
        types = {field.name: field.type for field in self.spec.schema.fields}
        fits = found.keys() == wanted.keys() and all(
            is_type(types[name], found[name]) if name in types else found[name] == wanted[name] for name in wanted
        )
        if not fits:
            raise other_columns(self.text, _listed(found), _listed(wanted))

    def _wanted(self) -> dict[str, str]:
        first = {"_op": "smallint", "_ts": type_name(TIMESTAMP)} if self.is_changes else {}
        return first | {field.name: type_name(field.type) for field in self.spec.schema.fields}

    def _create(self, connection: Connection) -> None:
        columns = sql.SQL(", ").join(_defined(name, kind) for name, kind in self._wanted().items())
        connection.execute(self.query("CREATE TABLE {table} ({columns})", columns=columns))
        key = self.spec.key_names
        if not self.is_changes and 0 < len(key) <= MOST_INDEXED:
            is_new = connection.info.server_version >= NULLS_NOT_DISTINCT
            nulls = sql.SQL("NULLS NOT DISTINCT") if is_new else sql.SQL("")
            names = sql.SQL(", ").join(map(sql.Identifier, key))
            connection.execute(self.query("CREATE UNIQUE INDEX ON {table} ({names}) {nulls}", names=names, nulls=nulls))


def stage_columns(schema: Schema) -> sql.Composed:
    """The columns of the table in which rows wait to be merged: numbered, as no name of the user must be in the way."""
    defined = [_defined(f"c{place}", type_name(type_)) for place, type_ in enumerate(schema.types)]
    return sql.SQL(", ").join([*defined, sql.SQL("op smallint, mask bigint")])


def _defined(name: str, kind: str) -> sql.Composed:
    return sql.SQL("{} {}").format(sql.Identifier(name), sql.SQL(kind))  # of ours: from `type_name`


def _listed(columns: dict[str, str]) -> str:
    return choices(f"{name} {kind}" for name, kind in columns.items())
