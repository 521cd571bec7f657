"""The order of rows: by the full row, column by column.

Many rows are first sorted by their first lane, where that is an integer: byte by byte, the lowest first, each time keeping the
order they had. Most rows differ there; those that do not, and few rows, are sorted by merging, where the first lane that differs
decides.
"""

from __future__ import annotations

from typing import NamedTuple

from sash.deltas import Int64s
from sash.kernels.bundles import Line, Lines
from sash.kernels.compiling import inlined, kernel
from sash.kernels.exact_sum import SIGN
from sash.kernels.rows import compare_rows
from sash.kernels.strings import Strings

MANY = 96  # rows from which on sorting by bytes pays
BYTES, BUCKETS = 8, 256


class RowOrder(NamedTuple):
    """How each column is ordered, and which lanes decide as integers where nothing is NULL."""

    orders: Lines
    plain: Line
    strings: Strings


class SortRoom(NamedTuple):
    """Where rows lie, their weights, and room to sort them: as much for both, for the first lanes of rows, and for counts."""

    places: Line
    net: Line
    spare_places: Line
    spare_net: Line
    heads: Line
    spare_heads: Line
    buckets: Line


@inlined
def order_of(rows: Int64s, i: int, j: int, order: RowOrder) -> int:
    """The order of two rows; the first lane that differs mostly tells."""
    lane, last = 0, rows.shape[1] - 1
    while lane <= last and rows[i, lane] == rows[j, lane]:
        lane += 1
    if lane > last:
        return 0
    if order.plain[lane] and rows[i, last] == 0 and rows[j, last] == 0:
        return -1 if rows[i, lane] < rows[j, lane] else 1
    return compare_rows(rows, i, rows, j, order.orders, order.strings.starts, order.strings.lengths, order.strings.heap)


@kernel
def sort_rows(rows: Int64s, begin: int, end: int, order: RowOrder, room: SortRoom) -> None:
    """Sort the entries from `begin` to `end` of places and weights."""
    if end - begin >= MANY and _has_plain_heads(rows, begin, end, room.places, order.plain):
        _sort_by_bytes(rows, begin, end, room)
        first, heads = begin, room.heads
        for k in range(begin + 1, end + 1):
            if k == end or heads[k] != heads[first]:
                if k - first > 1:
                    _merge_all(rows, first, k, order, room)
                first = k
    else:
        _merge_all(rows, begin, end, order, room)


@inlined
def _has_plain_heads(rows: Int64s, begin: int, end: int, places: Int64s, plain: Int64s) -> bool:
    """Whether the first lane of all these rows is an integer that is not NULL; `plain` is not said where masks have two lanes."""
    nulls, last = 0, rows.shape[1] - 1
    for k in range(begin, end):
        nulls |= rows[places[k], last]
    return plain[0] != 0 and nulls == 0


@kernel
def _sort_by_bytes(rows: Int64s, begin: int, end: int, room: SortRoom) -> None:
    """`heads` comes back sorted, and `places` and `net` with it."""
    places, net, heads, buckets = room.places, room.net, room.heads, room.buckets
    spare_places, spare_net, spare_heads = room.spare_places, room.spare_net, room.spare_heads
    for k in range(len(buckets)):
        buckets[k] = 0
    for k in range(begin, end):
        heads[k] = rows[places[k], 0] ^ SIGN
        for byte in range(BYTES):
            buckets[byte * BUCKETS + (heads[k] >> 8 * byte & 255)] += 1
    for byte in range(BYTES):
        if buckets[byte * BUCKETS + (heads[begin] >> 8 * byte & 255)] == end - begin:
            continue  # they all have this one
        place = begin
        for bucket in range(byte * BUCKETS, (byte + 1) * BUCKETS):
            place, buckets[bucket] = place + buckets[bucket], place
        for k in range(begin, end):
            bucket = byte * BUCKETS + (heads[k] >> 8 * byte & 255)
            to = buckets[bucket]
            buckets[bucket] += 1
            spare_heads[to], spare_places[to], spare_net[to] = heads[k], places[k], net[k]
        for k in range(begin, end):
            heads[k], places[k], net[k] = spare_heads[k], spare_places[k], spare_net[k]


@kernel
def _merge_all(rows: Int64s, begin: int, end: int, order: RowOrder, room: SortRoom) -> None:
    places, net, spare_places, spare_net = room.places, room.net, room.spare_places, room.spare_net
    width = 1
    while width < end - begin:
        for left in range(begin, end, 2 * width):
            middle, right = min(left + width, end), min(left + 2 * width, end)
            i, j = left, middle
            for k in range(left, right):
                takes_left = j >= right or (i < middle and order_of(rows, places[i], places[j], order) <= 0)
                from_ = i if takes_left else j
                spare_places[k], spare_net[k] = places[from_], net[from_]
                if takes_left:
                    i += 1
                else:
                    j += 1
        for k in range(begin, end):
            places[k], net[k] = spare_places[k], spare_net[k]
        width *= 2
