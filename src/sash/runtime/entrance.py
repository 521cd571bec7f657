"""Where rows enter an engine in this process: as lanes with their times, looked at once.

    rows ─┬─▶ lanes, ts, the least and the greatest ts     all have a time, and none is late
          └─▶ nothing                                      some need a closer look, and go the way of rows on Spark (`packing.py`)
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sash.deltas import Delta, Int64s, Layout, forever
from sash.kernels.positions import read_times
from sash.plan.streams import StreamSpec
from sash.runtime.few_rows import FewRows
from sash.stores.interner import Interner
from sash.stores.lanes import decode, encode

FEW = 256


class Came(NamedTuple):
    """Rows of a stream, in the order in which they came."""

    delta: Delta
    first: int  # the least timestamp of them
    greatest: int


class Entrance:
    """Of one stream."""

    def __init__(self, spec: StreamSpec, interner: Interner) -> None:
        self.spec, self._interner = spec, interner
        self._layout = Layout(spec.schema)
        self._few = FewRows(self._layout, interner)
        column = spec.timestamp or 0
        self._time = (self._layout.lanes[column], *self._layout.mask(column), spec.delay)

    def read(self, batch: pa.RecordBatch, arrival: int | None, late_below: int) -> Came | None:
        """Rows of the declared types; `arrival` stamps the first one where arrivals are stamped. None if one of them may be late,
        or lacks a time, or if they are no rows of a stream."""
        if self.spec.is_table or not batch.num_rows:
            return None
        return self.with_times(encode(batch.columns, self._layout, self._interner), arrival, late_below)

    def lanes(self, rows: object) -> Int64s | None:
        """Of few rows as programs have them, if it is plain what they are."""
        return None if self.spec.is_table else self._few.read(rows)

    def columns(self, lanes: Int64s) -> pa.RecordBatch:
        """Lanes as rows of the declared types again."""
        arrays = decode(lanes, self._layout, self._interner)
        return pa.RecordBatch.from_arrays(arrays, schema=self.spec.schema.arrow)

    def with_times(self, rows: Int64s, arrival: int | None, late_below: int) -> Came | None:
        count = len(rows)
        if arrival is not None:
            ts, first, greatest = np.arange(arrival, arrival + count), arrival, arrival + count - 1
            is_good = arrival >= late_below
        else:
            ts = np.empty(count, np.int64)
            first, greatest, is_good = read_times(rows, *self._time, late_below, ts)
        return Came(Delta(rows, ts, forever(count), once(count), False, (count, 0, 0)), first, greatest) if is_good else None


def once(count: int) -> Int64s:
    """The weights of rows that come once each. Few are shared by all who ask: they are not to be written to."""
    return _few_ones(count) if count < FEW else np.ones(count, np.int64)


@cache
def _few_ones(count: int) -> Int64s:
    return np.ones(count, np.int64)
