"""Arrays as bytes: the order of the bytes is the order of the arrays, and equal arrays have equal bytes.

The bytes of an array are those of its elements, one after the other, so those of a longer array go on where a shorter one ends,
and the bytes of two arrays put together are those of both. Every element begins with a mark: NULL comes before all values.

    fixed width    mark, then 8 bytes (16 of a wide DECIMAL) from the most significant on, the sign bit turned; NULL: zeros
    STRING         mark, the text, 00 01; a 00 in the text is 00 FF
    ARRAY          mark, the bytes of the array as if they were a text, 00 01

    ARRAY[1, NULL]     02 80 00 00 00 00 00 00 01   01 00 00 00 00 00 00 00 00
    ARRAY['ab']        02 61 62 00 01
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sash.scalar.arrays import Mask, combined, list_ends, nulls, numbers
from sash.schema import Kind, Type

Bytes = npt.NDArray[np.uint8]
Int64s = npt.NDArray[np.int64]

NULL_MARK, VALUE_MARK = 1, 2
SIGN = np.uint64(1 << 63)
_ZERO, _ESCAPED, _END = b"\x00", b"\x00\xff", b"\x00\x01"


def to_bytes(arrays: pa.ListArray) -> pa.Array:
    """The bytes of every array; NULL for NULL."""
    values, ends = combined(arrays.flatten()), list_ends(arrays)
    if _is_text(values.type):
        data, item_ends = _texts(values)
    else:
        data = _fixed(values)
        item_ends = np.arange(len(values) + 1) * data.shape[1]
    null = nulls(arrays)
    valid = pa.array(~null).buffers()[1] if null.any() else None
    buffers = [valid, pa.py_buffer(np.ascontiguousarray(item_ends[ends])), pa.py_buffer(np.ascontiguousarray(data))]
    return pa.Array.from_buffers(pa.large_binary(), len(arrays), buffers)


def from_bytes(written: pa.Array, type_: Type, null: Mask | None = None) -> pa.ListArray:
    """The arrays of a type, NULL under the mask."""
    assert type_.element is not None
    ends, data = _buffers(written)
    element = type_.element
    if element.is_interned:
        values, item_ends = _read_texts(data, element)
    else:
        width = 1 + 8 * element.lanes
        lines = data.reshape(-1, width)
        values, item_ends = _read_fixed(lines, element), np.arange(len(lines) + 1) * width
    places = np.searchsorted(item_ends, ends).astype(np.int32)
    offsets = pa.array(places, mask=None if null is None else np.append(null, False))
    return pa.ListArray.from_arrays(offsets, values).cast(type_.arrow)


def _is_text(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string(type_) or pa.types.is_list(type_))


def _fixed(values: pa.Array) -> Bytes:
    """One line of bytes for every element."""
    words = _words(values)
    lines = np.zeros((len(values), 1 + 8 * words.shape[1]), np.uint8)
    is_value = ~nulls(values)
    lines[:, 0] = np.where(is_value, VALUE_MARK, NULL_MARK)
    lines[:, 1:] = words.astype(">u8").view(np.uint8) * is_value[:, None]
    return lines


def _words(values: pa.Array) -> npt.NDArray[np.uint64]:
    """Words whose unsigned order is that of the values, the first one deciding."""
    if pa.types.is_decimal(values.type):
        return _decimal_words(values)
    if pa.types.is_floating(values.type):
        doubles = numbers(values) + 0.0
        bits = np.where(np.isnan(doubles), np.nan, doubles).view(np.int64)
        return np.where(bits < 0, ~bits, bits ^ np.int64(-(2**63))).view(np.uint64).reshape(-1, 1)
    return (numbers(values).astype(np.int64).view(np.uint64) ^ SIGN).reshape(-1, 1)


def _decimal_words(values: pa.Array) -> npt.NDArray[np.uint64]:
    low_high = np.zeros((0, 2), np.uint64)
    if len(values):
        low_high = np.frombuffer(values.buffers()[1], np.uint64, 2 * len(values), 16 * values.offset).reshape(-1, 2)
    if values.type.precision <= 18:
        return low_high[:, :1] ^ SIGN
    return np.column_stack([low_high[:, 1] ^ SIGN, low_high[:, 0]])


def _read_fixed(lines: Bytes, element: Type) -> pa.Array:
    null = lines[:, 0] == NULL_MARK
    words = np.ascontiguousarray(lines[:, 1:]).view(">u8").astype(np.uint64).reshape(len(lines), element.lanes)
    words = np.where(null[:, None], np.uint64(0), words)
    if element.kind is Kind.DOUBLE:
        bits = words[:, 0].view(np.int64)
        return pa.array(np.where(bits < 0, bits ^ np.int64(-(2**63)), ~bits).view(np.float64), mask=null)
    first = (words[:, 0] ^ SIGN).view(np.int64)
    if element.kind is Kind.DECIMAL:
        low = words[:, 1].view(np.int64) if element.lanes == 2 else first
        low_high = np.column_stack([low, first if element.lanes == 2 else first >> 63])
        valid = pa.array(~null).buffers()[1]
        return pa.Array.from_buffers(element.arrow, len(lines), [valid, pa.py_buffer(np.ascontiguousarray(low_high))])
    if element.kind is Kind.BOOLEAN:
        return pa.array(first != 0, mask=null)
    storage = np.int32 if element.kind in (Kind.INT, Kind.DATE) else np.int64
    return pa.array(first.astype(storage), mask=null).view(element.arrow)


def _texts(values: pa.Array) -> tuple[Bytes, Int64s]:
    """The bytes of all elements, and where each ends."""
    texts = to_bytes(values) if pa.types.is_list(values.type) else values.cast(pa.large_binary())
    null = nulls(texts)
    texts = pc.replace_substring(pc.fill_null(texts, b""), pattern=_ZERO, replacement=_ESCAPED)
    marks = pa.array([bytes([VALUE_MARK]), bytes([NULL_MARK])], pa.large_binary()).take(pa.array(null.astype(np.int8)))
    end, nothing = (pa.scalar(part, pa.large_binary()) for part in (_END, b""))
    ends, data = _buffers(pc.binary_join_element_wise(marks, texts, end, nothing))
    return data, ends


def _read_texts(data: Bytes, element: Type) -> tuple[pa.Array, Int64s]:
    last = np.flatnonzero((data[:-1] == 0) & (data[1:] == 1)) if len(data) else np.empty(0, np.int64)
    ends = np.concatenate([[0], last + 2])
    kept = np.ones(len(data), np.bool_)
    for dropped in (ends[:-1], last, last + 1):
        kept[dropped] = False
    null = data[ends[:-1]] == NULL_MARK
    places = np.concatenate([[0], np.cumsum(np.diff(ends) - 3)])
    buffers = [None, pa.py_buffer(places), pa.py_buffer(data[kept])]
    texts = pa.Array.from_buffers(pa.large_binary(), len(last), buffers)
    texts = pc.replace_substring(texts, pattern=_ESCAPED, replacement=_ZERO)
    if element.kind is Kind.ARRAY:
        return from_bytes(texts, element, null), ends
    whole = texts.cast(pa.string())
    return pc.if_else(pa.array(null), pa.scalar(None, pa.string()), whole) if null.any() else whole, ends


def _buffers(array: pa.Array) -> tuple[Int64s, Bytes]:
    """Where each begins, and where the last ends, in the bytes of all of them."""
    if not len(array):
        return np.zeros(1, np.int64), np.empty(0, np.uint8)
    _, offsets, data = array.buffers()
    ends = np.frombuffer(offsets, np.int64, len(array) + 1, 8 * array.offset)
    found = np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return ends - ends[0], found[ends[0] : ends[-1]]
