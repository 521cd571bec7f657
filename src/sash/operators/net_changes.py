"""Net changes: what an instant really changed.

Per instant, equal rows are added up and zeros left out; what leaves comes first, each part in the order of the row.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sash.deltas import MASK_BITS, Delta, Int64s, Layout
from sash.kernels import instants as kernel
from sash.kernels.bundles import Bundle
from sash.kernels.instants import FEW
from sash.kernels.ordering import BUCKETS, BYTES, MANY, RowOrder, SortRoom
from sash.kernels.rows import BY_DOUBLE, BY_INTEGER, BY_STRING, BY_WIDE_DECIMAL
from sash.schema import Kind, Type
from sash.stores.interner import Interner

LARGE, MUCH = 1 << 16, 16  # room for changes that is not kept for instants that need less than so many times as much
CHUNK = 1 << 13  # rows whose table fits into a near cache


class NetChanges:
    """Adds up and orders signed changes."""

    def __init__(self, layout: Layout, interner: Interner, first: tuple[int, ...] = ()) -> None:
        """The order of the row is that of its columns, one after the other; some may go `first`."""
        self._lanes = np.arange(layout.width, dtype=np.int64)
        orders, plain = column_orders(layout), plain_lanes(layout)
        if first:
            rest = [column for column in range(len(layout.schema)) if column not in first]
            orders, plain = orders[[*first, *rest]], np.zeros_like(plain)
        self._room, room = FEW, Bundle(SortRoom, *_room(FEW))
        order = Bundle(RowOrder, orders, plain, interner.bundle)
        self._bundle = Bundle(kernel.Netting, self._lanes, order, _table(FEW), room)

    def per_instant(self, delta: Delta) -> Delta:
        """What every instant really changed."""
        if delta.is_net:
            return delta
        begins = np.empty(len(delta), np.int64)
        count, longest = kernel.find_unsettled(delta.rows, delta.ts, delta.weight, self._lanes, begins)
        if not count:
            return replace(delta, is_net=True)
        self._reserve(longest)
        out = Delta.room(len(delta), len(self._lanes))
        count = kernel.settle_instants(
            delta.rows, delta.ts, delta.weight, begins[:count], self._bundle.record, out.rows, out.ts, out.weight
        )
        return replace(out.slice(0, count), is_net=True)

    def order(self, delta: Delta, begins: Int64s) -> None:
        """Put instants that are net already in order, in the arrays of the delta itself: those that begin at such places."""
        if not len(begins):
            return
        longest = kernel.longest_of(delta.ts, begins)
        self._reserve(longest)
        spare = np.empty((longest, len(self._lanes)), np.int64)
        kernel.order_instants(delta.rows, delta.ts, delta.weight, begins, self._bundle.record, spare)

    def _reserve(self, longest: int) -> None:
        """Room for so long an instant; what was made for a much longer one is given back."""
        if longest > self._room or self._room > max(LARGE, MUCH * longest):
            self._room = max(FEW, 1 << (longest - 1).bit_length())
            self._bundle.replace(table=_table(self._room), room=Bundle(SortRoom, *_room(self._room)))

    def over_all(self, delta: Delta) -> Delta:
        """What all instants together changed, in no order. Most rows come and go soon: first chunk by chunk, then the rest."""
        for size in (CHUNK, max(1, len(delta))):
            places, net = self._add_up(delta, np.arange(len(delta)) // size)
            delta = Delta(delta.rows[places], delta.ts[places], delta.expiry[places], net)
        return delta

    def _add_up(self, delta: Delta, groups: Int64s) -> tuple[Int64s, Int64s]:
        places, net = np.empty(len(delta), np.int64), np.empty(len(delta), np.int64)
        table = _table(kernel.longest_instant(groups))
        count = kernel.net_changes(delta.rows, groups, delta.weight, self._lanes, table, places, net)
        return places[:count], net[:count]


def _table(entries: int) -> Int64s:
    return np.zeros(1 << (2 * entries).bit_length(), np.int64)


def _room(longest: int) -> tuple[Int64s, ...]:
    """To sort an instant with so many changes."""
    return *np.empty((6, longest), np.int64), np.empty(BYTES * BUCKETS if longest >= MANY else 0, np.int64)


def net_in_order(delta: Delta) -> Delta:
    """What every instant really changed: what leaves, then what comes, in the order in which it came.

    Of equal rows that come at an instant at which others leave, the first take the places of those.
    """
    if len(delta) < 2 or bool((np.diff(delta.ts) > 0).all()):
        return delta
    lines = np.ascontiguousarray(np.column_stack([delta.ts, delta.rows]))
    whole = lines.view(np.dtype((np.void, lines.dtype.itemsize * lines.shape[1]))).ravel()
    _, first, group = np.unique(whole, return_index=True, return_inverse=True)
    net = np.zeros(len(first), np.int64)
    np.add.at(net, group, delta.weight)
    gone = np.flatnonzero(net < 0)
    places = np.concatenate([first[gone], np.arange(len(delta))])
    weight = np.concatenate([net[gone], _last_copies(delta.weight, group, net)])
    order = np.lexsort((places, weight > 0, delta.ts[places]))
    order = order[weight[order] != 0]
    taken = delta.take(places[order])
    return Delta(taken.rows, taken.ts, taken.expiry, weight[order])


def _last_copies(weight: Int64s, group: Int64s, net: Int64s) -> Int64s:
    """How many units of every change count, if of each group only the last ones do, as many as it has net."""
    comes = np.maximum(weight, 0)
    by_group = np.lexsort((-np.arange(len(weight)), group))  # the last one of a group first
    units = comes[by_group]
    total = np.cumsum(units)
    begins = np.flatnonzero(np.diff(group[by_group], prepend=-1))
    before = total - units - np.repeat((total - units)[begins], np.diff(begins, append=len(units)))
    counts = np.zeros(len(weight), np.int64)
    counts[by_group] = np.clip(net[group[by_group]] - before, 0, units)
    return counts


def repeat(delta: Delta, times: Int64s) -> Delta:
    """Every change so many times, each with the weight one of its sign."""
    if (times == 1).all():
        return Delta(delta.rows, delta.ts, delta.expiry, np.sign(delta.weight))
    places = np.repeat(np.arange(len(delta)), times)
    return Delta(delta.rows[places], delta.ts[places], delta.expiry[places], np.sign(delta.weight[places]))


def column_orders(layout: Layout) -> Int64s:
    """How each column is ordered: what `compare_rows` wants to know."""
    lines = [
        (_order(type_), layout.lanes[place], *layout.mask(place)) for place, type_ in enumerate(layout.schema.types)
    ]
    return np.array(lines, np.int64).reshape(len(lines), 4)


def plain_lanes(layout: Layout) -> Int64s:
    """Which lanes decide the order of two rows as integers, if they are the first that differ and nothing is NULL."""
    plain = np.zeros(layout.width, np.int64)
    if len(layout.schema) <= MASK_BITS:
        for place, type_ in enumerate(layout.schema.types):
            plain[layout.lanes[place]] = _order(type_) == BY_INTEGER
    return plain


def _order(type_: Type) -> int:
    if type_.lanes == 2:
        return BY_WIDE_DECIMAL
    if type_.is_interned:
        return BY_STRING
    return BY_DOUBLE if type_.kind is Kind.DOUBLE else BY_INTEGER
