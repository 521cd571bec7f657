"""Bands: taps of a shared join that are run together, all of them or those over one window.

Lines of all taps are common to all bands: how long windows are, where they begin, what is written. A band has a place of its own
in the logs, and an order of its taps.
"""

from __future__ import annotations

from typing import NamedTuple

from sash.deltas import Int64s
from sash.kernels.bundles import Bundle
from sash.operators.shared_join.kernels import LEFT, NEXT, RIGHT


class Band(NamedTuple):
    """`tails` are the numbers of the next rows in the time of these taps; `lengths` of their windows together."""

    taps: Int64s
    tails: tuple[Int64s, Int64s]
    cursor: Int64s
    bundle: Bundle
    length: int

    def begin(self, tails: tuple[int, int], due: Int64s) -> None:
        """Go on from where all bands are."""
        for own, tail in zip(self.tails, tails, strict=True):
            own[0] = tail
        self.cursor[LEFT], self.cursor[RIGHT] = tails
        self.cursor[NEXT] = due[self.taps].min()


class Run(NamedTuple):
    """Rows that have turns together: how many they are, where they end in the logs, and before which instant they come."""

    came: int
    stops: tuple[int, int]
    until: int
