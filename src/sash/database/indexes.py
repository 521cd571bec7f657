"""Indexes of views: which ones there are, and by which of them a question is answered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from sash.database.access import Choice
from sash.deltas import Layout
from sash.plan.index_method import LIST
from sash.runtime.access import InOrder, Wanted
from sash.scalar.nodes import Call
from sash.sql.catalog import Catalog, IndexDefinition
from sash.sql.indexes import column_places
from sash.stores.view_index import IndexShape


class RowsAsked(Protocol):
    """Of one view, whose columns a layout tells: those with some conditions true, which are among what the chooser knows."""

    @property
    def view(self) -> str: ...
    @property
    def layout(self) -> Layout: ...
    @property
    def conditions(self) -> Sequence[Call]: ...
    def choices(self, indexes: Iterable[IndexShape]) -> Sequence[Choice]:
        """Of indexes that they are found by, the best one first."""

    def wished(self) -> Iterable[IndexShape]:
        """Indexes that would leave less to look at than all rows, those that cost least first."""


@dataclass(frozen=True, eq=False)
class Access:
    """How the rows of a selection are found, also in words."""

    wanted: Wanted
    text: str


def shape_of(index: IndexDefinition, catalog: Catalog) -> IndexShape:
    view = catalog.kept_view(index.view)
    assert view is not None
    return IndexShape(column_places(index, view.plan.schema), index.method)


def shapes_of(catalog: Catalog) -> dict[str, list[IndexShape]]:
    """The indexes of every view that has some."""
    found: dict[str, list[IndexShape]] = {}
    for index in catalog.indexes.values():
        found.setdefault(index.view, []).append(shape_of(index, catalog))
    return found


def indexes_of(view: str, catalog: Catalog) -> Mapping[IndexShape, IndexDefinition]:
    return {shape_of(index, catalog): index for index in catalog.indexes_of(view)}


def access_of(asked: RowsAsked, indexes: Mapping[IndexShape, IndexDefinition]) -> Access:
    """By the best index; where none serves, and rows are not told apart by what is asked for, all rows are read."""
    choices = asked.choices(indexes)
    first = choices[0].access if choices else None
    others = tuple(one.access for one in choices[1:] if not isinstance(one.access, InOrder))
    wanted = Wanted(asked.layout, asked.conditions, first, frozenset(indexes), others)
    if choices:
        told = [_told(one, indexes[one.access.shape]) for one in choices]
        return Access(wanted, "; if that finds many rows, perhaps ".join(told))
    listed = next((index for index in indexes.values() if index.method == LIST), None)
    if listed is not None:
        return Access(wanted, f"index {listed.name} of {listed.view}, {LIST}: all rows are looked at")
    why = "no index of it serves" if indexes else "it has no index"
    return Access(wanted, f"all rows of {asked.view}: {why}")


def _told(choice: Choice, index: IndexDefinition) -> str:
    own = "automatic index" if index.is_automatic else f"index {index.name}"
    return f"{own} of {index.view}, {index.method} ({', '.join(index.columns)}): {choice.reason}"


def indexes_table(catalog: Catalog) -> pa.Table:
    """What SHOW INDEXES shows."""
    found = list(catalog.indexes.values())
    return pa.table(
        {
            "name": pa.array([index.name for index in found], pa.string()),
            "view": pa.array([index.view for index in found], pa.string()),
            "columns": pa.array([", ".join(index.columns) for index in found], pa.string()),
            "using": pa.array([str(index.method) for index in found], pa.string()),
            "automatic": pa.array([index.is_automatic for index in found], pa.bool_()),
        }
    )
