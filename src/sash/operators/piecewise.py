"""Operators that give their output in parts where it is much, so that a step needs memory for a part of it.

    run ─▶ a part; `through` = 7   go_on ─▶ a part; `through` = 9   go_on ─▶ the rest; `through` = None
           all before 7                     all from 7 to 9                  all before the `now` of the run

A part ends between two instants, so whoever reads it works on it as on any rows. What has been written of an instant that is not
over waits for the next part; so an instant is never parted, however much happens at it.
"""

from __future__ import annotations

from collections.abc import Iterator

from sash.bounds import check
from sash.deltas import Delta
from sash.operators.operator import Operator
from sash.operators.output_chunks import FanoutEstimate, OutputChunks


class Piecewise(Operator):
    """Its rows may make far more changes than there are rows."""

    in_parts = True  # where a row stands for messages before it, as piggybacking has it, nothing can be cut between them
    _pieces: OutputChunks
    _work: Iterator[None]
    _came = 0

    def give(self, pieces: OutputChunks, work: Iterator[None], came: int, fanout: FanoutEstimate) -> Delta:
        """The first part of what `work` writes to `pieces` for so many rows; it stops now and then."""
        self._pieces, self._work, self._came, self._fanout = pieces, work, came, fanout
        return self.go_on()

    def go_on(self) -> Delta:
        pieces = self._pieces
        for _ in self._work:
            check()
            if self.in_parts and pieces.are_many and (part := pieces.take_whole_instants()) is not None:
                delta, self.through = part
                return delta
        self.through = None
        rest = pieces.delta()
        self._fanout.observe(self._came, pieces.given + len(rest.ts))
        del self._pieces, self._work  # what they refer to may go
        return rest
