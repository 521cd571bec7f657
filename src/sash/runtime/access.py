"""How a question finds rows of an answer: by an index, or by the key that tells rows apart, or by a look at all of them.

    ByKeys     k = 7 AND g IN ('a', 'b')        lines with the values that rows may have, for an index by hash
    BySpans    k = 7 AND v > 3                  bounds of the first columns of an ordered index
               ORDER BY v DESC LIMIT 10         and how many of the first rows between them are wanted
    InOrder    MEDIAN(v), COUNT(DISTINCT v)     values of an ordered index, with how often they are there

What is found is tested for the conditions, so an access may find more than is asked for, and never less.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa

from sash.deltas import Int64s, Layout
from sash.operators.filter.conditions import ConditionTable, Constant, RefilledTable
from sash.scalar.nodes import Call, Column, Literal
from sash.schema import Kind
from sash.stores.interner import Interner
from sash.stores.lanes import encode_column
from sash.stores.view_index import IndexShape, Ranks, TreeIndex

Value = Literal | None  # None: NULL


class Lines:
    """Rows that have values in some columns, and nothing in the others; texts have the codes of the moment."""

    def __init__(self, layout: Layout, columns: Sequence[int], rows: Sequence[Sequence[Value]]) -> None:
        self._layout, self._lines = layout, np.zeros((len(rows), layout.width), np.int64)
        self._texts: list[tuple[int, int, str]] = []  # row, lane, text
        self._fixed: dict[int, pa.Array] = {}  # columns, until they are written
        self._coded: dict[int, pa.Array] = {}  # columns that are written anew every time
        for place, column in enumerate(columns):
            self._put(column, [row[place] for row in rows])

    def _put(self, column: int, values: Sequence[Value]) -> None:
        type_, (mask, bit) = self._layout.schema.types[column], self._layout.mask(column)
        for row, value in enumerate(values):
            if value is None:
                self._lines[row, mask] |= 1 << bit
            elif type_.kind is Kind.STRING:
                self._texts.append((row, self._layout.lanes[column], str(value.value)))
        if type_.kind is not Kind.STRING:
            columns = self._coded if type_.is_interned else self._fixed
            columns[column] = pa.array([None if value is None else value.value for value in values], type_.arrow)

    def __len__(self) -> int:
        return len(self._lines)

    def refilled(self, values: Mapping[int, Constant]) -> Lines:
        """The same with other values in some columns, in all rows."""
        other = Lines.__new__(Lines)
        lanes = {self._layout.lanes[column] for column in values}
        other._layout, other._lines, other._coded = self._layout, self._lines.copy(), self._coded
        other._fixed = {column: array for column, array in self._fixed.items() if column not in values}
        other._texts = [one for one in self._texts if one[1] not in lanes]
        for column, value in values.items():
            lane = self._layout.lanes[column]
            if isinstance(value, str):
                other._texts += [(row, lane, value) for row in range(len(self))]
            else:
                other._lines[:, lane] = value if isinstance(value, int) else np.float64(value).view(np.int64)
        return other

    def lanes(self, interner: Interner) -> Int64s:
        for column, array in (*self._fixed.items(), *self._coded.items()):
            encode_column(self._lines, column, array, self._layout, interner)
        self._fixed = {}
        for row, lane, text in self._texts:
            self._lines[row, lane] = interner.code(text)
        return self._lines


@dataclass(frozen=True, eq=False)
class ByKeys:
    """Rows with the values of one of these lines."""

    shape: IndexShape
    lines: Lines

    def refilled(self, values: Mapping[int, Constant]) -> ByKeys:
        """With other values in some columns."""
        named = {column: constant for column, constant in values.items() if column in self.shape.columns}
        return ByKeys(self.shape, self.lines.refilled(named))


@dataclass(frozen=True, eq=False)
class Bound:
    """Where a span begins or ends: before or after the rows that are equal to a line in so many first columns."""

    line: Lines
    columns: int
    is_after: bool

    def rank(self, index: TreeIndex, interner: Interner) -> int:
        return index.rank(self.line.lanes(interner), self.columns, with_equal=self.is_after)


Span = tuple[Bound, Bound]


@dataclass(frozen=True)
class First:
    """So many first rows, and all that are equal to the last of them in so many columns of the index."""

    count: int
    columns: int
    is_descending: bool


@dataclass(frozen=True, eq=False)
class BySpans:
    """Rows of spans; where only the first are wanted, spans are in the order in which they are read, and no two overlap."""

    shape: IndexShape
    spans: tuple[Span, ...]
    first: First | None = None

    def ranks(self, index: TreeIndex, interner: Interner, more: int) -> list[Ranks]:
        """Which nodes of an index are wanted, if so many of the first ones may have gone."""
        every = [(low.rank(index, interner), high.rank(index, interner)) for low, high in self.spans]
        if self.first is None:
            return every
        left, found = self.first.count + more, list[Ranks]()
        for ranks in every:
            narrow = index.last if self.first.is_descending else index.first
            low, high = narrow(ranks, left, self.first.columns) if ranks[0] < ranks[1] and left > 0 else (0, 0)
            found.append((low, high))
            left -= high - low
        return found


@dataclass(frozen=True, eq=False)
class InOrder:
    """Rows of a span by their values in so many first columns of an index alone: how often each is there (`in_order.py`).

    Given fractions, these are figures of the last of these columns, and only values beside them are told.
    """

    shape: IndexShape
    columns: int
    span: Span
    fractions: frozenset[Fraction] | None = None
    after_nulls: Bound | None = None  # where the values of that column begin


Access = ByKeys | BySpans | InOrder


class Wanted:
    """The rows of an answer of which conditions on columns are true (`operators/filter/conditions.py` says which can be), and how
    they are found: without an access, by the key of the answer if they name it, else by a look at all rows."""

    def __init__(
        self, layout: Layout, conditions: Sequence[Call], access: Access | None = None,
        indexes: frozenset[IndexShape] = frozenset(), others: tuple[ByKeys | BySpans, ...] = (),
    ) -> None:
        """`indexes` are all that the view has; `others` find the same rows, and are for where the access finds many."""
        self.tests: ConditionTable | RefilledTable = ConditionTable(conditions, layout)
        self.access, self.others, self.indexes, self.layout = access, others, indexes, layout
        self.used = access  # when it was last asked for
        self.rows = self.looked_at = 0  # how many there were when it was last asked for, and how many of them were looked at
        self._conditions = conditions
        self._equal: dict[int, Literal] = {}
        for one in conditions:
            if one.function == "equal" and isinstance(one.arguments[0], Column) and isinstance(one.arguments[1], Literal):
                self._equal[one.arguments[0].index] = one.arguments[1]
        self._keys: dict[int, Lines] = {}
        self._first: Wanted | None = None  # of which this one has only other constants
        self._values: Mapping[int, Constant] = {}  # what some columns are equal to instead

    def key(self, columns: int | None) -> Lines | None:
        """A line with the values that so many first columns must have, if the conditions say so."""
        if columns is None or any(place not in self._equal for place in range(columns)):
            return None
        if columns not in self._keys and self._first is not None and (first := self._first.key(columns)) is not None:
            self._keys[columns] = first.refilled({place: one for place, one in self._values.items() if place < columns})
        elif columns not in self._keys:
            self._keys[columns] = Lines(self.layout, range(columns), [[self._equal[place] for place in range(columns)]])
        return self._keys[columns]

    def by(self, access: Access) -> Wanted:
        """The same rows, found in another way."""
        return Wanted(self.layout, self._conditions, access, self.indexes)

    def refilled(self, constants: Mapping[int, tuple[int, Constant]]) -> Wanted | None:
        """The same with other constants in the conditions at some places, each of which alone says what a column is equal to;
        None if what is looked up does not come of them one by one. Constants are as columns of theirs have them."""
        if not isinstance(self.tests, ConditionTable) or isinstance(self.access, BySpans | InOrder):
            return None
        ways = [] if self.access is None else [self.access, *self.others]
        if any(not isinstance(way, ByKeys) or len(way.lines) != 1 for way in ways):
            return None
        values = dict(constants.values())
        other = Wanted.__new__(Wanted)
        other.tests = RefilledTable(self.tests, {place: constant for place, (_, constant) in constants.items()})
        other.indexes, other.layout, other._equal = self.indexes, self.layout, self._equal
        other.rows = other.looked_at = 0
        refilled = [way.refilled(values) for way in ways if isinstance(way, ByKeys)]
        other.access = other.used = refilled[0] if refilled else None
        other.others = tuple(refilled[1:])
        other._first, other._values, other._keys = self, values, {}
        return other


@dataclass(frozen=True, eq=False)
class Read:
    """Some rows of a view."""

    view: str
    wanted: Wanted
