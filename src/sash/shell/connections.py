"""What a shell talks to: a database of its own, or a server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import pyarrow as pa

from sash.database.answer import Rows
from sash.database.database import Database

LOOK = 0.2  # seconds after which one who follows changes looks whether he is still wanted


class Connection(Protocol):
    """Statements in, rows out."""

    title: str  # for people

    def run(self, statement: str) -> Rows | None:
        """Carry out one statement; its rows, if it gives some."""

    def follow(self, view: str) -> Iterator[pa.RecordBatch | None]:
        """The answer of a view, then its changes as they come; None now and then while nothing comes."""

    def close(self) -> None: ...


class OwnDatabase:
    """A database in this process, on either host."""

    def __init__(self, db: Database, title: str) -> None:
        self.title = title
        self._db = db

    def run(self, statement: str) -> Rows | None:
        return self._db.execute(statement)

    def follow(self, view: str) -> Iterator[pa.RecordBatch | None]:
        with self._db.subscribe(view, LOOK, snapshot=True) as changes:
            while True:
                yield from changes
                if changes.is_over:
                    return
                yield None

    def close(self) -> None:
        self._db.close()
