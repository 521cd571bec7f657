"""Instants: the net change at each one, and the order of its rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sash.kernels.bundles import Line, SignedChanges, opened
from sash.kernels.compiling import inlined, kernel
from sash.kernels.hashing import HALF, equal_lanes, hash_lanes, tag_of
from sash.kernels.ordering import RowOrder, SortRoom, order_of, sort_rows
from sash.kernels.rows import copy_row

Int64s = npt.NDArray[np.int64]

FEW = 8  # rows of an instant that are compared one by one


class Netting(NamedTuple):
    """`lanes` are all of a row. `table` is empty, with room for twice the longest instant; it comes back empty."""

    lanes: Line
    order: RowOrder
    table: Line
    room: SortRoom


open_netting = opened(Netting)


@kernel
def longest_instant(ts: Int64s) -> int:
    longest, start = 0, 0
    for i in range(1, len(ts) + 1):
        if i == len(ts) or ts[i] != ts[start]:
            longest, start = max(longest, i - start), i
    return longest


@inlined
def _end_of(ts: Int64s, start: int) -> int:
    stop = start + 1
    while stop < len(ts) and ts[stop] == ts[start]:
        stop += 1
    return stop


@kernel
def net_changes(
    rows: Int64s, ts: Int64s, weight: Int64s, lanes: Int64s, table: Int64s, places: Int64s, net: Int64s
) -> int:
    """Where the first of each group of equal rows of an instant lies, and their weights together; zeros are left out.

    `table` is empty and has room for twice the longest instant; it comes back empty.
    """
    n, start = 0, 0
    while start < len(ts):
        stop = _end_of(ts, start)
        n = _net_instant(rows, start, stop, weight, lanes, table, places, net, n)
        start = stop
    return n


@kernel
def _net_instant(
    rows: Int64s, start: int, stop: int, weight: Int64s, lanes: Int64s, table: Int64s, places: Int64s, net: Int64s, n: int
) -> int:
    """The same for one instant, written from `n` on; the answer is where that ends."""
    if stop - start <= FEW:
        _add_up_few(rows, start, stop, weight, lanes, places, net, n)
    else:
        _add_up(rows, start, stop, weight, lanes, table, places, net, n)
    for k in range(n, n + stop - start):
        if net[k]:
            places[n], net[n] = places[k], net[k]
            n += 1
    return n


@inlined
def _add_up_few(
    rows: Int64s, start: int, stop: int, weight: Int64s, lanes: Int64s, places: Int64s, net: Int64s, n: int
) -> None:
    """Compare each row with those before it; its weight goes to the first equal one."""
    for i in range(start, stop):
        other = start
        while other < i and not equal_lanes(rows, i, lanes, rows, other, lanes):
            other += 1
        places[n + i - start] = i
        net[n + i - start] = 0
        net[n + other - start] += weight[i]


@inlined
def _add_up(
    rows: Int64s, start: int, stop: int, weight: Int64s, lanes: Int64s, table: Int64s, places: Int64s, net: Int64s, n: int
) -> None:
    """The same by hash. Entries of the table are rows of the instant, counted from 1."""
    first, last = n - start, len(table) - 1
    for i in range(start, stop):
        tag = tag_of(hash_lanes(rows, i, lanes))
        slot = tag & last
        other = start + (table[slot] & HALF) - 1
        while table[slot] and not ((table[slot] >> 32) & HALF == tag and equal_lanes(rows, i, lanes, rows, other, lanes)):
            slot = (slot + 1) & last
            other = start + (table[slot] & HALF) - 1
        if table[slot] == 0:
            table[slot] = (tag << 32) | (i - start + 1)
            other = i
        places[first + i] = slot
        net[first + i] = 0
        net[first + other] += weight[i]
    for i in range(start, stop):
        table[places[first + i]] = 0
        places[first + i] = i


@inlined
def _leaving_first(count: int, room: SortRoom) -> tuple[int, int]:
    """What leaves before what comes, without the zeros, else in the order it has; the answer is how many leave, and are left."""
    places, net, spare_places, spare_net = room.places, room.net, room.spare_places, room.spare_net
    are_alike = True
    for k in range(count):
        are_alike &= net[0] * net[k] > 0
    if are_alike:
        return count if net[0] < 0 else 0, count
    n, leaving = 0, 0
    for sign in (-1, 1):
        for k in range(count):
            if net[k] * sign > 0:
                spare_places[n], spare_net[n] = places[k], net[k]
                n += 1
        leaving = n if sign < 0 else leaving
    for k in range(n):
        places[k], net[k] = spare_places[k], spare_net[k]
    return leaving, n


@inlined
def _settle_few(rows: Int64s, start: int, stop: int, weight: Int64s, order_of_rows: RowOrder, room: SortRoom) -> int:
    """Where the net changes of an instant lie, in order, and their weights: by insertion, equal rows are added up on the way;
    what leaves goes first then.
    """
    places, net, count = room.places, room.net, 0
    for i in range(start, stop):
        k, order = count, 1
        while k > 0:
            order = order_of(rows, places[k - 1], i, order_of_rows)
            if order <= 0:
                break
            k -= 1
        if k > 0 and order == 0:
            net[k - 1] += weight[i]
            continue
        for above in range(count, k, -1):
            places[above], net[above] = places[above - 1], net[above - 1]
        places[k], net[k] = i, weight[i]
        count += 1
    _, count = _leaving_first(count, room)
    return count


@inlined
def _sort_changes(rows: Int64s, count: int, order: RowOrder, room: SortRoom) -> int:
    """What leaves, then what comes, each by the full row; the answer is how many there are, without the zeros."""
    leaving, count = _leaving_first(count, room)
    for begin, end in ((0, leaving), (leaving, count)):
        sort_rows(rows, begin, end, order, room)
    return count


@inlined
def _is_settled(rows: Int64s, start: int, stop: int, weight: Int64s, lanes: Int64s) -> bool:
    """Most instants have one change or two, the old row of a group and its new one."""
    if stop - start == 1:
        return weight[start] != 0
    if stop - start == 2 and weight[start] < 0 and weight[start + 1] > 0:
        return not equal_lanes(rows, start, lanes, rows, start + 1, lanes)
    return False


@kernel
def find_unsettled(rows: Int64s, ts: Int64s, weight: Int64s, lanes: Int64s, begins: Int64s) -> tuple[int, int]:
    """Where the instants begin that may not be net, or not in order; how many there are, and the changes of the longest."""
    start, count, longest = 0, 0, 0
    while start < len(ts):
        stop = _end_of(ts, start)
        if not _is_settled(rows, start, stop, weight, lanes):
            begins[count] = start
            count += 1
            longest = max(longest, stop - start)
        start = stop
    return count, longest


@kernel
def longest_of(ts: Int64s, begins: Int64s) -> int:
    """As `longest_instant`, of those that begin at such places."""
    longest = 0
    for begin in begins:
        longest = max(longest, _end_of(ts, begin) - begin)
    return longest


@kernel
def order_instants(
    rows: Int64s, ts: Int64s, weight: Int64s, begins: Int64s, record: Int64s, spare_rows: Int64s
) -> None:
    """Put the instants that begin at such places in order, in place; they are net. There is room for the longest."""
    netting = open_netting(record)
    order, room, places, net = netting.order, netting.room, netting.room.places, netting.room.net
    for start in begins:
        stop = _end_of(ts, start)
        count = stop - start
        if count <= FEW:
            _settle_few(rows, start, stop, weight, order, room)
        else:
            for k in range(count):
                places[k], net[k] = start + k, weight[start + k]
            _sort_changes(rows, count, order, room)
        for k in range(count):
            copy_row(rows, places[k], spare_rows, k)
        for k in range(count):
            copy_row(spare_rows, k, rows, start + k)
            weight[start + k] = net[k]


@inlined
def _copy(changes: SignedChanges, start: int, stop: int, out: SignedChanges, n: int) -> int:
    """Changes as they are, written from `n` on; the answer is where they end."""
    for i in range(start, stop):
        copy_row(changes.rows, i, out.rows, n)
        out.ts[n], out.weight[n] = changes.ts[i], changes.weight[i]
        n += 1
    return n


@kernel
def settle_instants(
    rows: Int64s, ts: Int64s, weight: Int64s, begins: Int64s, record: Int64s, out_rows: Int64s, out_ts: Int64s,
    out_weight: Int64s,
) -> int:
    """Of the instants that begin at such places write only what they really changed, in order, all others as they are; the
    answer is how many changes there are then. There is room for the longest of these instants.
    """
    netting, changes, out = open_netting(record), SignedChanges(rows, ts, weight), SignedChanges(out_rows, out_ts, out_weight)
    order, room, places, net = netting.order, netting.room, netting.room.places, netting.room.net
    n, done = 0, 0
    for start in begins:
        n = _copy(changes, done, start, out, n)
        now, done = ts[start], _end_of(ts, start)
        if done - start <= FEW:
            count = _settle_few(rows, start, done, weight, order, room)
        else:
            count = _net_instant(rows, start, done, weight, netting.lanes, netting.table, places, net, 0)
            count = _sort_changes(rows, count, order, room)
        for k in range(count):
            copy_row(rows, places[k], out_rows, n)
            out_ts[n], out_weight[n] = now, net[k]
            n += 1
    return _copy(changes, done, len(ts), out, n)
