"""Windows with the queries that want them, and what MQT knows of them beforehand."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

import numpy as np

from sash.deltas import Int64s
from sash.errors import SashError


@dataclass(frozen=True)
class Windows:
    """Of growing size, in nanoseconds, each with the number of its queries."""

    sizes: tuple[int, ...]
    queries: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.sizes or any(a >= b for a, b in zip((0, *self.sizes), self.sizes, strict=False)):
            raise SashError(f"windows must be of growing size, not {self.sizes}", "sort them, and name each once")
        if len(self.queries) != len(self.sizes) or min(self.queries) < 1:
            raise SashError(f"every window has at least one query, not {self.queries}", "give a count for each of them")

    def max_throughput(self, scanned: int, ahead: int) -> Fraction:
        """MaxQT: of a tuple that is through with so many windows, behind one that is through with `ahead`."""
        ends, served = (0, *self.sizes), (0, *accumulate(self.queries))
        return max(Fraction(served[k] - served[scanned], ends[k] - ends[scanned]) for k in range(scanned + 1, ahead + 1))

    def matrix(self) -> Int64s:
        """The ranks of all values of MaxQT: equal values have equal ranks, so the order is exact. -1 where there is none."""
        count = len(self.sizes)
        places = [(scanned, ahead) for scanned in range(count) for ahead in range(scanned + 1, count + 1)]
        values = {place: self.max_throughput(*place) for place in places}
        ranks = {value: rank for rank, value in enumerate(sorted(set(values.values())))}
        made = np.full((count, count + 1), -1, np.int64)
        for place, value in values.items():
            made[place] = ranks[value]
        return made
