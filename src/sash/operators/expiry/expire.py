"""Expiration: rows that carry their expiry become signed changes.

Delta rule:  + at ts, - at expiry; at one instant what leaves comes first
State:       the rows that are alive: a ring where they leave in the order they came, else a calendar
Output:      signed
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sash.deltas import Delta, Int64s
from sash.operators.expiry.calendar import Calendar
from sash.operators.expiry.kernels import expire as kernel
from sash.operators.expiry.kernels.calendar import expire_calendar, longest_life
from sash.operators.operator import Operator, OperatorContext
from sash.operators.output_chunks import OutputChunks
from sash.operators.spec import Spec
from sash.plan.patterns import Pattern
from sash.schema import FOREVER
from sash.stores.lanes import string_lanes

if TYPE_CHECKING:
    from sash.operators.expiry.spec import ExpireSpec

FIRST_ROOM = 64
FEW = 1024  # changes for which room is made at once


class ExpireInOrder(Operator):
    """For rows that leave in the order in which they came."""

    def __init__(self, spec: Spec, context: OperatorContext) -> None:
        super().__init__(spec.layout)
        self._scope = scope = context.scope
        self._registers = scope.array("registers", 4)
        self._rows = scope.array("rows", (FIRST_ROOM, self.layout.width))
        self._expiry, self._weight = scope.array("expiry", FIRST_ROOM), scope.array("weight", FIRST_ROOM)
        lanes = string_lanes(self.layout)
        context.interner.hold(lambda: (self._rows[self._places()], lanes))

    @property
    def kept(self) -> int:
        count: int = self._registers.item(kernel.COUNT)
        return count

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        (delta,) = inputs
        came, kept = len(delta.ts), self.kept
        if kept + came > len(self._expiry):
            self._grow(came)
        cursor, most = np.zeros(1, np.int64), kept + 2 * came
        if most < FEW:
            few = Delta.room(most + 1, self.layout.width)
            return few.slice(0, self._expire(delta, now, cursor, few.rows, few.ts, few.weight))
        pieces = OutputChunks(self.layout.width, 2 * came)
        while cursor[0] <= came:
            out = pieces.next()
            rows, ts, _, weight = out.room
            out.add(self._expire(delta, now, cursor, rows, ts, weight))
        return pieces.delta()

    def _expire(self, delta: Delta, now: int, cursor: Int64s, rows: Int64s, ts: Int64s, weight: Int64s) -> int:
        count: int = kernel.expire_fifo(
            delta.rows, delta.ts, delta.expiry, delta.weight, now, cursor, self._registers, self._rows, self._expiry,
            self._weight, rows, ts, weight,
        )
        return count

    def due(self) -> int:
        if not self.kept:
            return FOREVER
        first: int = self._expiry.item(self._registers.item(kernel.HEAD) & (len(self._expiry) - 1))
        return first

    def _grow(self, extra: int) -> None:
        count = self.kept
        # The ring is unrolled to the start of a larger one.
        order = self._places()
        rows, expiry, weight = self._rows[order], self._expiry[order], self._weight[order]
        room = 1 << (count + extra - 1).bit_length()
        self._rows, self._expiry = self._scope.resize("rows", room), self._scope.resize("expiry", room)
        self._weight = self._scope.resize("weight", room)
        self._rows[:count], self._expiry[:count], self._weight[:count] = rows, expiry, weight
        self._registers[kernel.HEAD] = 0

    def _places(self) -> Int64s:
        """Of the rows in the ring, from the first to leave on."""
        return (int(self._registers[kernel.HEAD]) + np.arange(self.kept)) & (len(self._expiry) - 1)


class ExpireByCalendar(Operator):
    """For rows that leave in any order."""

    def __init__(self, spec: Spec, context: OperatorContext) -> None:
        super().__init__(spec.layout)
        self._calendar = Calendar(spec.layout, context.scope, context.interner)

    @property
    def kept(self) -> int:
        return len(self._calendar)

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        (delta,) = inputs
        self._calendar.reserve(len(delta), longest_life(delta.ts, delta.expiry))
        cursor, pieces = np.zeros(1, np.int64), OutputChunks(self.layout.width, 2 * len(delta))
        while cursor[0] <= len(delta):
            out = pieces.next()
            rows, ts, _, weight = out.room
            out.add(
                expire_calendar(
                    delta.rows, delta.ts, delta.expiry, delta.weight, now, cursor, *self._calendar.arrays, rows, ts, weight
                )
            )
        return pieces.delta()

    def due(self) -> int:
        return self._calendar.first


def expire(spec: ExpireSpec, context: OperatorContext) -> Operator:
    kind = ExpireByCalendar if spec.input.pattern is Pattern.WEAK else ExpireInOrder
    return kind(spec, context)
