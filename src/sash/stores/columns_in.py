"""Arrow batches of one layout as lanes, all columns in one pass; texts and arrays one by one, as they get codes."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from sash.deltas import Int64s, Layout
from sash.kernels import border
from sash.schema import Kind
from sash.stores.interner import Interner
from sash.stores.lanes import encode_column

_SHAPES = {
    Kind.BIGINT: border.WHOLE, Kind.TIMESTAMP: border.WHOLE, Kind.INT: border.HALF, Kind.DATE: border.HALF,
    Kind.DOUBLE: border.DOUBLE, Kind.BOOLEAN: border.BITS,
}


class ColumnsIn:
    """Reads batches whose columns are of the types of a layout."""

    def __init__(self, layout: Layout, interner: Interner) -> None:
        self._layout, self._interner = layout, interner
        kinds = [type_.kind for type_ in layout.schema.types]
        lines = [
            (place, _SHAPES[kind], layout.lanes[place], *layout.mask(place))
            for place, kind in enumerate(kinds) if kind in _SHAPES
        ]
        self._columns = np.array(lines, np.int64).reshape(len(lines), border.COLUMNS)
        self._others = [place for place, kind in enumerate(kinds) if kind not in _SHAPES]
        self._batch = np.zeros(border.WORDS, np.int64)
        self._address = self._batch.ctypes.data

    def read(self, batch: pa.RecordBatch) -> Int64s:
        """The lanes of its rows, as `encode` gives them."""
        rows = np.zeros((batch.num_rows, self._layout.width), np.int64)
        if len(self._columns):
            batch._export_to_c(self._address)
            try:
                border.read_columns(self._batch, self._columns, rows)
            finally:
                _releaser(self._batch.item(border.RELEASE))(self._address)
        for place in self._others:
            encode_column(rows, place, batch.column(place), self._layout, self._interner)
        return rows


@cache
def _releaser(address: int) -> Any:
    """The function of Arrow that lets go of what was exported."""
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)
