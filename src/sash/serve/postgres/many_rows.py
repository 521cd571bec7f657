"""Rows as messages, column by column: every column becomes bytes and lengths, which are then put where they belong.

    message of a row:   tag  length  number of columns  [ length  bytes ]  [ length  bytes ] …
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sash.serve.postgres import wire_types as wire
from sash.serve.postgres.binary_values import DAYS, MICROSECONDS, bytes_of
from sash.serve.postgres.text_values import text_of
from sash.serve.postgres.wire_types import WireType

_HEAD = 7  # bytes of a message before its first column
_NUMBERS = {
    wire.INT2: (pa.int16(), ">i2"), wire.INT4: (pa.int32(), ">i4"), wire.INT8: (pa.int64(), ">i8"),
    wire.OID: (pa.uint32(), ">u4"), wire.FLOAT4: (pa.float32(), ">f4"), wire.FLOAT8: (pa.float64(), ">f8"),
}
_INTEGERS = (wire.INT2, wire.INT4, wire.INT8, wire.OID)

Bytes = npt.NDArray[np.uint8]
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Packed:
    """The values of a column, one after the other; the length of NULL is -1."""

    data: Bytes
    lengths: Counts

    @property
    def sizes(self) -> Counts:
        return np.maximum(self.lengths, 0)


def many_rows(table: pa.Table, types: Sequence[WireType], formats: Sequence[int], tag: bytes = b"D") -> memoryview:
    """One message a row, as `few_rows` gives them."""
    columns = [_packed(column, type_, format_) for column, type_, format_ in zip(table.columns, types, formats, strict=True)]
    sizes: Counts = np.full(table.num_rows, _HEAD, np.int64)
    for column in columns:
        sizes += column.sizes + 4
    ends = np.cumsum(sizes)
    begins = ends - sizes
    out: Bytes = np.empty(int(ends[-1]) if len(ends) else 0, np.uint8)
    out[begins] = ord(tag)
    _put(out, begins + 1, _big_endian(sizes - 1, ">i4"))
    _put(out, begins + 5, _big_endian(np.full(table.num_rows, len(columns)), ">i2"))
    places = begins + _HEAD
    for column in columns:
        _put(out, places, _big_endian(column.lengths, ">i4"))
        _scatter(out, places + 4, column)
        places = places + 4 + column.sizes
    return out.data


def framed(lines: pa.Array, tag: bytes = b"d") -> memoryview:
    """One message a line: CopyData of a copy as text."""
    column = _of_strings(lines)
    sizes = column.sizes + 5
    begins = np.cumsum(sizes) - sizes
    out: Bytes = np.empty(int(sizes.sum()), np.uint8)
    out[begins] = ord(tag)
    _put(out, begins + 1, _big_endian(sizes - 1, ">i4"))
    _scatter(out, begins + 5, column)
    return out.data


def _put(out: Bytes, places: Counts, values: Bytes) -> None:
    """Values of one width, each at its place."""
    for byte in range(values.shape[1]):
        out[places + byte] = values[:, byte]


def _scatter(out: Bytes, places: Counts, column: Packed) -> None:
    sizes = column.sizes
    begins = np.cumsum(sizes) - sizes
    out[np.repeat(places - begins, sizes) + np.arange(len(column.data))] = column.data


def _big_endian(values: npt.NDArray[Any], kind: str) -> Bytes:
    width = np.dtype(kind).itemsize
    return np.ascontiguousarray(values.astype(kind)).view(np.uint8).reshape(len(values), width)


def _packed(column: pa.ChunkedArray, type_: WireType, format_: int) -> Packed:
    values = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(values, pa.ChunkedArray):
        values = pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], values.type)
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        return _of_strings(values)
    if format_ and (found := _fixed(values, type_)) is not None:
        return found
    if not format_ and type_.oid in _INTEGERS:
        return _of_strings(pc.cast(values, pa.string()))
    if not format_ and type_.oid == wire.BOOL:
        return _of_strings(pc.if_else(values, "t", "f"))
    if not format_ and type_.oid == wire.TIMESTAMP:
        return _of_strings(pc.replace_substring_regex(pc.cast(pc.cast(values, pa.timestamp("us")), pa.string()), r"\.?0+$", ""))
    write = bytes_of if format_ else _text_bytes
    return _of_strings(pa.array([None if value is None else write(value, type_) for value in values.to_pylist()], pa.binary()))


def _text_bytes(value: Any, type_: WireType) -> bytes:
    return text_of(value, type_).encode()


def _of_strings(values: pa.Array) -> Packed:
    """Strings or bytes as they lie in memory."""
    values = pc.cast(values, pa.large_binary())
    _, offsets, data = values.buffers()
    places = np.frombuffer(offsets, np.int64)[values.offset : values.offset + len(values) + 1]
    lengths = np.diff(places)
    if values.null_count:
        lengths = np.where(_is_null(values), -1, lengths)
        filled = pc.fill_null(values, b"")
        _, offsets, data = filled.buffers()
        places = np.frombuffer(offsets, np.int64)[filled.offset : filled.offset + len(filled) + 1]
    held = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    return Packed(held[int(places[0]) : int(places[-1])] if len(places) else held[:0], lengths)


def _fixed(values: pa.Array, type_: WireType) -> Packed | None:
    """Values that all have the same number of bytes."""
    if type_.oid in _NUMBERS:
        arrow, kind = _NUMBERS[type_.oid]
        return _of_numbers(pc.cast(values, arrow), kind)
    if type_.oid == wire.BOOL:
        return _of_numbers(pc.cast(values, pa.int8()), ">i1")
    if type_.oid == wire.DATE:
        return _of_numbers(pc.subtract(values.cast(pa.int32()), DAYS), ">i4")
    if type_.oid in (wire.TIMESTAMP, wire.TIMESTAMPTZ):
        micros = values.cast(pa.timestamp("us", values.type.tz)).cast(pa.int64())
        return _of_numbers(pc.subtract(micros, MICROSECONDS), ">i8")
    return None


def _of_numbers(values: pa.Array, kind: str) -> Packed:
    width = np.dtype(kind).itemsize
    if not values.null_count:
        return Packed(_big_endian(values.to_numpy(zero_copy_only=False), kind).reshape(-1), np.full(len(values), width, np.int64))
    present = values.drop_null().to_numpy(zero_copy_only=False)
    return Packed(_big_endian(present, kind).reshape(-1), np.where(_is_null(values), -1, width).astype(np.int64))


def _is_null(values: pa.Array) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = pc.is_null(values).to_numpy(zero_copy_only=False)
    return found
