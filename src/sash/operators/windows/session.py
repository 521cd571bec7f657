"""Sessions: per key, the rows of the session that is open.

                     rows enter            rows leave
    SESSION GAP g    at ts                 all of a session at once, at the ts of its last row + g

State:   every open session with its rows, found by key; one alarm a session
Output:  signed
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sash.deltas import Delta, Int64s, Layout
from sash.kernels.bag import LIVE, USED
from sash.operators.operator import Operator, OperatorContext
from sash.operators.windows import kernels as kernel
from sash.operators.windows.operator import key_parts
from sash.schema import FOREVER
from sash.stores.arena import Scope
from sash.stores.hash_table import grown_table, table_length
from sash.stores.interner import Interner
from sash.stores.lanes import string_lanes

if TYPE_CHECKING:
    from sash.operators.windows.spec import SessionWindowSpec

FIRST_ROOM = 64


class SessionWindow(Operator):
    """Hold the rows of a session until its gap has passed."""

    def __init__(self, spec: SessionWindowSpec, context: OperatorContext) -> None:
        super().__init__(spec.layout)
        self._gap = spec.gap
        self._lanes, self._masks = key_parts(spec.layout, spec.columns)
        self._open = OpenSessions(spec.layout, context.scope, context.interner)

    @property
    def kept(self) -> int:
        return len(self._open)

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        (delta,) = inputs
        if not len(delta) and self.due() >= now:
            return self.nothing
        found, width = self._open, self.layout.width
        found.reserve(len(delta))
        out = Delta.room(len(found) + 2 * len(delta), width)
        count = kernel.hold_sessions(
            delta.rows, delta.ts, delta.weight, now, self._gap, self._lanes, self._masks, found.registers, found.table,
            found.sessions, found.free_sessions, found.alarms, found.row_registers, found.rows, found.free_rows,
            np.zeros((1, width), np.int64), out.rows, out.ts, out.weight,
        )
        return out.slice(0, count)

    def due(self) -> int:
        return self._open.first_alarm


class OpenSessions:
    """Sessions, found by key, and their rows, chained from the first to the last."""

    def __init__(self, layout: Layout, scope: Scope, interner: Interner) -> None:
        self._scope, self._width = scope, layout.width
        self.registers, self.row_registers = scope.array("registers", 4), scope.array("row registers", 3)
        self.table = scope.array("table", 2 * FIRST_ROOM)
        self.sessions = scope.array("sessions", (FIRST_ROOM, layout.width + kernel.SESSION_LANES))
        self.free_sessions, self.alarms = scope.array("free sessions", FIRST_ROOM), scope.array("alarms", (FIRST_ROOM, 2))
        self.rows = scope.array("rows", (FIRST_ROOM, layout.width + kernel.ROW_LANES))
        self.free_rows = scope.array("free rows", FIRST_ROOM)
        lanes = string_lanes(layout)
        interner.hold(lambda: (self._held(), lanes))  # the keys of a session are in its rows

    def __len__(self) -> int:
        """How many rows."""
        return int(self.row_registers[LIVE])

    @property
    def first_alarm(self) -> int:
        """No session ends before."""
        return int(self.alarms[0, 0]) if self.registers[kernel.ALARMS] else FOREVER

    def reserve(self, extra: int) -> None:
        """Make room for so many more rows, each of which may begin a session."""
        rows, sessions = len(self) + extra, int(self.registers[LIVE]) + extra
        if rows > len(self.rows):
            room = max(2 * len(self.rows), rows)
            self.rows, self.free_rows = self._scope.resize("rows", room), self._scope.resize("free rows", room)
        if sessions > len(self.sessions):
            room = max(2 * len(self.sessions), sessions)
            self.sessions, self.alarms = self._scope.resize("sessions", room), self._scope.resize("alarms", room)
            self.free_sessions = self._scope.resize("free sessions", room)
        if 2 * sessions > len(self.table):
            self.table = grown_table(self._scope, "table", self.table, table_length(sessions))

    def _held(self) -> Int64s:
        rows = self.rows[: self.row_registers[USED]]
        return np.asarray(rows[rows[:, self._width + kernel.WEIGHT] != 0])
