"""Output whose size is not known before: written piece by piece, the first as large as is expected, each one after it larger than
the one before, up to a limit.
"""

from __future__ import annotations

from dataclasses import dataclass

from sash.deltas import Delta, Int64s

SMALLEST, LARGEST = 256, 1 << 18
MOST = 1 << 20  # changes that are made room for at once, if no step had as many yet


@dataclass(eq=False, slots=True)
class Piece:
    """Room for changes, and how many kernels have written."""

    made: Delta
    count: int = 0

    @property
    def room(self) -> tuple[Int64s, Int64s, Int64s, Int64s]:
        """What is left to write to."""
        if not self.count:
            return self.made.rows, self.made.ts, self.made.expiry, self.made.weight
        left = self.made.slice(self.count, len(self.made))
        return left.rows, left.ts, left.expiry, left.weight

    @property
    def is_full(self) -> bool:
        return self.count == len(self.made.ts)

    def add(self, count: int) -> None:
        self.count += count

    def delta(self) -> Delta:
        return self.made.slice(0, self.count)


class OutputChunks:
    """A growing list of pieces, of signed changes or of such that carry their expiry."""

    def __init__(self, width: int, guess: int, *, expires: bool = False) -> None:
        self._width, self._expires = width, expires
        self._room = max(guess, SMALLEST)
        self._pieces: list[Piece] = []

    def next(self, needed: int = 1) -> Piece:
        """A piece with room for so many changes at least."""
        if self._pieces and self._pieces[-1].count + needed <= len(self._pieces[-1].made):
            return self._pieces[-1]
        room = max(self._room, needed)
        self._room = min(2 * self._room, LARGEST)
        self._pieces.append(Piece(Delta.room(room, self._width, expires=self._expires)))
        return self._pieces[-1]

    def delta(self) -> Delta:
        if len(self._pieces) == 1:
            return self._pieces[0].delta()
        return Delta.concatenate([piece.delta() for piece in self._pieces], self._width)


class FanoutEstimate:
    """How many changes an operator gives for its rows, as the last of its steps that had some tells."""

    def __init__(self) -> None:
        self._rows = self._changes = 0

    def of(self, rows: int) -> int:
        """What so many rows may give, so that it mostly fits into one piece. After a few rows with many changes this may be far
        too much, so there is a limit.
        """
        if not self._rows:
            return 0
        likely = rows * self._changes // self._rows
        return min(likely + likely // 2, max(MOST, 2 * self._changes))

    def observe(self, rows: int, changes: Delta) -> None:
        if rows:
            self._rows, self._changes = rows, len(changes.ts)
