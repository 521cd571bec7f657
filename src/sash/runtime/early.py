"""How many of the rows that leave a negation leave early: not because they left its left side at that instant.

Only some steps are looked at, and only some rows of them.
"""

from __future__ import annotations

import numpy as np

from sash.deltas import Delta
from sash.kernels.join import hash_rows
from sash.logical.nodes import Combination
from sash.physical.specs import CombineSpec, MinusSpec, Spec

ONE_IN = 8
ROWS = 4096

_NEGATIONS = (Combination.EXCEPT_ALL, Combination.EXCEPT, Combination.ANTI)


def is_negation(spec: Spec) -> bool:
    return isinstance(spec, MinusSpec) or (isinstance(spec, CombineSpec) and spec.how in _NEGATIONS)


class Early:
    """Counts for one negation."""

    def __init__(self) -> None:
        self._steps = self._left = self._early = 0

    def saw(self, left: Delta, out: Delta) -> None:
        if not len(out):
            return
        self._steps += 1
        if self._steps <= ONE_IN or self._steps % ONE_IN == 0:
            gone = _keys(out.slice(0, ROWS))
            expected = _keys(left.take(left.ts <= out.ts[min(ROWS, len(out)) - 1]))
            self._left += len(gone)
            self._early += int(np.count_nonzero(~np.isin(gone, expected)))

    @property
    def share(self) -> float | None:
        return self._early / self._left if self._left else None


def _keys(delta: Delta) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """One number for every row that leaves, and its instant."""
    gone = delta.take(delta.weight < 0)
    hashes = np.empty(len(gone), np.int64)
    hash_rows(gone.rows, np.arange(gone.rows.shape[1]), hashes)
    return hashes ^ (gone.ts * 0x9E3779B1)
