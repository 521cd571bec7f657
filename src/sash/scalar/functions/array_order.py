"""Arrays by the order of their elements: sorted, without duplicates, turned round, the least and the greatest."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.scalar.array_bytes import to_bytes
from sash.scalar.arrays import array_of, combined, list_ends, list_offsets, nulls
from sash.scalar.coercion import Arguments
from sash.scalar.functions.array import Int64s, element_of, lengths, of_array, owners
from sash.scalar.functions.function import Function, parameterized, plain
from sash.schema import BOOLEAN, Type


def _places(arrays: pa.ListArray, is_ascending: bool, null_placement: str) -> Int64s:
    """The places of all elements, array by array, in order; that of NaN is after all other numbers."""
    items = combined(arrays.flatten())
    keys = to_bytes(items) if pa.types.is_list(items.type) else items
    table = pa.table([owners(arrays), keys], names=["row", "item"])
    order = [("row", "ascending"), ("item", "ascending" if is_ascending else "descending")]
    found: Int64s = np.asarray(pc.sort_indices(table, order, null_placement=null_placement)).astype(np.int64)
    return found


def _taken(arrays: pa.ListArray, places: Int64s) -> pa.ListArray:
    return pa.ListArray.from_arrays(list_offsets(arrays), combined(arrays.flatten()).take(pa.array(places)))


def _sort(arrays: pa.ListArray) -> pa.Array:
    """NULLs last."""
    return _taken(arrays, _places(arrays, True, "at_end"))


def _sort_by(arrays: pa.ListArray, is_ascending: bool = True) -> pa.Array:
    """NULLs first, or last when it goes down."""
    return _taken(arrays, _places(arrays, is_ascending, "at_start" if is_ascending else "at_end"))


def _reverse(arrays: pa.ListArray) -> pa.Array:
    ends = list_ends(arrays)
    rows = owners(arrays)
    return _taken(arrays, ends[rows] + ends[rows + 1] - 1 - np.arange(len(rows)))


def _distinct(arrays: pa.ListArray) -> pa.Array:
    """The first of equal elements stays."""
    items, rows = combined(arrays.flatten()), owners(arrays)
    single = pa.ListArray.from_arrays(pa.array(np.arange(len(items) + 1), pa.int32()), items)
    codes = np.asarray(to_bytes(single).dictionary_encode().indices).astype(np.int64)
    first = np.sort(np.unique(rows * (len(items) + 1) + codes, return_index=True)[1])
    ends = np.concatenate([[0], np.cumsum(np.bincount(rows[first], minlength=len(arrays)))])
    offsets = array_of(ends.astype(np.int32), pa.int32(), np.append(nulls(arrays), False))
    return pa.ListArray.from_arrays(offsets, items.take(pa.array(first)))


def _extreme(is_least: bool) -> Callable[[pa.Array], pa.Array]:
    """NULLs are left out."""

    def extreme(arrays: pa.ListArray) -> pa.Array:
        items = _taken(arrays, _places(arrays, is_least, "at_end")).flatten()
        return combined(items).take(array_of(list_ends(arrays)[:-1], pa.int64(), lengths(arrays) == 0))

    return extreme


def _element_rule(arguments: Arguments) -> tuple[Arguments, Type]:
    coerced, _ = of_array(None)(arguments)
    return coerced, element_of(coerced[0])


FUNCTIONS = (
    Function(("array_sort", "list_sort"), "an array", of_array(None), plain(_sort)),
    Function(("sort_array",), "an array, and perhaps FALSE", of_array(None, BOOLEAN, optional=1), parameterized(_sort_by)),
    Function(("array_distinct", "list_distinct"), "an array", of_array(None), plain(_distinct)),
    Function(("array_reverse", "list_reverse"), "an array", of_array(None), plain(_reverse)),
    Function(("array_min", "list_min"), "an array", _element_rule, plain(_extreme(True))),
    Function(("array_max", "list_max"), "an array", _element_rule, plain(_extreme(False))),
)
