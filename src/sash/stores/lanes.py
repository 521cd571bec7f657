"""The border between Arrow columns and lanes. (`deltas.py` draws a row.)"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sash.deltas import Int64s, Layout
from sash.kernels.border import spread_lanes
from sash.scalar.array_bytes import from_bytes, to_bytes
from sash.schema import Kind, Type
from sash.stores.interner import Interner

Nulls = npt.NDArray[np.bool_]
NAN_BITS = np.float64("nan").view(np.int64)


def encode(arrays: list[pa.Array], layout: Layout, interner: Interner) -> Int64s:
    """Rows of lanes from columns. -0.0 becomes 0.0 and every NaN the same one, since SQL holds them equal."""
    length = len(arrays[0]) if arrays else 0
    rows = np.zeros((length, layout.width), np.int64)
    for place, array in enumerate(arrays):
        encode_column(rows, place, array, layout, interner)
    return rows


def encode_column(rows: Int64s, place: int, array: pa.Array, layout: Layout, interner: Interner) -> None:
    """Write one column into rows whose lanes there are zero."""
    type_, lane = layout.schema.types[place], layout.lanes[place]
    if array.null_count:
        mask, bit = layout.mask(place)
        rows[:, mask] |= np.asarray(array.is_null()).astype(np.int64) << bit
    if type_.is_interned:
        rows[:, lane] = interner.encode(array if type_.kind is Kind.STRING else to_bytes(array))
    elif type_.kind is Kind.DECIMAL:
        words = _decimal_words(array)
        rows[:, lane] = words[:, 0]
        if type_.lanes == 2:
            rows[:, lane + 1] = words[:, 1]
    else:
        rows[:, lane] = _fixed(array, type_)


def _fixed(array: pa.Array, type_: Type) -> Int64s:
    if type_.kind is Kind.BOOLEAN:
        return np.asarray(pc.fill_null(array, False)).astype(np.int64)
    if type_.kind is Kind.DOUBLE:
        values = np.asarray(pc.fill_null(array, 0.0)) + 0.0  # -0.0 + 0.0 is 0.0
        bits: Int64s = values.view(np.int64)
        bits[np.isnan(values)] = NAN_BITS
        return bits
    if not len(array):
        return np.empty(0, np.int64)
    bytes_ = 8 if type_.kind in (Kind.BIGINT, Kind.TIMESTAMP) else 4
    integers: Int64s = np.frombuffer(array.buffers()[1], f"i{bytes_}", len(array), array.offset * bytes_)
    return np.where(np.asarray(array.is_valid()), integers, 0) if array.null_count else integers


def _decimal_words(array: pa.Array) -> Int64s:
    if array.null_count:
        array = pc.fill_null(array, pa.scalar(0, array.type))
    if not len(array):
        return np.empty((0, 2), np.int64)
    words = np.frombuffer(array.buffers()[1], np.int64, 2 * len(array), 16 * array.offset)
    return words.reshape(-1, 2)


def decode(rows: Int64s, layout: Layout, interner: Interner) -> list[pa.Array]:
    """Columns from rows of lanes."""
    columns = np.empty((layout.values, len(rows)), np.int64)
    has_nulls = spread_lanes(rows, columns)
    return [
        _decoded(columns[lane : lane + type_.lanes], type_, interner, _nulls(rows, place, layout) if has_nulls else None)
        for place, (lane, type_) in enumerate(zip(layout.lanes, layout.schema.types, strict=True))
    ]


def decode_column(rows: Int64s, place: int, layout: Layout, interner: Interner) -> pa.Array:
    """One of them."""
    lane, type_ = layout.lanes[place], layout.schema.types[place]
    lanes = np.ascontiguousarray(rows[:, lane : lane + type_.lanes].T)
    return _decoded(lanes, type_, interner, _nulls(rows, place, layout))


def _nulls(rows: Int64s, place: int, layout: Layout) -> Nulls | None:
    mask, bit = layout.mask(place)
    is_null = rows[:, mask] & 1 << bit != 0
    return is_null if is_null.any() else None


def _decoded(lanes: Int64s, type_: Type, interner: Interner, nulls: Nulls | None) -> pa.Array:
    """A column from its lanes, each in one piece."""
    values = lanes[0]
    if type_.kind is Kind.STRING:
        words = interner.decode(values)
        return words if nulls is None else pc.if_else(pa.array(nulls), pa.scalar(None, pa.string()), words)
    if type_.kind is Kind.ARRAY:
        return from_bytes(interner.decode_bytes(values), type_, nulls)
    if type_.kind is Kind.DECIMAL:
        return _decimals(lanes, type_, nulls)
    if nulls is None and type_.kind in (Kind.BIGINT, Kind.DOUBLE, Kind.TIMESTAMP):
        return plain_array(values, type_.arrow)
    if type_.kind is Kind.DOUBLE:
        return pa.array(values.view(np.float64), pa.float64(), mask=nulls)
    if type_.kind is Kind.BOOLEAN:
        return pa.array(values != 0, pa.bool_(), mask=nulls)
    if type_.kind in (Kind.INT, Kind.DATE):
        return pa.array(values.astype(np.int32), pa.int32(), mask=nulls).view(type_.arrow)
    return pa.array(values, pa.int64(), mask=nulls).view(type_.arrow)


def plain_array(values: npt.NDArray[np.integer[Any]], type_: pa.DataType) -> pa.Array:
    """These very bits as values of a type that has as many, none of them NULL."""
    return pa.Array.from_buffers(type_, len(values), [None, pa.py_buffer(values)], 0)


def _decimals(lanes: Int64s, type_: Type, nulls: Nulls | None) -> pa.Array:
    words = np.empty((lanes.shape[1], 2), np.int64)
    words[:, 0] = lanes[0]
    words[:, 1] = lanes[1] if type_.lanes == 2 else lanes[0] >> 63
    valid = None if nulls is None else pa.array(~nulls).buffers()[1]
    return pa.Array.from_buffers(type_.arrow, len(words), [valid, pa.py_buffer(words)])


def string_lanes(layout: Layout) -> Int64s:
    """The lanes that hold codes."""
    lanes = [lane for lane, type_ in zip(layout.lanes, layout.schema.types, strict=True) if type_.is_interned]
    return np.array(lanes, np.int64)
