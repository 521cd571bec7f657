"""Queries over the catalog, answered by DuckDB in memory: it is shut off from files and network, and bounded in memory."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sash.errors import SashError
from sash.serve.postgres.catalog.contents import Entry, Row, contents, entries, numbered
from sash.serve.postgres.catalog.functions import declarations
from sash.serve.postgres.catalog.relations import SCHEMAS, relations, types
from sash.serve.postgres.catalog.rewrite import Rewriting
from sash.serve.postgres.failures import WireError
from sash.serve.postgres.settings import Settings
from sash.serve.postgres.translate import SCHEMA
from sash.sql.catalog import Catalog

if TYPE_CHECKING:
    import duckdb

LOOK = 0.05  # seconds between two looks at the clock while a question is answered
_DEFAULTS = {"bool": False, "int2": 0, "int4": 0, "int8": 0, "oid": 0, "xid": 0, "float4": 0.0}
_CLASSES = {"_class_number": pa.uint32(), "_class_name": pa.string(), "_class_schema": pa.uint32(), "_class_sql": pa.string()}
_CLOSED = {
    "enable_external_access": "false", "autoinstall_known_extensions": "false", "autoload_known_extensions": "false",
    "memory_limit": "256MB", "threads": "1", "max_expression_depth": "500", "temp_directory": "",
    "integer_division": "true",
}


class CatalogDatabase:
    """The relations of the catalog, filled anew when streams, tables or views have come or gone."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._lock = threading.Lock()
        self._numbers: dict[str, int] = {}
        self._seen: list[Entry] | None = None
        self._connection: duckdb.DuckDBPyConnection | None = None

    def query(
        self, sql: str, parameters: Sequence[Any], session: Mapping[str, Any], settings: Settings, seconds: float | None,
        is_cancelled: threading.Event,
    ) -> pa.Table:
        """One question after the other, each for so many seconds at most, those that it waits for others included."""
        end = None if seconds is None else time.monotonic() + seconds
        if not self._lock.acquire(timeout=-1 if seconds is None else seconds):
            raise WireError("57014", f"the catalog was busy for {seconds:g} seconds")
        try:
            connection = self._filled(settings)
            text = Rewriting(self._numbers, session, settings.get).run(sql, parameters)
            import duckdb

            try:
                with _watched(connection, end, is_cancelled):
                    return _named(connection.sql(text))
            except duckdb.InterruptException:
                raise WireError("57014", "the statement was cancelled, or took too long") from None
            except duckdb.Error as error:
                raise WireError("42601", f"the catalog cannot answer this: {str(error).splitlines()[0]}") from None
        finally:
            self._lock.release()

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _filled(self, settings: Settings) -> duckdb.DuckDBPyConnection:
        if self._connection is None:
            self._connection = _opened()
        found = entries(self._catalog)
        if found != self._seen:
            own = numbered(found, self._numbers)
            for (schema, name), rows in contents(own, settings.items()).items():
                _fill(self._connection, schema, name, rows)
            _put(self._connection, "here.classes", _class_rows(own), _CLASSES)
            self._seen = found
        return self._connection


@contextmanager
def _watched(connection: duckdb.DuckDBPyConnection, end: float | None, is_cancelled: threading.Event) -> Iterator[None]:
    """While a question is answered: it is interrupted when its time is over or it is cancelled, again and again until it ends, as
    an interrupt that comes a moment too early is lost."""
    is_done = threading.Event()

    def watch() -> None:
        while not is_done.wait(LOOK):
            if is_cancelled.is_set() or (end is not None and time.monotonic() > end):
                connection.interrupt()

    watcher = threading.Thread(target=watch, name="sash-catalog", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        is_done.set()
        watcher.join()


def _class_rows(own: list[tuple[int, Entry]]) -> list[Row]:
    theirs = [(one.oid, one.name, SCHEMAS[one.schema], None) for one in relations().values()]
    ours = [(number, entry.name, SCHEMAS[SCHEMA], entry.sql) for number, entry in own]
    return [dict(zip(_CLASSES, row, strict=True)) for row in (*theirs, *ours)]


def _opened() -> duckdb.DuckDBPyConnection:
    try:
        import duckdb
    except ImportError:
        raise SashError("questions about the catalog need DuckDB", 'install it: pip install "sash[serve]"') from None
    connection = duckdb.connect(":memory:", config=_CLOSED)
    for statement in ("CREATE SCHEMA pg", "CREATE SCHEMA info", "CREATE SCHEMA here"):
        connection.execute(statement)
    for relation in relations().values():
        connection.execute(relation.declaration())
    connection.execute("CREATE TABLE here.types (_type_number UINTEGER, _type_shown VARCHAR)")
    connection.execute(
        "CREATE TABLE here.classes (_class_number UINTEGER, _class_name VARCHAR, _class_schema UINTEGER, _class_sql VARCHAR)"
    )
    connection.executemany("INSERT INTO here.types VALUES (?, ?)", [[int(row["oid"]), row["shown"]] for row in types()])
    for statement in declarations():
        connection.execute(statement)
    connection.execute("SET lock_configuration = true")
    return connection


def _fill(connection: duckdb.DuckDBPyConnection, schema: str, name: str, rows: Sequence[Row]) -> None:
    relation = relations()[schema, name]
    kinds = dict(relation.columns)
    blank = {column: _DEFAULTS.get(type_) if schema == "pg_catalog" else None for column, type_ in kinds.items()}
    target = f'{relation.schema_here}."{name}"'
    arrow = connection.sql(f"SELECT * FROM {target} LIMIT 0").to_arrow_table().schema
    _put(connection, target, [{**blank, **row} for row in rows], dict(zip(kinds, arrow.types, strict=True)))


def _put(connection: duckdb.DuckDBPyConnection, target: str, rows: Sequence[Row], schema: Mapping[str, pa.DataType]) -> None:
    table = pa.table({name: pa.array([row[name] for row in rows], type_) for name, type_ in schema.items()})
    connection.execute(f"DELETE FROM {target}")
    connection.register("incoming", table)
    connection.execute(f"INSERT INTO {target} SELECT * FROM incoming")
    connection.unregister("incoming")


def _named(answer: duckdb.DuckDBPyRelation) -> pa.Table:
    """With the names that were asked for, also where two are alike."""
    return answer.to_arrow_table().rename_columns(answer.columns)
