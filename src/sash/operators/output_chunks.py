"""Output whose size is not known before: written piece by piece, the first as large as is expected, each one after it larger than
the one before, up to a limit.
"""

from __future__ import annotations

from dataclasses import dataclass

from sash.bounds import spend
from sash.deltas import Delta, Int64s

SMALLEST, LARGEST = 256, 1 << 18
ROOM = 1 << 20  # changes that are made room for at once, if no step had as many yet
MOST = 1 << 19  # changes that are given at once where the instants allow to give them in parts


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
        self._full = 0  # changes in pieces that nobody writes to any more
        self.given = 0  # changes that were taken before the end

    def next(self, needed: int = 1) -> Piece:
        """A piece with room for so many changes at least."""
        if self._pieces and self._pieces[-1].count + needed <= len(self._pieces[-1].made):
            return self._pieces[-1]
        self._full += self._pieces[-1].count if self._pieces else 0
        room = max(self._room, needed)
        self._room = min(2 * self._room, LARGEST)
        spend(8 * room * (self._width + 3))
        self._pieces.append(Piece(Delta.room(room, self._width, expires=self._expires)))
        return self._pieces[-1]

    def delta(self) -> Delta:
        if len(self._pieces) == 1:
            return self._pieces[0].delta()
        return Delta.concatenate([piece.delta() for piece in self._pieces], self._width)

    @property
    def are_many(self) -> bool:
        """Whether so many were written that they should not wait for the others."""
        return bool(self._pieces) and self._full + self._pieces[-1].count >= MOST

    def take_whole_instants(self) -> tuple[Delta, int] | None:
        """All changes before the instant of the last one, and that instant, of which more may come. None if all are of one."""
        written = [piece for piece in self._pieces if piece.count]  # a kernel may have had nothing for the last one
        first, last = written[0], written[-1]
        until = int(last.made.ts[last.count - 1])
        if int(first.made.ts[0]) == until:
            return None
        whole, rest = self.delta().split(until)
        self._pieces = [Piece(rest.copy(), len(rest.ts))] if len(rest.ts) else []
        self._full, self.given = 0, self.given + len(whole.ts)
        return whole, until


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
        return min(likely + likely // 2, max(ROOM, 2 * self._changes))

    def in_parts(self, rows: int) -> int:
        """The same where changes are given in parts."""
        return min(self.of(rows), MOST)

    def observe(self, rows: int, changes: int) -> None:
        if rows:
            self._rows, self._changes = rows, changes
