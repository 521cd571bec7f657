"""Net rows into a table: they are copied to a stage, a temporary table, and from there deleted, updated and inserted.

Keys are compared by `=`, so that an index, or a hash join, finds them; where a column of a key is NULL, by IS NULL. Which columns
are NULL in a row is a number, its mask, and there is one statement for every mask that a batch has.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, LiteralString

import numpy as np
import psycopg
import pyarrow as pa
from psycopg import sql

from sash.sinks.netting import NetRows, not_a_key
from sash.sinks.postgres.columns import as_csv
from sash.sinks.postgres.target import Connection, Target, stage_columns
from sash.sinks.table_sink import not_as_written

INSERT, UPDATE, DELETE = 1, 2, 3
COPIED = 1 << 16  # rows that are written at once
ANALYZED = 10_000  # rows of which PostgreSQL is told how many there are
STAGE = sql.Identifier("pg_temp", "sash_stage")


def make_stage(connection: Connection, target: Target) -> None:
    """For all transactions of a connection."""
    columns = stage_columns(target.spec.schema)
    connection.execute(sql.SQL("CREATE TEMP TABLE sash_stage ({}) ON COMMIT DELETE ROWS").format(columns))


def copy_rows(connection: Connection, table: sql.Composable, columns: list[str], rows: pa.Table) -> None:
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    command = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT csv)").format(table, names)
    with connection.cursor() as cursor, cursor.copy(command) as copy:
        for start in range(0, len(rows), COPIED):
            copy.write(as_csv(rows.slice(start, COPIED)))


class Merge:
    """One batch on its way into the table, in a transaction of who calls."""

    def __init__(self, connection: Connection, target: Target, net: NetRows) -> None:
        self._connection, self._target, self._net = connection, target, net
        self._key = target.spec.key
        self._masks: dict[int, set[int]] = {}

    def run(self) -> None:
        """Rows that go, rows that change, rows that come: as many as there must be, or an error."""
        self._stage()
        self._expect(DELETE, len(self._net.deleted), "DELETE FROM {table} t USING {stage} s WHERE {condition}")
        changed = [place for place in range(len(self._target.spec.schema)) if place not in self._key]
        if changed:
            values = sql.SQL(", ").join(
                sql.SQL("{} = s.{}").format(sql.Identifier(self._target.spec.schema.names[place]), sql.Identifier(f"c{place}"))
                for place in changed
            )
            self._expect(
                UPDATE, len(self._net.updated), "UPDATE {table} t SET {values} FROM {stage} s WHERE {condition}", values=values
            )
        self._insert()

    def _stage(self) -> None:
        kinds = ((INSERT, self._net.inserted), (UPDATE, self._net.updated), (DELETE, self._net.deleted))
        parts = []
        for op, rows in kinds:
            mask = np.zeros(len(rows), np.int64)
            for bit, place in enumerate(self._key):
                mask |= np.asarray(rows.column(place).is_null()).astype(np.int64) << bit
            self._masks[op] = set(np.unique(mask).tolist())
            names = [*(f"c{place}" for place in range(rows.num_columns)), "op", "mask"]
            parts.append(pa.table([*rows.columns, pa.array(np.full(len(rows), op)), pa.array(mask)], names=names))
        staged = pa.concat_tables(parts)
        copy_rows(self._connection, STAGE, staged.column_names, staged)
        if len(staged) >= ANALYZED:
            self._connection.execute("ANALYZE pg_temp.sash_stage")

    def _expect(self, op: int, count: int, text: LiteralString, **parts: sql.Composable) -> None:
        found = sum(self._run(text, condition=condition, **parts).rowcount for condition in self._conditions(op))
        if found != count:
            raise not_as_written(self._target.text, count, found)

    def _insert(self) -> None:
        """A key that is there already is no key; an index may not see that where it is NULL, or be missing."""
        if not len(self._net.inserted):
            return
        for condition in self._conditions(INSERT):
            found = self._run("SELECT 1 FROM {table} t, {stage} s WHERE {condition} LIMIT 1", condition=condition).fetchone()
            if found is not None:
                raise not_a_key("a new row has the key of one that stays", self._target.spec.key_names)
        names = self._target.spec.schema.names
        columns = sql.SQL(", ").join(map(sql.Identifier, names))
        values = sql.SQL(", ").join(sql.Identifier(f"c{place}") for place in range(len(names)))
        self._run("INSERT INTO {table} ({columns}) SELECT {values} FROM {stage} WHERE op = 1", columns=columns, values=values)

    def _conditions(self, op: int) -> Iterator[sql.Composable]:
        """For every mask: rows of the stage that have it, beside the rows of the table with the same key."""
        for mask in sorted(self._masks[op]):
            parts: list[sql.Composable] = [sql.SQL("s.op = {} AND s.mask = {}").format(sql.Literal(op), sql.Literal(mask))]
            for bit, place in enumerate(self._key):
                column = sql.Identifier("t", self._target.spec.schema.names[place])
                if mask >> bit & 1:
                    parts.append(sql.SQL("{} IS NULL").format(column))
                else:
                    parts.append(sql.SQL("{} = s.{}").format(column, sql.Identifier(f"c{place}")))
            yield sql.SQL(" AND ").join(parts)

    def _run(self, text: LiteralString, **parts: sql.Composable) -> psycopg.Cursor[tuple[Any, ...]]:
        return self._connection.execute(self._target.query(text, stage=STAGE, **parts))
