"""How many of the rows that leave a negation leave early: not because they left its left side at that instant.

Only some steps are looked at, and only some rows of them.
"""

from __future__ import annotations

import numpy as np

from sash.deltas import Delta, Int64s
from sash.kernels.pairs import hash_rows

ONE_IN = 8
ROWS = 4096


class Early:
    """Counts for one negation."""

    def __init__(self) -> None:
        self._steps = self._left = self._early = 0

    def observe(self, left: Delta, out: Delta) -> None:
        if not len(out):
            return
        self._steps += 1
        if self._steps <= ONE_IN or self._steps % ONE_IN == 0:
            seen = out.slice(0, ROWS)
            gone, expected = _gone(seen), _gone(left.take(left.ts <= seen.ts[-1]))
            is_early = ~np.isin(_keys(gone), _keys(expected))
            self._left -= int(gone.weight.sum())
            self._early -= int(gone.weight[is_early].sum())

    @property
    def counts(self) -> tuple[int, int]:
        """Rows that left early, and rows that left."""
        return self._early, self._left

    @property
    def share(self) -> float | None:
        return self._early / self._left if self._left else None


def _gone(delta: Delta) -> Delta:
    return delta.take(delta.weight < 0)


def _keys(delta: Delta) -> Int64s:
    """One number for every row and its instant."""
    hashes = np.empty(len(delta), np.int64)
    hash_rows(delta.rows, np.arange(delta.rows.shape[1]), hashes)
    return hashes ^ (delta.ts * 0x9E3779B1)
