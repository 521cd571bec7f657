"""Where rows enter an engine in this process: as lanes with their times, looked at once.

    rows ─┬─▶ lanes, ts, the least and the greatest ts     all have a time, and none is late
          └─▶ nothing                                      some need a closer look, and go the way of rows on Spark (`packing.py`)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sash.deltas import Delta, Int64s, Layout, forever, once
from sash.kernels.positions import read_times
from sash.plan.streams import StreamSpec
from sash.runtime.few_rows import FewRows
from sash.stores.columns_in import ColumnsIn
from sash.stores.interner import Interner
from sash.stores.lanes import decode


class Came(NamedTuple):
    """Rows of a stream, in the order in which they came."""

    delta: Delta
    first: int  # the least timestamp of them
    greatest: int
    is_in_order: bool


class Entrance:
    """Of one stream."""

    def __init__(self, spec: StreamSpec, interner: Interner) -> None:
        self.spec, self._interner = spec, interner
        self._layout = Layout(spec.schema)
        self._few, self._columns = FewRows(self._layout, interner), ColumnsIn(self._layout, interner)
        column = spec.timestamp or 0
        self._time = (self._layout.lanes[column], *self._layout.mask(column), spec.delay)

    def read(self, batch: pa.RecordBatch, arrival: int | None, late_below: int) -> Came | None:
        """Rows of the declared types; `arrival` stamps the first one where arrivals are stamped. None if one of them may be late,
        or lacks a time, or if they are no rows of a stream."""
        if self.spec.is_table or not batch.num_rows:
            return None
        return self.with_times(self._columns.read(batch), arrival, late_below)

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
            is_good, is_in_order = arrival >= late_below, True
        else:
            ts = np.empty(count, np.int64)
            first, greatest, is_good, is_in_order = read_times(rows, *self._time, late_below, ts)
        if not is_good:
            return None
        return Came(Delta(rows, ts, forever(count), once(count), False, (count, 0, 0)), first, greatest, is_in_order)

