"""Rows that will leave, by the time at which they do. (`kernels/calendar.py` draws it.)"""

from __future__ import annotations

import numpy as np

from sash.deltas import Int64s, Layout
from sash.operators.expiry.kernels import calendar as kernel
from sash.schema import BEGINNING, FOREVER
from sash.stores.arena import Scope
from sash.stores.interner import Interner
from sash.stores.lanes import string_lanes

FIRST_CHUNKS = 128
FEWEST, MOST = 64, 1 << 18  # buckets
FULL = 8  # rows that a bucket should have


class Calendar:
    """Rows with expiry and weight."""

    def __init__(self, layout: Layout, scope: Scope, interner: Interner) -> None:
        self._scope = scope
        is_new = not scope.has("registers")
        self.registers = scope.array("registers", kernel.REGISTERS)
        if is_new:  # no row is before that: one that came before the bucket that is now would be found again in the ring
            self.registers[[kernel.CURRENT, kernel.REACHED]] = BEGINNING
        self.lines = scope.array("lines", (FIRST_CHUNKS * kernel.CHUNK, layout.width + kernel.EXTRA))
        self.links = scope.array("links", FIRST_CHUNKS)
        self.buckets = scope.array("buckets", (FEWEST, 2))
        self.heap = scope.array("heap", (FIRST_CHUNKS * kernel.CHUNK, 2))
        lanes = string_lanes(layout)
        interner.hold(lambda: (self._live(), lanes))

    def __len__(self) -> int:
        return int(self.registers[kernel.COUNT])

    @property
    def first(self) -> int:
        """No row leaves before this instant."""
        if self.registers[kernel.OPEN]:
            return int(self.heap[0, 0])
        return int(self.registers[kernel.CURRENT] + 1) << int(self.registers[kernel.SHIFT]) if len(self) else FOREVER

    @property
    def arrays(self) -> tuple[Int64s, Int64s, Int64s, Int64s, Int64s]:
        return self.registers, self.lines, self.links, self.buckets, self.heap

    def reserve(self, extra: int, longest: int) -> None:
        """Make room for so many more rows, which live no longer than this."""
        has_room = int(self.registers[kernel.CHUNKS]) + _chunks(extra, len(self.buckets)) <= len(self.links)
        if not has_room or longest >= (len(self.buckets) - 1) << int(self.registers[kernel.SHIFT]):
            self._lay_out(2 * (len(self) + extra), max(longest, self._longest))

    @property
    def _longest(self) -> int:
        """How long rows may live; those that are here do not live longer."""
        return (len(self.buckets) - 2) << int(self.registers[kernel.SHIFT]) if len(self) else 0

    def _live(self) -> Int64s:
        found = np.empty(len(self), np.int64)
        kernel.live_lines(self.registers, self.links, self.buckets, self.heap, found)
        return np.asarray(self.lines[found])

    def _lay_out(self, rows: int, longest: int) -> None:
        """Enter all rows anew into more chunks, or into buckets for a longer time."""
        kept = self._live()
        buckets = min(max(FEWEST, 1 << (2 * len(self) // FULL).bit_length()), MOST)
        chunks = _chunks(rows, buckets)
        self.buckets = self._scope.resize("buckets", buckets)
        if chunks > len(self.links):
            self.links = self._scope.resize("links", chunks)
            self.lines = self._scope.resize("lines", chunks * kernel.CHUNK)
            self.heap = self._scope.resize("heap", chunks * kernel.CHUNK)
        shift, reached = (longest // (buckets - 1)).bit_length(), int(self.registers[kernel.REACHED])
        self.buckets[:], self.registers[:] = 0, 0
        self.registers[[kernel.CURRENT, kernel.SHIFT, kernel.REACHED]] = reached >> shift, shift, reached
        kernel.refill(kept, *self.arrays)


def _chunks(rows: int, buckets: int) -> int:
    """Enough for rows that are spread over the buckets in any way."""
    return rows // kernel.CHUNK + buckets + 1
