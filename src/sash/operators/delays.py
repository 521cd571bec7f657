"""Delays: how late effects came, as a histogram that can be added to others.

A bucket is an eighth of a power of two wide, so a percentile is wrong by at most 9 %; count, sum and greatest are exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import log2

import numpy as np

from sash.deltas import Int64s
from sash.kernels.counting import count_delays
from sash.schema import SECOND

PARTS = 8  # buckets for every power of two
BUCKETS = 63 * PARTS + 2  # the first is for no delay at all
PERCENTILES = (50, 90, 99)


@dataclass
class Delays:
    """Delays in microseconds."""

    count: int = 0
    total: int = 0
    greatest: int = 0
    buckets: Int64s = field(default_factory=lambda: np.zeros(BUCKETS, np.int64))

    def add(self, delays: Int64s, times: int = 1) -> None:
        """Each of these, so many times."""
        if not len(delays) or not times:
            return
        self.count += times * len(delays)
        total, greatest = count_delays(delays, times, PARTS, self.buckets)
        self.total += times * total
        self.greatest = max(self.greatest, greatest)

    def add_equal(self, delay: int, times: int) -> None:
        """One delay, so many times."""
        self.count += times
        self.total += times * delay
        self.greatest = max(self.greatest, delay)
        self.buckets[int(PARTS * log2(delay)) + 1 if delay > 0 else 0] += times

    def add_none(self, count: int) -> None:
        """So many effects that came at once."""
        self.count += count
        self.buckets[0] += count

    def merge(self, other: Delays) -> None:
        self.count += other.count
        self.total += other.total
        self.greatest = max(self.greatest, other.greatest)
        self.buckets += other.buckets

    def percentile(self, percent: int) -> int:
        """No more than so many percent of all delays are above it."""
        if not self.count:
            return 0
        place = int(np.searchsorted(np.cumsum(self.buckets), self.count * percent / 100))
        return min(self.greatest, int(2 ** (place / PARTS))) if place else 0

    def summary(self) -> dict[str, float]:
        """In seconds."""
        average = self.total / self.count if self.count else 0
        figures = {"average": average, **{f"p{p}": self.percentile(p) for p in PERCENTILES}, "maximum": self.greatest}
        return {"count": self.count, **{name: value / SECOND for name, value in figures.items()}}

    def packed(self) -> list[list[int]]:
        """As plain numbers, for JSON: the buckets that have something, and what is exact."""
        used = np.flatnonzero(self.buckets)
        return [[self.count, self.total, self.greatest], used.tolist(), self.buckets[used].tolist()]

    @staticmethod
    def unpacked(numbers: list[list[int]]) -> Delays:
        (count, total, greatest), used, counts = numbers
        delays = Delays(count, total, greatest)
        delays.buckets[used] = counts
        return delays
