"""Output whose size is not known before: written piece by piece, the first as large as is expected, each one after it larger than
the one before, up to a limit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sash.deltas import Delta, Int64s
from sash.schema import FOREVER

SMALLEST, LARGEST = 256, 1 << 18


@dataclass
class Piece:
    """Room for changes, and how many kernels have written."""

    rows: Int64s
    ts: Int64s
    expiry: Int64s
    weight: Int64s
    count: int = 0

    @property
    def room(self) -> tuple[Int64s, Int64s, Int64s, Int64s]:
        """What is left to write to."""
        n = self.count
        return self.rows[n:], self.ts[n:], self.expiry[n:], self.weight[n:]

    def add(self, count: int) -> None:
        self.count += count

    def delta(self) -> Delta:
        n = self.count
        return Delta(self.rows[:n], self.ts[:n], self.expiry[:n], self.weight[:n])


class Pieces:
    """A growing list of pieces; expiries are FOREVER unless a kernel writes them."""

    def __init__(self, width: int, guess: int) -> None:
        self._width = width
        self._room = max(guess, SMALLEST)
        self._pieces: list[Piece] = []

    def next(self, needed: int = 1) -> Piece:
        """A piece with room for so many changes at least."""
        if self._pieces and self._pieces[-1].count + needed <= len(self._pieces[-1].ts):
            return self._pieces[-1]
        room = max(self._room, needed)
        self._room = min(2 * self._room, LARGEST)
        piece = Piece(
            np.empty((room, self._width), np.int64), np.empty(room, np.int64), np.full(room, FOREVER), np.empty(room, np.int64)
        )
        self._pieces.append(piece)
        return piece

    def delta(self) -> Delta:
        return Delta.concatenate([piece.delta() for piece in self._pieces], self._width)


def expected_after(delta: Delta) -> int:
    """How many changes a step may have after one that had these, so that they mostly fit into one piece."""
    return len(delta) + len(delta) // 8
