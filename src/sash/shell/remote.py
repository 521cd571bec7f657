"""A server that somebody started with `sash serve` or `db.serve()`, spoken to as PostgreSQL."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sash.database.answer import Rows
from sash.errors import SashError

if TYPE_CHECKING:
    import psycopg

SHOWN = 1 << 20  # rows that a shell takes of an answer


class Server:
    """A connection to a server."""

    def __init__(self, url: str) -> None:
        try:
            import psycopg
        except ImportError:
            raise SashError("connecting to a server needs psycopg", 'pip install "sash[shell]"') from None
        self._errors = psycopg.Error
        with self._told():
            self._connection = psycopg.connect(url, autocommit=True)
        info = self._connection.info
        self.title = f"server at {info.host}:{info.port}"

    def run(self, statement: str) -> Rows | None:
        with self._told(), self._connection.cursor() as cursor:
            cursor.execute(statement.encode())  # as bytes nothing in it is taken for the place of a value
            if cursor.description is None:
                return None
            names = [column.name for column in cursor.description]
            return Rows(_table(names, cursor.fetchmany(SHOWN)))

    def follow(self, view: str) -> Iterator[pa.RecordBatch | None]:
        with self._told(), self._connection.cursor() as cursor:
            quoted = '"' + view.replace('"', '""') + '"'
            names = ["_op", "_ts", *(str(row["column"]) for row in self.run(f"DESCRIBE {quoted}") or ())]
            with cursor.copy(f"COPY (SUBSCRIBE {quoted}) TO STDOUT".encode()) as copy:
                for row in copy.rows():
                    yield from _table(names, [(int(row[0] or 0), *row[1:])]).to_batches()

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Errors of the server in our own words."""
        try:
            yield
        except self._errors as error:
            raise _error(error) from None


def _error(error: psycopg.Error) -> SashError:
    said = error.diag
    if said.message_primary is None:  # there is no server, or it has gone
        return SashError(re.sub(r"\s+", " ", str(error)).strip(), "see that it runs, and that its address is right")
    return SashError(said.message_primary, said.message_hint)


def _table(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else ([] for _ in names)
    return pa.Table.from_arrays([_array(list(column)) for column in columns], names=list(names))


def _array(values: list[Any]) -> pa.Array:
    """Of the type that the values have; of texts where they have none in common."""
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        return pa.array([None if value is None else str(value) for value in values], pa.string())
