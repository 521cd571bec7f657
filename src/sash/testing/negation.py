"""MINUS, straight from its definition: for every key value, the youngest n - m rows of the left side.

A row is as old as the instant it entered; equal rows leave oldest first; of rows that entered at one instant the one
that comes later counts as younger: in its stream, or, where rows are derived, in the order of full rows.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable

import pyarrow as pa

from sash.schema import BEGINNING
from sash.testing.recompute import Relation
from sash.testing.values import Row, order


class Negation:
    """What is left of one relation after another."""

    def __init__(
        self, left: Relation, right: Relation, left_keys: tuple[int, ...], right_keys: tuple[int, ...], *, by_position: bool
    ) -> None:
        self._left = left
        self._right = right
        self._keys, self._by_position = (left_keys, right_keys), by_position
        self._schema = left.table(BEGINNING).schema

    def instants(self) -> set[int]:
        return self._left.instants() | self._right.instants()

    def signature(self, now: int) -> Hashable:
        return tuple(self._rows(now))

    def table(self, now: int) -> pa.Table:
        columns = list(zip(*self._rows(now), strict=True)) or [()] * len(self._schema)
        return pa.table([pa.array(c, f.type) for c, f in zip(columns, self._schema, strict=True)], schema=self._schema)

    def _rows(self, now: int) -> list[Row]:
        left_keys, right_keys = self._keys
        taken = Counter(_key(row, right_keys) for row in _rows(self._right, now))
        groups: dict[Row, list[Row]] = defaultdict(list)
        for _, _, row in sorted(self._aged(now), key=lambda each: (*each[:2], order(each[2]))):
            groups[_key(row, left_keys)].append(row)
        return [row for key, rows in groups.items() for row in rows[taken[key] :]]

    def _aged(self, now: int) -> list[tuple[int, int, Row]]:
        """The left rows with the instants at which they entered, and their places among those of one instant."""
        entered: dict[Row, list[tuple[int, int]]] = defaultdict(list)
        for instant in sorted(each for each in self._left.instants() if each <= now):
            places = self._places(instant)
            for row in {*places, *entered}:
                more = len(places[row]) - len(entered[row])
                new = [(instant, place) for place in places[row][len(entered[row]) :]]
                entered[row] = entered[row][-more:] if more < 0 else entered[row] + new
        return [(instant, place, row) for row, found in entered.items() for instant, place in found]

    def _places(self, now: int) -> dict[Row, list[int]]:
        """Where every row stands: a window of a stream gives its rows in their order."""
        places: dict[Row, list[int]] = defaultdict(list)
        for place, row in enumerate(_rows(self._left, now)):
            places[row].append(place if self._by_position else 0)
        return places


def _rows(relation: Relation, now: int) -> list[Row]:
    table = relation.table(now)
    return [tuple(row) for row in zip(*(column.to_pylist() for column in table.columns), strict=True)]


def _key(row: Row, places: tuple[int, ...]) -> Row:
    return tuple(row[place] for place in places)
