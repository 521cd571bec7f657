"""MINUS, straight from its definition: for every key value, the youngest n - m rows of the left side.

A row is as old as the instant it entered; equal rows leave oldest first; of rows that entered at one instant the one
that comes later in the order of full rows counts as younger.
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
        self, left: Relation, right: Relation, left_keys: tuple[int, ...], right_keys: tuple[int, ...]
    ) -> None:
        self._left = left
        self._right = right
        self._keys = left_keys, right_keys
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
        for _, row in sorted(self._aged(now), key=lambda each: (each[0], order(each[1]))):
            groups[_key(row, left_keys)].append(row)
        return [row for key, rows in groups.items() for row in rows[taken[key] :]]

    def _aged(self, now: int) -> list[tuple[int, Row]]:
        """The left rows with the instants at which they entered."""
        entered: dict[Row, list[int]] = defaultdict(list)
        for instant in sorted(each for each in self._left.instants() if each <= now):
            for row, count in _counts(self._left, instant, entered).items():
                entered[row] = entered[row][len(entered[row]) - count :] if count <= len(entered[row]) else (
                    entered[row] + [instant] * (count - len(entered[row]))
                )  # fmt: skip
        return [(instant, row) for row, instants in entered.items() for instant in instants]


def _counts(relation: Relation, now: int, before: dict[Row, list[int]]) -> dict[Row, int]:
    found = Counter(_rows(relation, now))
    return {row: found[row] for row in {*found, *before}}


def _rows(relation: Relation, now: int) -> list[Row]:
    table = relation.table(now)
    return [tuple(row) for row in zip(*(column.to_pylist() for column in table.columns), strict=True)]


def _key(row: Row, places: tuple[int, ...]) -> Row:
    return tuple(row[place] for place in places)
