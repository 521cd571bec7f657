"""Indexes that nobody asked for: made where questions look at many rows for want of one, dropped when they are of no use.

    a question of k = 7 looks at all rows ─▶ what it looked at is noted of the index by k that is not there
    as much as it costs to make that index ─▶ it is made

So what is looked at in vain is never much more than what an index costs, whatever is asked, and how often. All of them together
are bounded in memory: the one that was used least lately makes room, and one that no question has used for long goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from sash.database.indexes import RowsAsked, shape_of
from sash.plan.index_method import HASH, TREE
from sash.runtime.access import Wanted
from sash.schema import Kind
from sash.sql.catalog import Catalog, IndexDefinition
from sash.stores.view_index import IndexShape

FEWEST = 1_000  # rows of a view that are worth an index
PRICES = {HASH: 20, TREE: 200}  # what it costs to put a row into an index, in rows that are looked at (decision 0104)
ROW_BYTES = 96  # what an index keeps for a row at most
MOST_BYTES = 64 << 20  # of all automatic indexes
UNUSED = 10_000  # questions without a use after which one goes
MOST_WISHES = 1_000  # that are noted
LOOK = 1_000  # questions between two looks for unused ones

Wish = tuple[str, IndexShape]  # a view, and an index of it


@dataclass
class Use:
    """Of an index that was made by itself: the last question that used it, and how many rows its view had."""

    question: int
    rows: int


class AutomaticIndexes:
    """Notes what questions look at; makes and drops indexes in the catalog."""

    def __init__(self, *, is_on: bool) -> None:
        self._is_on = is_on
        self._questions = 0
        self._wishes: WeakKeyDictionary[RowsAsked, tuple[IndexShape, ...]] = WeakKeyDictionary()
        self._looked_at: dict[Wish, int] = {}  # for want of an index
        self._uses: dict[Wish, Use] = {}  # of those that were made

    def observe(self, asked: RowsAsked, wanted: Wanted, catalog: Catalog) -> bool:
        """A question was answered; whether the indexes of the catalog are others now."""
        if not self._is_on:
            return False
        self._questions += 1
        if wanted.used is not None and (use := self._uses.get((asked.view, wanted.used.shape))) is not None:
            use.question, use.rows = self._questions, wanted.rows
        is_changed = self._questions % LOOK == 0 and self._drop_unused(catalog)
        if wanted.rows < FEWEST or wanted.looked_at < FEWEST:
            return is_changed
        shape = next((one for one in self._wished(asked) if one not in wanted.indexes), None)
        return (shape is not None and self._want(asked, shape, wanted, catalog)) or is_changed

    def _wished(self, asked: RowsAsked) -> tuple[IndexShape, ...]:
        if asked not in self._wishes:
            self._wishes[asked] = tuple(shape for shape in asked.wished() if _can_be_named(shape, asked))
        return self._wishes[asked]

    def _want(self, asked: RowsAsked, shape: IndexShape, wanted: Wanted, catalog: Catalog) -> bool:
        """Note what was looked at for want of an index, and make it when that has cost as much."""
        wish, needs = (asked.view, shape), wanted.rows * ROW_BYTES
        looked_at = self._looked_at.pop(wish, 0) + wanted.looked_at
        if looked_at < PRICES[shape.method] * wanted.rows or needs > MOST_BYTES:
            self._looked_at[wish] = looked_at
            while len(self._looked_at) > MOST_WISHES:
                del self._looked_at[next(iter(self._looked_at))]
            return False
        self._make_room(needs, catalog)
        columns = tuple(asked.layout.schema.names[column] for column in shape.columns)
        name = f"{asked.view} by {', '.join(columns)} using {shape.method}"
        catalog.indexes = {**catalog.indexes, name.lower(): IndexDefinition(name, asked.view, columns, shape.method, True)}
        self._uses[wish] = Use(self._questions, wanted.rows)
        return True

    def _drop_unused(self, catalog: Catalog) -> bool:
        gone = [wish for wish, use in self._uses.items() if self._questions - use.question > UNUSED]
        self._drop(gone, catalog)
        return bool(gone)

    def _make_room(self, needs: int, catalog: Catalog) -> None:
        """Of indexes that are there, those that were used least lately go."""
        there = {(index.view, shape_of(index, catalog)) for index in catalog.indexes.values() if index.is_automatic}
        self._uses = {wish: use for wish, use in self._uses.items() if wish in there}
        lately = sorted(self._uses, key=lambda wish: self._uses[wish].question)
        while lately and needs + sum(use.rows for use in self._uses.values()) * ROW_BYTES > MOST_BYTES:
            self._drop([lately.pop(0)], catalog)

    def _drop(self, gone: Sequence[Wish], catalog: Catalog) -> None:
        for wish in gone:
            del self._uses[wish]
        catalog.indexes = {
            name: index for name, index in catalog.indexes.items()
            if not index.is_automatic or (index.view, shape_of(index, catalog)) not in gone
        }


def _can_be_named(shape: IndexShape, asked: RowsAsked) -> bool:
    """Whether an index of these columns could be asked for."""
    names, types = asked.layout.schema.names, asked.layout.schema.types
    return all(names.count(names[column]) == 1 and types[column].kind is not Kind.ARRAY for column in shape.columns)
