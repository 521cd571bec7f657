"""Indexes of an answer, by which a question finds rows without touching the others. (`kernels/view_index.py` draws them.)

    HashIndex    rows that have given values in all of its columns
    TreeIndex    rows between two bounds of some first columns, and the first or last ones in their order
    ListIndex    all rows, as they lie: it costs those who change them nothing

An answer notes which of its nodes change. An index takes that in when it is next asked: the work is what has changed since, each
node once, however often it changed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sash.deltas import Int64s
from sash.kernels import view_index as kernel
from sash.kernels.bundles import Bundle
from sash.kernels.tree import NODE_FIELDS, TOTAL, Tree
from sash.plan.index_method import IndexMethod
from sash.stores.arena import Scope
from sash.stores.hash_table import grown_table, table_length
from sash.stores.interner import Interner
from sash.stores.ranking import KeyColumns

if TYPE_CHECKING:
    from sash.stores.bag import AnswerBag

FEW = 16  # nodes that a look-up has room for at first


@dataclass(frozen=True)
class IndexShape:
    """By which columns rows are found, and how."""

    columns: tuple[int, ...]
    method: IndexMethod


class ViewIndex(ABC):
    """Of one answer, by some of its columns."""

    def __init__(self, bag: AnswerBag, scope: Scope) -> None:
        self._bag, self._scope = bag, scope

    @abstractmethod
    def refresh(self, touched: Int64s, count: int) -> None:
        """Take in that so many nodes, the first of a list, have changed."""

    def close(self) -> None:
        self._scope.drop()


class ListIndex(ViewIndex):
    """Nothing but the rows themselves."""

    def refresh(self, touched: Int64s, count: int) -> None:
        """The rows are all in the answer."""


class HashIndex(ViewIndex):
    """Nodes by the values of columns."""

    def __init__(self, bag: AnswerBag, scope: Scope, key: KeyColumns) -> None:
        super().__init__(bag, scope)
        self._key = key
        self.found = 0  # nodes for a line, when it was last asked
        self._links = scope.array("links", (len(bag.nodes), kernel.LINKS))
        self._table = scope.array("table", table_length(len(bag.nodes)))

    def refresh(self, touched: Int64s, count: int) -> None:
        bag, key = self._bag, self._key
        if len(self._links) < len(bag.nodes):
            self._links = self._scope.resize("links", len(bag.nodes))
            self._table = grown_table(self._scope, "table", self._table, table_length(len(bag.nodes)))
        kernel.refresh_hash(touched, count, bag.nodes, bag.count_lane, key.lanes, key.nulls, self._table, self._links)

    def find(self, lines: Int64s) -> Int64s:
        """The nodes that may have the values of these rows: all that have them, perhaps others too."""
        tags = np.empty(len(lines), np.int64)
        kernel.tag_keys(lines, self._key.lanes, self._key.nulls, tags)
        if len(tags) > 1:
            tags = np.unique(tags)
        found = np.empty(FEW, np.int64)
        count = kernel.nodes_of_tags(tags, self._table, self._links, found)
        if count > len(found):
            found = np.empty(count, np.int64)
            kernel.nodes_of_tags(tags, self._table, self._links, found)
        self.found = count // max(1, len(tags))
        return found[:count]


Ranks = tuple[int, int]  # from the first to before the second


class TreeIndex(ViewIndex):
    """Nodes in the order of columns, NULLs first."""

    def __init__(self, bag: AnswerBag, scope: Scope, orders: Int64s, interner: Interner) -> None:
        """`orders` has a line for every column, as `compare_ordered` wants it."""
        super().__init__(bag, scope)
        self._prefixes = [orders[:count].copy() for count in range(len(orders) + 1)]
        self._nodes = scope.array("nodes", (len(bag.nodes), NODE_FIELDS))
        self._registers = scope.array("registers", 1)
        self._tree = Bundle(Tree, bag.nodes, self._nodes)
        self._record = Bundle(kernel.OrderedNodes, self._tree, self._registers, interner.bundle)

    def refresh(self, touched: Int64s, count: int) -> None:
        if len(self._nodes) < len(self._bag.nodes):
            self._nodes = self._scope.resize("nodes", len(self._bag.nodes))
        self._tree.replace(stored=self._bag.nodes, nodes=self._nodes)
        kernel.refresh_tree(touched, count, self._bag.count_lane, self._prefixes[-1], self._record.record)

    def __len__(self) -> int:
        return int(self._nodes[self._registers[kernel.ROOT], TOTAL])

    def rank(self, line: Int64s, columns: int, *, with_equal: bool) -> int:
        """How many rows come before one in the order of so many first columns, with those that are equal to it or without."""
        return int(kernel.rank_of_bound(line, with_equal, self._prefixes[columns], self._record.record))

    def first(self, ranks: Ranks, count: int, columns: int) -> Ranks:
        """Those of the first rows, and of all that are equal to the last of them by so many columns."""
        low, high = ranks
        if high - low <= count or not count:
            return low, min(high, low + count)
        return low, min(high, self.beside(low + count - 1, columns, with_equal=True))

    def last(self, ranks: Ranks, count: int, columns: int) -> Ranks:
        """The same from the end."""
        low, high = ranks
        if high - low <= count or not count:
            return max(low, high - count), high
        return max(low, self.beside(high - count, columns, with_equal=False)), high

    def beside(self, rank: int, columns: int, *, with_equal: bool) -> int:
        """How many rows come before the one of a rank in the order of so many first columns, with its equals or without."""
        return int(kernel.rank_of_equals(rank, with_equal, self._prefixes[columns], self._record.record))

    def values(self, ranks: Ranks, columns: int) -> tuple[Int64s, Int64s]:
        """The rows of some ranks by their values in so many first columns: a node of each, and how many rows have it."""
        found, counts = np.empty((2, self._room(ranks)), np.int64)
        count = kernel.values_between(*ranks, self._prefixes[columns], self._record.record, found, counts)
        return found[:count], counts[:count]

    def between(self, ranks: Iterable[Ranks]) -> Int64s:
        """The nodes of some ranks, each once."""
        parts = [self._nodes_of(part) for part in apart(ranks)]
        return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, np.int64), *parts])

    def _nodes_of(self, ranks: Ranks) -> Int64s:
        found = np.empty(self._room(ranks), np.int64)
        return found[: kernel.nodes_between(*ranks, self._record.record, found)]

    def _room(self, ranks: Ranks) -> int:
        """For the nodes of so many rows, of which some may be there several times."""
        return max(0, min(ranks[1] - ranks[0], len(self._nodes)))


def apart(ranks: Iterable[Ranks]) -> list[Ranks]:
    """The same ranks, no two of which overlap."""
    found: list[Ranks] = []
    for low, high in sorted(part for part in ranks if part[0] < part[1]):
        if found and low < found[-1][1]:
            found[-1] = found[-1][0], max(high, found[-1][1])
        else:
            found.append((low, high))
    return found
