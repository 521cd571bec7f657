"""The live answer of a view: a bag of rows to which net changes are added. A change costs what it changes."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.deltas import Int64s, Layout
from sash.scalar.array_bytes import to_bytes
from sash.schema import Schema
from sash.stores.arena import Arena
from sash.stores.bag import AnswerBag
from sash.stores.interner import Interner
from sash.stores.lanes import decode, encode

Net: TypeAlias = pa.Table | pa.RecordBatch  # the columns of the view, then the weight


class Shelf:
    """Where live answers are kept together: one arena and one table of strings for all, which may be that of a shard."""

    def __init__(self, interner: Interner | None = None) -> None:
        self.arena = Arena.anonymous()
        self.interner = interner or Interner(self.arena)
        self.lock = threading.Lock()
        self._count = 0

    def place(self) -> str:
        self._count += 1
        return f"answer {self._count}"


class LiveView:
    """The rows that a view, or a table, holds now; without a shelf, on one of its own."""

    def __init__(self, schema: Schema, shelf: Shelf | None = None, key_columns: int | None = None) -> None:
        """So many of the first columns tell its rows apart, if that is known."""
        self._layout = Layout(schema)
        self._shelf = shelf or Shelf()
        self._place, self._interner, self._lock = self._shelf.place(), self._shelf.interner, self._shelf.lock
        with self._interner.owned(self._place):
            self._bag = AnswerBag(self._layout, self._shelf.arena.scope(self._place), self._interner, key_columns)

    def close(self) -> None:
        """Nobody will ask any more."""
        self._interner.release(self._place)
        self._shelf.arena.drop(f"{self._place}/")

    @property
    def least_count(self) -> int:
        """How often the rarest row is there; below 0 when more left than came."""
        return int(self._bag.rows()[1].min(initial=0))

    def add(self, net: Net) -> None:
        """Take net changes in."""
        with self._lock:
            self._interner.sweep()
            self._add(net, 1)

    def add_lanes(self, rows: Int64s, weights: Int64s) -> None:
        """The same, of changes whose strings are those of the shelf."""
        with self._lock:
            self._bag.add(rows, weights)

    def add_changelog(self, changes: pa.Table) -> None:
        """Changes with sign: _op, _ts, then the columns of the view."""
        columns = [*changes.columns[2:], changes.column(0).cast(pa.int64())]
        self.add(pa.Table.from_arrays(columns, names=[*changes.column_names[2:], "_weight"]))

    def rows(self, more: Iterable[Net] = ()) -> pa.Table:
        """The answer, every row as often as it is in it, sorted; `more` changes are looked at, not kept."""
        ahead = list(more)
        with self._lock, self._with(ahead):
            rows, counts = self._bag.rows()
            return self._table(np.repeat(rows, np.maximum(counts, 0), axis=0))

    @contextmanager
    def _with(self, ahead: Sequence[Net]) -> Iterator[None]:
        """As it would be with these changes; whatever happens meanwhile, they are gone after it."""
        added: list[Net] = []
        try:
            for net in ahead:
                self._add(net, 1)
                added.append(net)
            yield
        finally:
            for net in added:
                self._add(net, -1)

    def _add(self, net: Net, sign: int) -> None:
        arrays = [column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column for column in net.columns]
        *columns, weights = arrays
        if len(weights):
            rows = encode(columns, self._layout, self._interner) if columns else np.zeros((len(weights), 1), np.int64)
            self._bag.add(rows, sign * np.array(weights, np.int64))

    def _table(self, rows: Int64s) -> pa.Table:
        names = [f"c{place}" for place in range(len(self._layout.schema))]  # those of a view may repeat, these do not
        columns = decode(rows, self._layout, self._interner)
        table = pa.Table.from_arrays(columns, names=names)
        if names:
            keys = [to_bytes(column) if pa.types.is_list(column.type) else column for column in columns]
            order = [(name, "ascending") for name in names]
            table = table.take(pc.sort_indices(pa.Table.from_arrays(keys, names=names), order))
        return table.rename_columns(self._layout.schema.names).cast(self._layout.schema.arrow)
