"""What a door needs of a database. The doors know nothing else of it, and it knows nothing of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import pyarrow as pa

from sash.sql.catalog import Catalog


class Table(Protocol):
    """Rows of named columns."""

    def to_arrow(self) -> pa.Table: ...


class Changes(Protocol):
    """The changes of a view as they come."""

    def __iter__(self) -> Iterator[pa.RecordBatch]: ...

    def __next__(self) -> pa.RecordBatch: ...

    @property
    def is_over(self) -> bool:
        """Whether nothing will come any more."""

    def close(self) -> None: ...


class Served(Protocol):
    """A database, as far as it is served."""

    @property
    def catalog(self) -> Catalog: ...

    def execute(self, sql: str) -> Table | None: ...

    def query(self, sql: str) -> Table: ...

    def columns(self, sql: str) -> pa.Schema:
        """Those of a query's answer; it is not answered."""

    def change_columns(self, view: str) -> pa.Schema:
        """Those of what `subscribe` gives."""

    def subscribe(self, view: str, timeout: float) -> Changes: ...
