"""What tests of sinks ask: the rows of a table and of a view, as bags that can be compared."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sash.database.database import Database

if TYPE_CHECKING:  # of which one may be installed without the other
    from mariadb_server import MariaDbServer
    from postgres_server import PostgresServer

    Server = PostgresServer | MariaDbServer


def plain(value: Any) -> Any:
    """Values that are equal to each other: lists, and the float that is not equal to itself."""
    if isinstance(value, list | tuple):
        return tuple(map(plain, value))
    return "nan" if isinstance(value, float) and value != value else value


def bag(rows: pa.Table) -> Counter[Any]:
    return Counter(tuple(map(plain, row.values())) for row in rows.to_pylist()) if rows.num_columns else Counter()


def table(server: Server, name: str, columns: list[str]) -> Counter[Any]:
    listed = ", ".join(server.quoted(column) for column in columns)
    return Counter(tuple(map(plain, row)) for row in server.rows(f"SELECT {listed} FROM {name}"))


def check(server: Server, db: Database, view: str, name: str) -> None:
    """The table holds the answer of the view, as far as it is final."""
    db.drain()
    answer = db.final(view).to_arrow()
    assert table(server, name, answer.column_names) == bag(answer)


def check_changes(server: Server, db: Database, view: str, name: str) -> None:
    """The table holds the changes of the view."""
    db.drain()
    changes = db.changes(view)
    assert isinstance(changes, pa.Table)
    assert table(server, name, changes.column_names) == bag(changes)
