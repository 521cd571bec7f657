"""One side of a join of rows that carry their expiry: a log of rows, chained by hash from the newest back.

    line   lanes of the row | expiry | weight | the row before it in its bucket | hash     one place in memory for all of it
    table  bucket -> newest row

Rows are numbered as they come and lie in a ring. Where they expire in the order they came, all rows before the oldest one alive
are gone, chains end there, and a row is never moved. Elsewhere a probe that meets an expired row cuts it out of its chain; when
the ring is full and much of it has expired, the rows alive move together, and when they are many, it grows.
"""

from __future__ import annotations

import numpy as np

from sash.deltas import Delta, Int64s, Layout
from sash.kernels.bundles import Bundle
from sash.kernels.row_log import EXPIRY, EXTRA, HASH, OLDEST, TAIL, WEIGHT, Log, forget_expired, pass_expired
from sash.schema import BEGINNING, FOREVER
from sash.stores.arena import Scope
from sash.stores.interner import Interner
from sash.stores.lanes import string_lanes

FIRST_ROOM = 64
BUCKETS = 4  # for every line: in a bucket of its own a row is found without a look at lines of other keys


class RowLog:
    """Rows with expiry and weight, found by key."""

    EXTRA = EXTRA  # lanes of a line after those of its row
    REGISTERS = 2

    def __init__(self, layout: Layout, scope: Scope, interner: Interner) -> None:
        self._scope = scope
        self._width = layout.width
        self.registers = scope.array("registers", self.REGISTERS)
        self.lines = scope.array("lines", (FIRST_ROOM, layout.width + self.EXTRA))
        self.table = scope.array("table", self._table_room(FIRST_ROOM))
        self.bundle = self._bundle()
        lanes = string_lanes(layout)
        interner.hold(lambda: (self._held(), lanes))

    def __len__(self) -> int:
        count: int = self.registers.item(TAIL) - self.registers.item(OLDEST)
        return count

    @property
    def first_expiry(self) -> int:
        """Of the row at the head; FOREVER if there is none."""
        oldest = self.registers.item(OLDEST)
        if oldest == self.registers.item(TAIL):
            return FOREVER
        first: int = self.lines.item(oldest & (len(self.lines) - 1), self._width + EXPIRY)
        return first

    def alive(self, now: int) -> int:
        """How many rows have not expired."""
        return int(np.count_nonzero(self._held()[:, self._width + EXPIRY] > now))

    def reserve(self, extra: int, now: int) -> None:
        """Make room for so many more rows; what expired at or before `now` may go."""
        pass_expired(now, self._width, self.registers, self.lines)  # at once, as what they hold may be large
        if len(self) + extra <= len(self.lines):
            return
        held, alive = self._held(), self.alive(now)
        wanted = (alive + extra) * (1 if alive == len(self) else 2)
        if wanted > len(self.lines):
            room = 1 << (wanted - 1).bit_length()
            self.lines, self.table = self._scope.resize("lines", room), self._scope.resize("table", self._table_room(room))
            self.lines[self._places()] = held
            self.bundle.replace(lines=self.lines, table=self.table)
        self._forget(now)

    def fill(self, rows: Int64s, expiry: Int64s, weight: Int64s, hashes: Int64s) -> None:
        """Put rows into a log that is empty, in the order in which they came."""
        self.reserve(len(rows), BEGINNING)
        self.registers[TAIL] += len(rows)
        lines = np.zeros((len(rows), self.lines.shape[1]), np.int64)
        lines[:, : self._width] = rows
        lines[:, self._width + EXPIRY], lines[:, self._width + WEIGHT], lines[:, self._width + HASH] = expiry, weight, hashes
        self._put(lines)
        self._forget(BEGINNING)

    def rows(self) -> Delta:
        """All rows that are held, in the order in which they came; their expiries, or what is in that lane, are also the ts."""
        held = self._held()
        expiry = held[:, self._width + EXPIRY].copy()
        return Delta(held[:, : self._width].copy(), expiry, expiry, held[:, self._width + WEIGHT].copy())

    def _put(self, lines: Int64s) -> None:
        self.lines[self._places()] = lines

    def _bundle(self) -> Bundle:
        return Bundle(Log, self.registers, self.lines, self.table)

    def _forget(self, now: int) -> None:
        """Rows that are alive come together, in their buckets."""
        forget_expired(now, self._width, self.bundle.record)

    def _table_room(self, room: int) -> int:
        """How many buckets there are for so many lines."""
        return BUCKETS * room

    def _places(self) -> Int64s:
        return np.arange(self.registers[OLDEST], self.registers[TAIL]) & (len(self.lines) - 1)

    def _held(self) -> Int64s:
        return np.asarray(self.lines[self._places()])
