"""The live answer of a view: a bag of rows to which net changes are added. A change costs what it changes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.deltas import Delta, Int64s, Layout, forever
from sash.kernels.answers import add_few
from sash.operators.filter.kernels import TRUE, passing_rows
from sash.operators.net_changes import NetChanges
from sash.operators.orders import row_order
from sash.runtime.access import ByKeys, BySpans, InOrder, Read, Wanted
from sash.runtime.in_order import rows_in_order
from sash.scalar.array_bytes import to_bytes
from sash.schema import Schema
from sash.stores.arena import Arena
from sash.stores.bag import AnswerBag
from sash.stores.group_index import GroupIndex, Ranges
from sash.stores.interner import Interner
from sash.stores.lanes import decode, encode
from sash.stores.make_index import make_index
from sash.stores.view_index import HashIndex, IndexShape, TreeIndex

Net: TypeAlias = pa.Table | pa.RecordBatch  # the columns of the view, then the weight
Lanes: TypeAlias = tuple[Int64s, Int64s]  # rows and their weights


class Weighed(NamedTuple):
    """Columns of rows, and how often each of these is there."""

    columns: list[pa.Array]
    weights: Int64s


Relations: TypeAlias = Mapping[str, Net | Weighed]  # by name
ReadRows: TypeAlias = Callable[[Read], Weighed]

FEW = 32  # changes that are looked for in a whole answer
MANY = 1_000  # rows that an index may find before others are looked at, too
SCATTERED = 6  # rows that are looked at as they lie in the time of one that an ordered index finds

NO_LANES: Lanes = np.empty((0, 1), np.int64), np.empty(0, np.int64)


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
            self._bag.add(*self._encoded(net))

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

    def rows_of(self, lanes: Lanes, more: Iterable[Net]) -> pa.Table:
        """The same of rows that somebody else remembers; their strings are those of the shelf."""
        with self._lock:
            encoded = [self._encoded(net) for net in more if net.num_rows]
            rows, counts = self._with_more(lanes, self._netted(*_joined(encoded))) if encoded else lanes
            if len(counts) and counts.min() == counts.max() == 1:
                return self._table(rows)
            return self._table(np.repeat(rows, np.maximum(counts, 0), axis=0))

    def _with_more(self, lanes: Lanes, more: Lanes) -> Lanes:
        """Distinct rows with net changes; few of these are looked for in one pass."""
        rows, counts = lanes
        few, weights = more
        if len(weights) > FEW:
            return self._netted(*_joined([lanes, more]))
        counts, found = counts.copy(), np.zeros(len(weights), np.int64)
        add_few(rows, counts, few, weights, found)
        is_new = found == 0
        return np.concatenate([rows, few[is_new]]), np.concatenate([counts, weights[is_new]])

    def lanes(self, more: Iterable[Net]) -> Lanes:
        """Changes that are looked at, for `select`; good until the strings of the shelf are next swept."""
        with self._lock:
            encoded = [self._encoded(net) for net in more if net.num_rows]
        return _joined(encoded) if encoded else NO_LANES

    def keep_indexes(self, shapes: Iterable[IndexShape]) -> None:
        """Have these indexes, by which `select` finds rows, and no others."""
        orders = row_order(self._layout)
        with self._lock:
            self._bag.keep_indexes(
                shapes, lambda shape, scope: make_index(shape, self._bag, scope, self._layout, list(orders), self._interner)
            )

    def select(self, wanted: Wanted, ahead: Lanes = NO_LANES) -> list[pa.Array]:
        """The columns of the rows that are wanted, in no order. Where an index, or the key of the answer, finds them, no other
        rows are touched."""
        with self._lock:
            found, counts = self._wanted(wanted, ahead)
            if len(counts) and counts.max() > 1:
                found = np.repeat(found, np.maximum(counts, 0), axis=0)
            elif len(counts) and counts.min() < 1:
                found = found[counts > 0]
            return decode(np.ascontiguousarray(found), self._layout, self._interner)

    def weighed(self, wanted: Wanted, ahead: Lanes = NO_LANES) -> Weighed:
        """The same rows, each once; or others that do for the figures that are asked for."""
        with self._lock:
            found, counts = self._wanted(wanted, ahead)
            is_there = counts > 0
            return Weighed(decode(np.ascontiguousarray(found[is_there]), self._layout, self._interner), counts[is_there])

    def _wanted(self, wanted: Wanted, ahead: Lanes) -> Lanes:
        tests = wanted.tests.lines(self._interner)
        more = _passing(*ahead, tests) if len(ahead[1]) else NO_LANES
        if isinstance(wanted.access, InOrder):
            found, counts = self._in_order(wanted.access, more)
            wanted.rows, wanted.looked_at = len(self._bag), len(counts)
            return found, counts
        found, counts = self._candidates(wanted, ahead)
        wanted.rows, wanted.looked_at = len(self._bag), len(counts)
        found, counts = _passing(found, counts, tests)
        if len(more[1]):
            return self._netted(*_joined([(found, counts), more]))
        return found, counts

    def _in_order(self, access: InOrder, ahead: Lanes) -> Lanes:
        index = self._bag.index(access.shape)
        assert isinstance(index, TreeIndex)
        more = ahead if len(ahead[1]) else (np.empty((0, self._layout.width), np.int64), ahead[1])
        return self._netted(*rows_in_order(access, index, self._bag, self._layout, self._interner, more))

    def ranges(self, shape: IndexShape, ahead: Lanes = NO_LANES) -> Ranges:
        """How many rows there are in the ranges of an index USING GROUP."""
        with self._lock:
            index = self._bag.index(shape)
            assert isinstance(index, GroupIndex)
            return index.ranges(*ahead)

    def _candidates(self, wanted: Wanted, ahead: Lanes) -> Lanes:
        """All rows that may be wanted, with their counts, whatever of these changes is about to come."""
        access, bag, gone = wanted.access, self._bag, int(-ahead[1].clip(max=0).sum())
        if access is None:
            key = wanted.key(bag.key_columns)
            return bag.rows() if key is None else bag.find(key.lanes(self._interner))
        assert isinstance(access, ByKeys | BySpans), f"a {type(access).__name__} finds no rows"
        access, expected = self._narrowest((access, *wanted.others), gone)
        if isinstance(access, BySpans) and expected > MANY and SCATTERED * expected > len(bag):
            wanted.used = None
            return bag.rows()
        wanted.used, index = access, bag.index(access.shape)
        if isinstance(access, ByKeys):
            assert isinstance(index, HashIndex)
            return bag.at(index.find(access.lines.lanes(self._interner)))
        assert isinstance(index, TreeIndex)
        return bag.at(index.between(access.ranks(index, self._interner, gone)))

    def _narrowest(self, ways: Sequence[ByKeys | BySpans], gone: int) -> tuple[ByKeys | BySpans, int]:
        """The first one that finds few rows, or the one that finds least. A hash index that found many is tried again later, as
        other values may have fewer."""
        best, least = ways[0], self._expected(ways[0], gone)
        for way in ways[1:]:
            if least <= MANY:
                break
            if (expected := self._expected(way, gone)) < least:
                best, least = way, expected
        for index in (self._bag.index(way.shape) for way in ways[: ways.index(best)]):
            if isinstance(index, HashIndex):
                index.found -= index.found >> 6
        return best, least

    def _expected(self, access: ByKeys | BySpans, gone: int) -> int:
        """How many rows an access finds: as many as its index last found for a value, or as many as there are in its spans."""
        index = self._bag.index(access.shape)
        if isinstance(index, HashIndex):
            return index.found * len(access.lines) if isinstance(access, ByKeys) else 0
        assert isinstance(index, TreeIndex) and isinstance(access, BySpans)
        return sum(high - low for low, high in access.ranks(index, self._interner, gone))

    def _netted(self, rows: Int64s, weights: Int64s) -> Lanes:
        same = np.zeros(len(weights), np.int64)
        net = NetChanges(self._layout, self._interner).over_all(Delta(rows, same, forever(len(weights)), weights))
        return net.rows, net.weight

    @contextmanager
    def _with(self, ahead: Sequence[Net]) -> Iterator[None]:
        """As it would be with these changes, whose order does not matter; whatever happens meanwhile, they are gone after it."""
        encoded = [self._encoded(net) for net in ahead if net.num_rows]
        if not encoded:
            yield
            return
        rows, weights = self._netted(*_joined(encoded))
        self._bag.add(rows, weights)
        try:
            yield
        finally:
            self._bag.add(rows, -weights)

    def _encoded(self, net: Net) -> Lanes:
        arrays = [column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column for column in net.columns]
        *columns, weights = arrays
        rows = encode(columns, self._layout, self._interner) if columns else np.zeros((len(weights), 1), np.int64)
        return rows, np.array(weights, np.int64)

    def _table(self, rows: Int64s) -> pa.Table:
        return in_row_order(decode(rows, self._layout, self._interner), self._layout.schema)


def _joined(parts: Sequence[Lanes]) -> Lanes:
    return np.concatenate([rows for rows, _ in parts]), np.concatenate([weights for _, weights in parts])


def _passing(rows: Int64s, weights: Int64s, tests: Int64s) -> Lanes:
    """Of rows, each with more lanes than its own perhaps, and of some weight, those that pass tests."""
    if not len(tests):
        return rows, weights
    places = np.empty(len(weights) + 1, np.int64)
    places = places[: passing_rows(rows, tests, TRUE, places)]
    return rows[places], weights[places]


def in_row_order(columns: Sequence[pa.Array], schema: Schema) -> pa.Table:
    """Rows of a schema, sorted by all their columns."""
    if columns and len(columns[0]) < 2 and [column.type for column in columns] == schema.arrow.types:
        return pa.Table.from_arrays(columns, schema=schema.arrow)
    names = [f"c{place}" for place in range(len(schema))]  # those of a view may repeat, these do not
    rows = pa.Table.from_arrays(columns, names=names)
    if names and rows.num_rows > 1:
        keys = [to_bytes(column) if pa.types.is_list(column.type) else column for column in columns]
        order = [(name, "ascending") for name in names]
        rows = rows.take(pc.sort_indices(pa.Table.from_arrays(keys, names=names), order))
    return named(rows, schema)


def named(rows: pa.Table, schema: Schema) -> pa.Table:
    """Rows under the names, and in the types, of a schema."""
    renamed = rows.rename_columns(list(schema.names))
    return renamed if renamed.schema.types == schema.arrow.types else renamed.cast(schema.arrow)
