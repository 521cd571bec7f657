"""Rows of a view that another relation matches: found by the values that this one has, where these are few."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from sash.runtime.access import ByKeys, Lines, Wanted
from sash.runtime.live import Net, Weighed
from sash.scalar.nodes import Literal
from sash.stores.view_index import IndexShape

MOST_KEYS = 1024  # with more of them all rows are looked at


@dataclass(frozen=True)
class Matching:
    """An index by columns of a view, and the columns of a relation, with their values."""

    shape: IndexShape
    of_source: tuple[int, ...]
    source: str

    @property
    def columns(self) -> tuple[int, ...]:
        return self.shape.columns


def matched_by(matching: Matching, source: Net | Weighed, wanted: Wanted) -> Wanted:
    """The rows that are wanted, found by an index if the source has few values; NULL is one of them, which harms nobody."""
    columns = [source.columns[place] for place in matching.of_source]
    names = [str(place) for place in range(len(columns))]
    values = pa.Table.from_arrays(columns, names).group_by(names).aggregate([])
    if values.num_rows > MOST_KEYS:
        return wanted
    types = [wanted.layout.schema.types[column] for column in matching.columns]
    rows = [
        [None if value is None else Literal(value, type_) for value, type_ in zip(row.values(), types, strict=True)]
        for row in values.to_pylist()
    ]
    return wanted.by(ByKeys(matching.shape, Lines(wanted.layout, matching.columns, rows)))
