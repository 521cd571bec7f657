"""The table of a sink in MySQL, and Sash's own beside it, which says whose it is and how far it is written (`table_sink.py`).

A statement that defines something ends the transaction that it stands in; so nothing may hang on its being undone. The record
forgets how far a table was written that is missing, before it is made: who dies in between leaves an empty table, and a record
that does not say that it is full.
"""

from __future__ import annotations

from typing import Any

from sash.errors import SashError, choices
from sash.schema import BIGINT, INT, TIMESTAMP, Kind, Schema, schema
from sash.sinks.mysql.columns import check_columns, check_length, is_type, plain_name, type_name
from sash.sinks.options import Mode, SinkSpec
from sash.sinks.sink import SinkRefused
from sash.sinks.table_sink import RECORD, other_columns
from sash.sources.mysql import Connection, check_version, named, run

MOST_INDEXED = 16  # columns of an index
INDEXED_BYTES = 3072  # of a row; a character of a text takes up to four
MOST_OF_TEXT = 191  # characters of a text that an index looks at
COLLATIONS = {True: "utf8mb4_nopad_bin", False: "utf8mb4_0900_bin"}  # by which no two texts are one: of MariaDB, of MySQL
OTHERS = 24  # bytes of an index that any other column takes, and more


class Target:
    """Names and definitions; every name that a user gave is an identifier, never text."""

    def __init__(self, spec: SinkSpec, database: str) -> None:
        self.spec = spec
        written = spec.option("table")
        if not written:
            raise SashError("a sink in MySQL needs a table", "add table = 'name', or table = 'database.name'")
        parts = written.split(".")
        if len(parts) > 2 or not all(parts):
            raise SashError(f"'{written}' is no name of a table", "write it as 'name' or 'database.name', as MySQL has it")
        for part in parts:
            check_length(part)
        check_columns(spec.schema)
        self._database, self._name = parts if len(parts) == 2 else (database, parts[0])
        self.collation = ""

    @property
    def is_changes(self) -> bool:
        return self.spec.mode is Mode.CHANGES

    @property
    def written(self) -> Schema:
        """The columns of the table."""
        first = (("_op", INT), ("_ts", TIMESTAMP)) if self.is_changes else ()
        return schema(*first, *((field.name, field.type) for field in self.spec.schema.fields))

    @property
    def text(self) -> str:
        return f"{self._database}.{self._name}"

    @property
    def table(self) -> str:
        return named(self._database, self._name)

    @property
    def record(self) -> str:
        return named(self._database, RECORD)

    def prepare(self, connection: Connection) -> bool:
        """Let both tables be there; whether the table is new. An error if it is another one."""
        self.collation = COLLATIONS[check_version(connection)]
        run(
            connection,
            f"CREATE TABLE IF NOT EXISTS {self.record} (target varchar(130) NOT NULL PRIMARY KEY, sink text NOT NULL,"
            " run text NOT NULL, epoch bigint NOT NULL, position bigint, `rows` bigint NOT NULL, complete_before datetime(6),"
            " written datetime(6))"
            f" ENGINE = InnoDB, CHARACTER SET utf8mb4 COLLATE {self.collation}",
        )
        found = self._found(connection)
        if found:
            self._check(found)
            return False
        run(connection, f"UPDATE {self.record} SET position = NULL WHERE target = %s", (self.text,))
        connection.commit()
        run(connection, f"CREATE TABLE {self.table} ({self._definition()}) ENGINE = InnoDB, CHARACTER SET utf8mb4")
        return True

    def defined(self, name: str, kind: str) -> str:
        """A column; `kind` is one of ours."""
        collation = f" CHARACTER SET utf8mb4 COLLATE {self.collation}" if kind == "longtext" else ""
        return f"{named(name)} {kind}{collation}"

    def _definition(self) -> str:
        columns = [self.defined(field.name, type_name(field.type)) for field in self.written.fields]
        key = self.spec.key[:MOST_INDEXED]
        if not self.is_changes and key:
            texts = [place for place in key if self.spec.schema.types[place].kind is Kind.STRING]
            room = (INDEXED_BYTES - OTHERS * (len(key) - len(texts))) // (4 * max(1, len(texts)))
            cut = {place: f"({min(MOST_OF_TEXT, room)})" for place in texts}
            columns.append(f"INDEX ({', '.join(named(self.spec.schema.names[place]) + cut.get(place, '') for place in key)})")
        return ", ".join(columns)

    def _found(self, connection: Connection) -> dict[str, tuple[str, str]]:
        """The type and the collation of every column."""
        _, rows = run(
            connection,
            "SELECT column_name, column_type, coalesce(collation_name, '') FROM information_schema.columns"
            " WHERE table_schema = %s AND table_name = %s",
            (self._database, self._name),
        )
        return {str(name): (str(kind), str(collation)) for name, kind, collation in rows}

    def _check(self, found: dict[str, tuple[str, str]]) -> None:
        fields = self.written.fields
        is_same = found.keys() == {field.name for field in fields}
        if not is_same or not all(is_type(field.type, found[field.name][0]) for field in fields):
            has, wants = _listed(found), _listed({field.name: (type_name(field.type), "") for field in fields})
            raise other_columns(self.text, has, wants)
        for name in self.spec.key_names:
            collation = found[name][1]
            if collation and collation not in COLLATIONS.values():
                raise SinkRefused(
                    f'column "{name}" of table {self.text} is compared by {collation}, by which texts that differ may be one',
                    f"let it have COLLATE {self.collation}, or name another table, which is made if it is missing",
                )


def stage_columns(target: Target) -> str:
    """The columns of the table in which rows wait to be merged: numbered, as no name of the user must be in the way."""
    kinds = enumerate(map(type_name, target.spec.schema.types))
    return ", ".join([*(target.defined(f"c{place}", kind) for place, kind in kinds), f"op {type_name(BIGINT)}"])


def _listed(columns: dict[str, Any]) -> str:
    return choices(f"{name} {plain_name(kind)}" for name, (kind, _) in columns.items())
