"""Rows go through the windows of a shared join in turns, as a schedule says (`schedules.py`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from sash.deltas import Delta, Int64s
from sash.operators.shared_join.bands import Band, Run
from sash.operators.shared_join.kernels import FOUND, KNOWN, OPEN
from sash.operators.shared_join.outputs import MET, TapOutputs
from sash.operators.shared_join.schedules import Turns
from sash.operators.shared_join.turn_kernels import run_turn

NO_PARTNERS = np.zeros(0, np.int64)


class Part(NamedTuple):
    """What taps give, by number; the instant before which it is all of these, and the one before which all taps have given all:
    None where nothing follows.
    """

    given: list[tuple[int, Delta]]
    until: int
    through: int | None


class InTurns:
    """Rows that are in the logs, and the windows through which they are to go."""

    def __init__(
        self, bands: Sequence[Band], runs: Sequence[Run], outputs: TapOutputs, matrix: Int64s | None,
        awaited: Callable[[], Sequence[int]],
    ) -> None:
        """`awaited` tells the taps that somebody waits for: their windows come first."""
        self._awaited = awaited
        self._bands, self._runs, self._outputs = bands, runs, outputs
        self._turns = Turns(len(bands), len(runs), matrix)
        self._partners = [NO_PARTNERS] * len(runs)
        self._held = self.most_held = 0  # numbers that are kept for longer windows, now and at most

    def parts(self, through: int) -> Iterator[Part]:
        """What every turn gives; before an instant all is given already."""
        last = len(self._bands) - 1
        while (window := self._turns.next(self._first())) is not None:
            number = self._turns.through[window]
            for given, until in self._turn(self._bands[window], number, is_last=window == last):
                through = until if window == last else through
                self._turns.through[window] += until == self._runs[number].until
                yield Part(given, until, None if self._turns.are_over else through)

    def _first(self) -> int | None:
        """The longest window that somebody waits for."""
        taps = set(self._awaited())
        if not taps:
            return None
        return max((place for place, band in enumerate(self._bands) if taps.intersection(band.taps.tolist())), default=None)

    def _turn(self, band: Band, number: int, *, is_last: bool) -> Iterator[tuple[list[tuple[int, Delta]], int]]:
        """Take a run of rows through a window. Of those that gave nothing it is told as well how far they are."""
        run, known, outputs = self._runs[number], self._partners[number], self._outputs
        found = NO_PARTNERS if is_last else np.empty(len(known) + run.came + MET, np.int64)
        band.cursor[KNOWN] = band.cursor[FOUND] = 0
        outputs.begin(run.came, band.taps)
        while not run_turn(run.until - 1, *run.stops, known, found, band.bundle.record):
            if len(found) and band.cursor[FOUND] + len(known) + MET > len(found):
                found = np.concatenate([found, np.empty(len(found), np.int64)])
            outputs.make_room(band.taps)
            if outputs.are_many and (part := outputs.take_whole_instants(band.taps, band.cursor.item(OPEN))) is not None:
                yield part
        self._partners[number] = found[: band.cursor.item(FOUND)]
        self._held += len(self._partners[number]) - len(known)
        self.most_held = max(self.most_held, self._held)
        given = dict(outputs.take(run.came, band.taps))
        yield [(tap, given.get(tap, outputs.nothing(tap))) for tap in band.taps.tolist()], run.until
