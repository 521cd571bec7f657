"""Windows: a stream, which only grows, becomes a relation whose rows leave again.

                     rows enter            rows leave
    RANGE w          at ts                 at ts + w
    RANGE w SLIDE s  at E, the end of      at E + w
                     [i·s, (i+1)·s)
    ROWS n           at ts                 when the n-th row after them enters
    ROWS n SLIDE m   with every m-th row   when n more rows are visible
    PARTITION BY k   at ts                 when the n-th row after them with the same k enters

State:   none for RANGE; the rows that wait for E; the last n (and m) rows
Output:  RANGE: carries its expiry. ROWS: signed
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sash.deltas import Delta, Int64s, Layout, forever
from sash.operators.operator import Operator, OperatorContext, Timeless
from sash.operators.windows import kernels as kernel
from sash.operators.windows.partitions import Partitions
from sash.schema import FOREVER
from sash.stores.lanes import string_lanes
from sash.stores.queue import DeltaQueue

if TYPE_CHECKING:
    from sash.operators.windows.spec import CountWindowSpec, JumpingWindowSpec, PartitionWindowSpec, TimeWindowSpec

FIRST_ROOM = 64
SKIP = "skip"  # rows that a count window leaves out at first, where it starts in the middle of a slide


class TimeWindow(Timeless):
    """Give every row its expiry."""

    def __init__(self, spec: TimeWindowSpec, context: OperatorContext) -> None:
        super().__init__(spec.layout)
        self.size = spec.size

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        (delta,) = inputs
        return delta.with_expiry(forever(len(delta.ts)) if self.size == FOREVER else delta.ts + self.size)


class JumpingWindow(Operator):
    """Hold every row until its basic window ends."""

    def __init__(self, spec: JumpingWindowSpec, context: OperatorContext) -> None:
        super().__init__(spec.layout)
        self._size, self._slide = spec.size, spec.slide
        self._waiting = DeltaQueue(spec.layout, context.scope, context.interner)

    @property
    def kept(self) -> int:
        return len(self._waiting)

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        (delta,) = inputs
        ends = (delta.ts // self._slide + 1) * self._slide
        self._waiting.append(Delta(delta.rows, ends, ends + self._size, delta.weight))
        return self._waiting.take(now)

    def due(self) -> int:
        return self._waiting.first


class CountWindow(Timeless):
    """Keep the last rows in a ring."""

    def __init__(self, spec: CountWindowSpec, context: OperatorContext) -> None:
        super().__init__(spec.layout)
        self._size, self._slide = spec.size, spec.slide
        self._scope = context.scope
        self._registers = self._scope.array("registers", 1)
        self._skip = self._scope.array(SKIP, 1)
        self._rows = self._scope.array("rows", (min(FIRST_ROOM, self._room), self.layout.width))
        lanes = string_lanes(self.layout)
        context.interner.hold(lambda: (self._rows, lanes))

    @property
    def _room(self) -> int:
        return self._size + self._slide

    @property
    def kept(self) -> int:
        return min(int(self._registers[kernel.TAKEN]), self._room)

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        (delta,) = inputs
        if self._skip[0]:
            left = min(len(delta), int(self._skip[0]))
            self._skip[0] -= left
            delta = delta.slice(left, len(delta))
        if not len(delta):
            return self.nothing
        self._make_room(int(self._registers[kernel.TAKEN]) + len(delta))
        out = Delta.room(2 * (len(delta) + self._slide), self.layout.width)
        count = kernel.slide_rows(
            delta.rows, delta.ts, self._size, self._slide, self._registers, self._rows, out.rows, out.ts, out.weight
        )
        return out.slice(0, count)

    def _make_room(self, taken: int) -> None:
        """The ring grows to its full size only as rows come; before, it has not turned yet, so rows stay in place."""
        if len(self._rows) < min(taken, self._room):
            self._rows = self._scope.resize("rows", min(max(2 * len(self._rows), taken), self._room))


class PartitionWindow(Timeless):
    """Keep the last rows of every partition in a chain."""

    def __init__(self, spec: PartitionWindowSpec, context: OperatorContext) -> None:
        super().__init__(spec.layout)
        self._size = spec.size
        self._lanes, self._masks = key_parts(spec.layout, spec.columns)
        self._state = Partitions(spec.layout, context.scope, context.interner)

    @property
    def kept(self) -> int:
        return len(self._state)

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        (delta,) = inputs
        if not len(delta):
            return self.nothing
        state = self._state
        state.reserve(len(delta))
        out = Delta.room(2 * len(delta), self.layout.width)
        count = kernel.slide_partitions(
            delta.rows, delta.ts, self._size, self._lanes, self._masks, state.registers, state.table, state.keys, state.counts,
            state.oldest, state.newest, state.following, state.rows, np.zeros((1, self.layout.width), np.int64), out.rows, out.ts,
            out.weight,
        )
        return out.slice(0, count)


def key_parts(layout: Layout, columns: tuple[int, ...]) -> tuple[Int64s, Int64s]:
    """The lanes that a key of these columns is made of, masks included, and which bits of every lane belong to it."""
    bits = np.zeros(layout.width, np.int64)
    for column in columns:
        first = layout.lanes[column]
        bits[first : first + layout.schema.types[column].lanes] = -1
        lane, bit = layout.mask(column)
        bits[lane] |= 1 << bit
    return np.flatnonzero(bits).astype(np.int64), bits
