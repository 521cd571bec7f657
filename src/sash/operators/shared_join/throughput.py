"""Windows with the queries that want them, and what the schedule MQT of seed 001 knows of them beforehand."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

import numpy as np

from sash.deltas import Int64s
from sash.errors import SashError


@dataclass(frozen=True)
class Windows:
    """Of growing size, in any unit of time, each with the number of its queries."""

    sizes: tuple[int, ...]
    queries: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.sizes or any(a >= b for a, b in zip((0, *self.sizes), self.sizes, strict=False)):
            raise SashError(f"windows must be of growing size, not {self.sizes}", "sort them, and name each once")
        if len(self.queries) != len(self.sizes) or min(self.queries) < 1:
            raise SashError(f"every window has at least one query, not {self.queries}", "give a count for each of them")

    def max_throughput(self, scanned: int, ahead: int) -> Fraction:
        """MaxQT: of a tuple that is through with so many windows, behind one that is through with `ahead`."""
        return self._max_throughputs(scanned)[ahead - scanned - 1]

    def _max_throughputs(self, scanned: int) -> list[Fraction]:
        """The same behind one that is through with one window more, with two more, …"""
        ends, served = (0, *self.sizes), (0, *accumulate(self.queries))
        later = range(scanned + 1, len(ends))
        return list(accumulate((Fraction(served[k] - served[scanned], ends[k] - ends[scanned]) for k in later), max))

    def matrix(self) -> Int64s:
        """The ranks of all values of MaxQT: equal values have equal ranks, so the order is exact. -1 where there is none."""
        count = len(self.sizes)
        values = [self._max_throughputs(scanned) for scanned in range(count)]
        ranks = {value: rank for rank, value in enumerate(sorted({value for line in values for value in line}))}
        made = np.full((count, count + 1), -1, np.int64)
        for scanned, line in enumerate(values):
            made[scanned, scanned + 1 :] = [ranks[value] for value in line]
        return made
