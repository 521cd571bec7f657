"""Changes as Arrow columns: those of the rows, then instant, expiry and weight. So they go to those who have other codes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sash.deltas import Delta, Layout
from sash.stores.interner import Interner
from sash.stores.lanes import decode, encode

MARKS = ("_ts", "_expiry", "_weight")


def as_columns(delta: Delta, layout: Layout, interner: Interner) -> pa.RecordBatch:
    """Changes for those who have other codes."""
    columns = decode(delta.rows, layout, interner)
    marks = (pa.array(numbers) for numbers in (delta.ts, delta.expiry, delta.weight))
    return pa.RecordBatch.from_arrays([*columns, *marks], names=[*layout.schema.names, *MARKS])


def from_columns(batch: pa.RecordBatch, layout: Layout, interner: Interner) -> Delta:
    columns = batch.columns[: -len(MARKS)]
    ts, expiry, weight = (np.array(column, np.int64) for column in batch.columns[-len(MARKS) :])
    rows = encode(columns, layout, interner) if columns else np.zeros((len(ts), layout.width), np.int64)
    return Delta(rows, ts, expiry, weight)
