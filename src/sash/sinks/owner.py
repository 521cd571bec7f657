"""Whose a place outside is: one run's at a time, and of that run the last driver's.

Who has been replaced is told so, once and for all: two that take a place from each other would write for ever.
"""

from __future__ import annotations

from collections.abc import Callable

from sash.sinks.sink import SinkRefused

NOBODY = ""  # the run of a place that was released


class Owner:
    """One run: a process, or a checkpoint, of which `epoch` counts the drivers; None, while nobody knows which it will be."""

    def __init__(self, run: str | None, epoch: int, kind: str, place: Callable[[], str]) -> None:
        """`place` tells what is owned, which is a table, a topic or a folder."""
        self.run, self.epoch = run, epoch
        self._kind, self._place = kind, place
        self._was_mine = False
        self._refusal: SinkRefused | None = None

    def may_begin(self) -> None:
        """Refused to one who has been replaced: it is not taken back."""
        if self._refusal is not None:
            raise self._refusal

    def has_begun(self) -> None:
        self._was_mine = True

    def is_mine(self, run: str, epoch: int) -> bool:
        """Whether a place of which a record says so is this run's. That another has taken it from this one is an error."""
        if run == self.run:
            self.must_be_mine(run, epoch)
            return True
        if self._was_mine and run != NOBODY:
            raise self.replaced()
        return False

    def must_be_mine(self, run: str, epoch: int) -> None:
        if self.is_lost(run, epoch):
            raise self.replaced()

    def is_lost(self, run: str, epoch: int) -> bool:
        """Whether another run has the place, or another driver."""
        return run != self.run or epoch > self.epoch

    def replaced(self) -> SinkRefused:
        self._refusal = SinkRefused(
            f"another run has taken over {self._place()}", f"let one job at a time write to a {self._kind}, or name another"
        )
        return self._refusal
