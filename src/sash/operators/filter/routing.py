"""Rows to the filters that want them, of many that read the same rows.

    rows ─▶ k = 7 and v > 3        Routing: a thousand filters, each of which asks for another value of a column: instead of every
         ─▶ k = 8 and v > 3        one that looks at every row, the value of a row is looked up once, and only those are run that
         ─▶ k = 8 and v > 5        ask for it, on the rows that have it

    row  ─▶ v > 1 │ v < 2 │ …      Sieve: of a few rows, most filters of many let none through: one pass over the conditions of
                                   all, and only those are run that let something through

A filter tests its whole condition on what it is handed, so what it gives is what it would give of all rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Generic, TypeVar

import numpy as np

from sash.deltas import Delta
from sash.operators.filter.kernels import SIGNS, fill_values, route_rows, sift
from sash.operators.filter.operator import Equality, Filter
from sash.operators.filter.spec import LOOKED_UP
from sash.operators.operator import Operator

FEW = 64  # rows that are tested for all filters together: of more, most filters let one through
MANY = 4  # filters for which that pays

Reader = TypeVar("Reader", bound=Hashable)


class Routing(Generic[Reader]):
    """Filters that ask for values of one column."""

    def __init__(self, column: tuple[int, int, int], asked: Sequence[tuple[Reader, int]]) -> None:
        """`column` is the lane of its values, that of its mask and the bit there; readers come with the values they ask for."""
        self._column, self._readers = column, list[list[Reader]]()
        self._slots: dict[int, int] = {}
        for reader, value in asked:
            self._put(reader, value)
        self._make_room()

    def _put(self, reader: Reader, value: int) -> None:
        slot = self._slots.setdefault(value, len(self._slots))
        if slot == len(self._readers):
            self._readers.append([])
        self._readers[slot].append(reader)

    def _make_room(self) -> None:
        """For as many values as there are, and as many again."""
        count = 2 * len(self._slots)
        self._values = np.zeros((2 << count.bit_length(), 2), np.int64)  # value and slot + 1; at most half is full
        fill_values(np.array(list(self._slots), np.int64), 0, self._values)
        self._counts, self._touched = np.zeros(count, np.int64), np.empty(count, np.int64)
        self._ends = np.zeros(count + 1, np.int64)

    def take_in(self, reader: Reader, operator: Operator | None) -> bool:
        """One more, if it asks for a value of this column."""
        equalities = operator.equalities if isinstance(operator, Filter) else ()
        asked = next((one for one in equalities if one.column == self._column), None)
        if asked is None or not isinstance(operator, Filter):
            return False
        known, value = len(self._slots), operator.value_of(asked)
        self._put(reader, value)
        if len(self._slots) > len(self._counts):
            self._make_room()
        elif len(self._slots) > known:
            fill_values(np.array([value], np.int64), known, self._values)
        return True

    def routed(self, delta: Delta) -> Iterator[tuple[Reader, Delta]]:
        """To whom rows go, and which."""
        slots, places = np.empty((2, len(delta.ts)), np.int64)
        count = route_rows(delta.rows, *self._column, self._values, slots, self._counts, self._touched, self._ends, places)
        ends = self._ends[: count + 1].tolist()
        for place, slot in enumerate(self._touched[:count].tolist()):
            start, stop = ends[place], ends[place + 1]
            some = delta if stop - start == len(delta.ts) else delta.take(places[start:stop])
            for reader in self._readers[slot]:
                yield reader, some


def routings(readers: Iterable[tuple[Reader, Operator | None]]) -> tuple[list[Routing[Reader]], set[Reader]]:
    """Look-ups for those who read the same rows, and whom they serve: filters. One that asks for values of several columns goes
    by the most usual one.
    """
    filters = [(reader, operator) for reader, operator in readers if isinstance(operator, Filter)]
    if len(filters) < LOOKED_UP:
        return [], set()
    usual = Counter(one.column for _, filter_ in filters for one in filter_.equalities)
    asked: dict[tuple[int, int, int], list[tuple[Reader, Equality, Filter]]] = {}
    for reader, filter_ in filters:
        if filter_.equalities:
            best = max(filter_.equalities, key=lambda one: (usual[one.column], one.column))
            asked.setdefault(best.column, []).append((reader, best, filter_))
    many = {column: readers for column, readers in asked.items() if len(readers) >= LOOKED_UP}
    found = [
        Routing(column, [(reader, filter_.value_of(one)) for reader, one, filter_ in readers]) for column, readers in many.items()
    ]
    return found, {reader for readers in many.values() for reader, _, _ in readers}


class Sieve(Generic[Reader]):
    """Some filters, and their conditions in one table."""

    def __init__(self, filters: Sequence[tuple[Reader, Filter]]) -> None:
        self.readers = [reader for reader, _ in filters]
        tests = [filter_.tests() for _, filter_ in filters]
        self._conditions = np.concatenate(tests)
        self._starts = np.cumsum([0, *map(len, tests)], dtype=np.int64)
        self._skipped, self._found = np.zeros((len(filters), SIGNS), np.int64), np.empty(len(filters), np.int64)

    def take_in(self, reader: Reader, operator: Operator | None) -> bool:
        """One more, if its conditions can be tested here."""
        if not isinstance(operator, Filter) or not operator.is_plain:
            return False
        tests = operator.tests()
        self.readers.append(reader)
        self._conditions = np.concatenate([self._conditions, tests])
        self._starts = np.append(self._starts, len(self._conditions))
        self._skipped = np.concatenate([self._skipped, np.zeros((1, SIGNS), np.int64)])
        self._found = np.empty(len(self.readers), np.int64)
        return True

    def passing(self, delta: Delta, signs: tuple[int, int, int]) -> list[Reader]:
        """Those of the filters that let a row through; for others it is noted how many they have seen."""
        count: int = sift(delta.rows, self._conditions, self._starts, *signs, self._skipped, self._found)
        return [self.readers[place] for place in self._found[:count].tolist()]

    def take_skipped(self) -> Iterator[tuple[Reader, list[int]]]:
        """How many rows filters have seen that were not run: those that enter, leave, and only tell the time."""
        yield from zip(self.readers, self._skipped.tolist(), strict=True)
        self._skipped.fill(0)


def sieve_of(readers: Iterable[tuple[Reader, Operator | None]]) -> Sieve[Reader] | None:
    """The filters among those who read the same rows, if they are many."""
    filters = [(reader, operator) for reader, operator in readers if isinstance(operator, Filter) and operator.is_plain]
    return Sieve(filters) if len(filters) >= MANY else None
