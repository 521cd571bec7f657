"""Prefetching: fetch a line of memory before it is needed.

A row's way through a table is a chain of places that are far apart: slot, line. A loop that knows its rows ahead asks for those
places some rows before it gets there, so that a large window costs little more than a small one.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from sash.deltas import Int64s
from sash.kernels.compiling import inlined, kernel
from sash.kernels.hashing import HALF, hash_lanes, tag_of

NEXT, NEAR, FAR = 6, 12, 18  # rows ahead: what follows the line of a row, the line, its slot in the table

_WORD, _BYTE, _NUMBER = ir.IntType(64), ir.IntType(8), ir.IntType(32)


@intrinsic
def prefetch(typing: Any, array: Any, index: Any) -> Any:
    """Ask for element `index` of the first dimension; no index is wrong. Of a line it asks for both ends: few are longer than two
    lines of the cache.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        parts = context.make_array(kind)(context, builder, arguments[0])
        stride = cgutils.unpack_tuple(builder, parts.strides, kind.ndim)[0]
        first = builder.add(builder.ptrtoint(parts.data, _WORD), builder.mul(arguments[1], stride))
        places = [first, builder.add(first, builder.sub(stride, _WORD(8)))][: kind.ndim]
        pointer = _BYTE.as_pointer()
        form = ir.FunctionType(ir.VoidType(), [pointer, _NUMBER, _NUMBER, _NUMBER])
        function = cgutils.get_or_insert_function(builder.module, form, "llvm.prefetch.p0i8")
        for place in places:  # to be read, kept in the nearest cache, data
            builder.call(function, [builder.inttoptr(place, pointer), _NUMBER(0), _NUMBER(3), _NUMBER(1)])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


@kernel
def tag_rows(rows: Int64s, lanes: Int64s, tags: Int64s) -> None:
    """The tag of every row, by which a table is searched."""
    for i in range(len(rows)):
        tags[i] = tag_of(hash_lanes(rows, i, lanes))


@inlined
def look_ahead(tags: Int64s, i: int, table: Int64s, lines: Int64s) -> None:
    """Ask for what the rows after row i will need: soon a line whose id less one is its place, later a slot of the table."""
    last = len(table) - 1
    if i + FAR < len(tags):
        prefetch(table, tags[i + FAR] & last)
        prefetch(lines, (table[tags[i + NEAR] & last] & HALF) - 1)
