"""Delta tables: one that is opened by its place, and what its versions hold, whole or as changes between two of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from sash.errors import SashError, choices
from sash.folders.locations import absolute, locate, split_options
from sash.folders.object_stores import storage_options
from sash.schema import Schema

FEED = "delta.enableChangeDataFeed"  # the property of a table that writes its changes beside its rows
KIND = "_change_type"
LEAVING, ENTERING = ("delete", "update_preimage"), ("insert", "update_postimage")


def open_table(place: str) -> DeltaTable:
    """As of now. Errors are those of the library."""
    return DeltaTable(split_options(place)[0], storage_options=storage_options(locate(place)))


@dataclass(frozen=True)
class Version:
    """What a look at a table has found; rows have the columns that were asked for."""

    position: Mapping[str, Any]
    entering: pa.Table
    leaving: pa.Table | None  # None: `entering` is the whole table


class DeltaVersions:
    """The versions of a table, one after the other; `who` reads them."""

    def __init__(self, who: str, path: str, base: Path, schema: Schema) -> None:
        self._who, self._place, self._schema = who, absolute(path, base), schema

    def after(self, position: Mapping[str, Any] | None) -> Version | None:
        """What has come after a position; None: nothing.

        A table without a feed, or without one that reaches back so far, is read as a whole, and so is one that was made anew.
        """
        with self._telling():
            table = open_table(self._place)
            self._check_columns(table)
            known = {"id": str(table.metadata().id), "version": table.version()}
            if position == known:
                return None
            is_grown = position is not None and position["id"] == known["id"] and position["version"] < known["version"]
            if is_grown and position is not None and table.metadata().configuration.get(FEED) == "true":
                changes = self._changes(table, position["version"] + 1)
                if changes is not None:
                    return Version(known, *changes)
            return Version(known, _plain(pa.table(table.scan(columns=list(self._schema.names)))).select(self._schema.names), None)

    def _changes(self, table: DeltaTable, first: int) -> tuple[pa.Table, pa.Table] | None:
        """From a version on, up to that of the table; the feed by itself would go on with what has come since it was opened."""
        columns, last = [*self._schema.names, KIND], table.version()
        try:
            found = _plain(pa.table(table.load_cdf(starting_version=first, ending_version=last, columns=columns)))
        except DeltaError:
            return None  # the feed was not written yet, or is cleaned away
        kinds = found.column(KIND)
        unknown = set(pc.unique(kinds).to_pylist()) - {*LEAVING, *ENTERING}
        if unknown:
            raise SashError(f"the feed of {self} has changes of an unknown kind: {choices(map(repr, unknown))}")
        entering = np.asarray(pc.is_in(kinds, pa.array(ENTERING)))
        rows = found.select(self._schema.names)
        return rows.filter(pa.array(entering)), rows.filter(pa.array(~entering))

    def _check_columns(self, table: DeltaTable) -> None:
        names = [field.name for field in table.schema().fields]
        for name in self._schema.names:
            if name not in names:
                raise SashError(f'{self} has no column "{name}"', f"declare columns that it has: {choices(names)}")

    def __str__(self) -> str:
        return f"Delta table {split_options(self._place)[0]}"

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """What the library says, as an error of ours, which names the place."""
        try:
            yield
        except TableNotFoundError:
            raise SashError(f"{self} of {self._who} is not there", "see its path, and that a first version is written") from None
        except (DeltaError, OSError, pa.ArrowException) as error:
            raise SashError(f"{self} of {self._who}: {str(error).strip().splitlines()[0]}") from None


def _plain(rows: pa.Table) -> pa.Table:
    """With types as they are elsewhere: no views, no dictionaries, instants without their time zone, which are those of UTC."""
    columns = []
    for column in rows.columns:
        chunks = [_decoded(chunk) for chunk in column.chunks]
        plain = _plain_type(column.type)
        columns.append(pa.chunked_array([chunk.cast(plain) for chunk in chunks], plain))
    return pa.table(columns, names=rows.column_names)


def _decoded(values: pa.Array) -> pa.Array:
    """Arrow does not take values of a dictionary of views."""
    if not pa.types.is_dictionary(values.type):
        return values
    return values.dictionary.cast(_plain_type(values.type)).take(values.indices)


def _plain_type(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(type_):
        return _plain_type(type_.value_type)
    if pa.types.is_string_view(type_):
        return pa.string()
    if pa.types.is_timestamp(type_):
        return pa.timestamp("us")
    return pa.list_(_plain_type(type_.value_type)) if pa.types.is_list(type_) else type_
