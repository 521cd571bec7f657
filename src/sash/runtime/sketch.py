"""How many different values a column has, from a sample: the least hashes of the values, of which a few are kept.

    sample of n rows ─▶ d different values in it (the k-th least hash tells, where there are many) ─▶ D values in all

D values, drawn at random n times, show D (1 - exp(-n / D)) of them; that is solved for D.
"""

from __future__ import annotations

import zlib
from math import exp

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sash.scalar.array_bytes import to_bytes

KEPT = 256
MANY = 1e9
_ODD = np.uint64(0x9E3779B97F4A7C15)


class Sketch:
    """Of one column."""

    def __init__(self) -> None:
        self._least = np.empty(0, np.uint64)
        self._rows = 0

    def add(self, values: pa.Array) -> None:
        self._rows += len(values)
        self._least = _least_of(self._least, hashes(values))

    def merge(self, other: Sketch) -> None:
        """The sketch of both samples together."""
        self._rows += other._rows
        self._least = _least_of(self._least, other._least)

    def packed(self) -> list[int]:
        """For JSON."""
        return [self._rows, *self._least.tolist()]

    @staticmethod
    def unpacked(numbers: list[int]) -> Sketch:
        sketch = Sketch()
        sketch._rows, sketch._least = numbers[0], np.array(numbers[1:], np.uint64)
        return sketch

    @property
    def sampled(self) -> float:
        """Different values in the sample."""
        if len(self._least) < KEPT:
            return float(len(self._least))
        return min(float(self._rows), (KEPT - 1) * 2.0**64 / float(self._least[-1]))

    @property
    def values(self) -> float:
        """Different values in all."""
        sampled = self.sampled
        low = high = max(1.0, sampled)
        while high < MANY and _shown(high, self._rows) < low:
            high *= 2
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if _shown(middle, self._rows) < sampled else (low, middle)
        return high


def _least_of(one: npt.NDArray[np.uint64], other: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The least of both, each once."""
    both = np.sort(np.concatenate([one, other]))
    is_new = np.ones(len(both), np.bool_)
    np.not_equal(both[1:], both[:-1], out=is_new[1:])
    return both[is_new][:KEPT]


def _shown(values: float, rows: int) -> float:
    return values * (1 - exp(-rows / values))


def hashes(values: pa.Array) -> npt.NDArray[np.uint64]:
    """One for every value that is not NULL."""
    values = values.drop_null()
    if pa.types.is_integer(values.type) or pa.types.is_timestamp(values.type):
        return _mixed(np.asarray(values.cast(pa.int64())).view(np.uint64))
    texts = to_bytes(values) if pa.types.is_list(values.type) else values.cast(pa.string()).cast(pa.binary())
    return _mixed(np.array([zlib.crc32(text) for text in pc.unique(texts).to_pylist()], np.uint64))


def _mixed(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    numbers = (numbers ^ (numbers >> np.uint64(32))) * _ODD
    numbers = (numbers ^ (numbers >> np.uint64(29))) * _ODD
    return numbers ^ (numbers >> np.uint64(32))
