"""Between Arrow arrays and NumPy: values without their NULLs, masks, and arrays put together again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Mask = npt.NDArray[np.bool_]
Numbers = npt.NDArray[Any]

LONGEST = 1 << 24  # elements or characters of an array or a text whose length somebody asks for


def numbers(array: pa.Array) -> Numbers:
    """The values as NumPy sees them, zero where NULL; times are the integers they are stored as."""
    if pa.types.is_timestamp(array.type):
        array = array.view(pa.int64())
    elif pa.types.is_date32(array.type):
        array = array.view(pa.int32())
    if array.null_count:
        array = pc.fill_null(array, zero(array.type))
    return array.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def zero(type_: pa.DataType) -> pa.Scalar:
    """Zero of a number type, or false."""
    if pa.types.is_decimal(type_):
        return pa.scalar(Decimal(0), type_)
    return pa.scalar(False if pa.types.is_boolean(type_) else 0, type_)


def nulls(array: pa.Array) -> Mask:
    if array.null_count == 0:
        return np.zeros(len(array), np.bool_)
    return array.is_null().to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def truth(array: pa.Array) -> Mask:
    """Where a BOOLEAN is true: not false, not NULL."""
    return numbers(array).astype(np.bool_, copy=False)


def array_of(values: Numbers, type_: pa.DataType, null: Mask) -> pa.Array:
    """Values as an array of a type, NULL under the mask; times come as integers."""
    stored = pa.int64() if pa.types.is_timestamp(type_) else pa.int32() if pa.types.is_date32(type_) else type_
    array = pa.array(values, stored, mask=null)
    return array if stored == type_ else array.view(type_)


def blank(array: pa.Array, rows: Mask) -> pa.Array:
    """The same array, NULL under the mask."""
    if not rows.any():
        return array
    return pc.if_else(pa.array(rows), pa.scalar(None, array.type), array)


def combined(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def list_ends(lists: pa.ListArray) -> npt.NDArray[np.int64]:
    """Where each list begins among the values of all, and where the last ends; a NULL has none."""
    return np.concatenate([[0], np.cumsum(numbers(pc.list_value_length(lists)), dtype=np.int64)])


def list_offsets(lists: pa.ListArray) -> pa.Array:
    """The same as offsets of lists of other values; a NULL list begins at NULL."""
    return array_of(list_ends(lists).astype(np.int32), pa.int32(), np.append(nulls(lists), False))


def per_value(array: pa.Array, function: Callable[[Any], Any], type_: pa.DataType) -> pa.Array:
    """A Python function of one value, called once for every distinct value: for what Arrow has no kernel for."""
    encoded = array.dictionary_encode()
    results = pa.array([function(value) for value in encoded.dictionary.to_pylist()], type_)
    return results.take(encoded.indices)


def per_group(
    arrays: Sequence[pa.Array], parameters: Sequence[pa.Array], function: Callable[..., pa.Array], type_: pa.DataType
) -> pa.Array:
    """A kernel whose parameters are constants, over columns of parameters: called once for every distinct combination.

    `function(*arrays, *values)` gets the rows of one combination; NULL in any parameter gives NULL.
    """
    length = len(parameters[0])
    if length == 0:
        return pa.array([], type_)
    codes = [parameter.dictionary_encode() for parameter in parameters]
    keys = np.stack([numbers(pc.fill_null(code.indices, -1)) for code in codes], axis=1)
    groups, member = _distinct(keys)
    if len(groups) == 1:
        return _of_group(arrays, codes, groups[0], function, type_, length)
    order = np.argsort(member, kind="stable")
    bounds = np.searchsorted(member[order], np.arange(len(groups) + 1))
    pieces = []
    for group, start, stop in zip(groups, bounds[:-1], bounds[1:], strict=True):
        rows = pa.array(order[start:stop])
        pieces.append(_of_group([a.take(rows) for a in arrays], codes, group, function, type_, int(stop - start)))
    return pa.concat_arrays(pieces).take(pa.array(np.argsort(order, kind="stable")))


def _distinct(keys: Numbers) -> tuple[Numbers, Numbers]:
    if (keys == keys[0]).all():
        return keys[:1], np.zeros(len(keys), np.int64)
    groups, member = np.unique(keys, axis=0, return_inverse=True)
    return groups, member.reshape(-1)


def _of_group(
    arrays: Sequence[pa.Array], codes: Sequence[pa.Array], group: Numbers, function: Callable[..., pa.Array],
    type_: pa.DataType, length: int,
) -> pa.Array:
    if (group < 0).any():
        return pa.nulls(length, type_)
    values = [code.dictionary[int(place)].as_py() for code, place in zip(codes, group, strict=True)]
    return combined(function(*arrays, *values)).cast(type_)
