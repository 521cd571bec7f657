"""Selection.

Delta rule:  d(filter(A)) = filter(dA)
State:       none
Output:      as the input, less the rows for which the predicate is false or NULL
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow.compute as pc

from sash.deltas import Delta, Int64s
from sash.operators.columns import evaluate_delta
from sash.operators.filter import kernels as kernel
from sash.operators.filter.conditions import compared_texts, parted, table
from sash.operators.operator import OperatorContext, Timeless
from sash.operators.spec import Messages
from sash.scalar.nodes import Column
from sash.schema import Kind

if TYPE_CHECKING:
    from sash.operators.filter.spec import FilterSpec


class Equality(NamedTuple):
    """That a column is equal to a constant: the lane of its values, of its mask and the bit there; and which condition it is."""

    column: tuple[int, int, int]
    place: int


class Filter(Timeless):
    """Keep the rows for which a predicate is true. Its front is tested on lanes, the rest where that leaves it open."""

    def __init__(self, spec: FilterSpec, context: OperatorContext) -> None:
        super().__init__(spec.layout)
        self._context = context
        self._messages = spec.messages
        self._front, self._rest = parted(spec.predicate)
        self._made: Int64s | None = None  # with the first rows: texts get their codes then
        self.equalities = self._equalities()
        self._texts = compared_texts(self._front, self.layout)
        if self._texts:
            context.interner.hold(self._codes)

    @property
    def is_plain(self) -> bool:
        """Whether conditions on lanes are all that it has, and rows are all that it gets."""
        return self._rest is None and self._messages is Messages.NONE

    def tests(self) -> Int64s:
        """The conditions on lanes; texts get their codes."""
        if self._made is None:
            self._made = table(self._front, self.layout, self._context.interner)
        return self._made

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        (delta,) = inputs
        if not len(delta.ts):
            return delta
        places = self._passing(delta)
        if self._messages is not Messages.NONE:
            delta, places = self._with_messages(delta, places)
        if not len(places):
            return self.nothing
        if len(places) == len(delta.ts):
            return delta
        out = Delta.room(len(places), self.layout.width, expires=True)
        kernel.gather_rows(
            delta.rows, delta.ts, delta.expiry, delta.weight, places, out.rows, out.ts, out.expiry, out.weight
        )
        return out

    def _equalities(self) -> tuple[Equality, ...]:
        """Without one of which no row is kept, and nothing is to be said of it."""
        if not self.is_plain:
            return ()  # what is not tested on lanes may fail, which is counted, also where a value is NULL
        return tuple(
            Equality((self.layout.lanes[column.index], *self.layout.mask(column.index)), place)
            for place, one in enumerate(self._front)
            if one.function == "equal" and isinstance(column := one.arguments[0], Column) and column.type.kind is not Kind.DOUBLE
        )

    def value_of(self, equality: Equality) -> int:
        """What a row that is kept has in its lane."""
        value: int = self.tests().item(equality.place, kernel.LOW)
        return value

    def _passing(self, delta: Delta) -> Int64s:
        """The places of the rows that are kept."""
        if self._rest is None:
            return self._with_front(delta, kernel.TRUE)
        asked = self._with_front(delta, kernel.OPEN)
        if not len(asked):
            return asked
        some = delta if len(asked) == len(delta) else delta.take(asked)
        is_true = pc.fill_null(evaluate_delta(self._rest, some, self.layout, self._context), False)
        kept, sure = asked[np.asarray(is_true)], self._with_front(delta, kernel.TRUE)
        return kept if len(sure) == len(asked) else np.intersect1d(kept, sure, assume_unique=True)

    def _with_front(self, delta: Delta, least: int) -> Int64s:
        """The places of the rows whose front is true, or at least not false."""
        places = np.empty(len(delta.ts) + 1, np.int64)
        return places[: kernel.passing_rows(delta.rows, self.tests(), least, places)]

    def _codes(self) -> tuple[Int64s, Int64s]:
        """The codes of the texts that are compared with, as rows of one lane."""
        held = np.empty(0, np.int64) if self._made is None else self._made[self._texts, kernel.LOW]
        return np.ascontiguousarray(held).reshape(-1, 1), np.zeros(1, np.int64)

    def _with_messages(self, delta: Delta, places: Int64s) -> tuple[Delta, Int64s]:
        """Messages pass. A row that is left out may stand for some; the last change then tells the time in its place."""
        mask, weight = np.zeros(len(delta), np.bool_), delta.weight
        mask[places] = True
        if self._messages is Messages.SINGLE:
            return delta, np.flatnonzero(mask | (weight == 0))
        mask &= weight != 0
        if not mask[-1]:
            mask[-1], weight = True, weight.copy()
            weight[-1] = 0
        return Delta(delta.rows, delta.ts, delta.expiry, weight), np.flatnonzero(mask)
