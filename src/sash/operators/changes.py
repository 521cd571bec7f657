"""Net changes: what an instant really changed.

Delta rule:  per instant, equal rows are added up and zeros left out; what leaves comes first, each part in the order of the row
State:       none
Output:      signed; Insertions gives only what comes, Deletions what goes, once for every unit of weight, as a stream
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sash.deltas import MASK_BITS, Delta, Int64s, Layout
from sash.kernels import instants as kernel
from sash.kernels.ordering import BUCKETS, BYTES
from sash.kernels.rows import BY_DOUBLE, BY_INTEGER, BY_STRING, BY_WIDE_DECIMAL
from sash.operators.base import Surroundings, Timeless
from sash.physical.specs import DeletionsSpec, InsertionsSpec
from sash.schema import Kind, Type
from sash.state.interner import Interner

CHUNK = 1 << 13  # rows whose table fits into a near cache


class NetChanges:
    """Adds up and orders signed changes."""

    def __init__(self, layout: Layout, interner: Interner) -> None:
        self._lanes = np.arange(layout.width, dtype=np.int64)
        self._orders, self._plain = column_orders(layout), plain_lanes(layout)
        self._interner = interner

    def per_instant(self, delta: Delta) -> Delta:
        """What every instant really changed."""
        if delta.is_net:
            return delta
        begins = np.empty(len(delta), np.int64)
        count, longest = kernel.find_unsettled(delta.rows, delta.ts, delta.weight, self._lanes, begins)
        if not count:
            return replace(delta, is_net=True)
        strings, out = self._interner, Delta.room(len(delta), len(self._lanes))
        count = kernel.settle_instants(
            delta.rows, delta.ts, delta.weight, begins[:count], self._lanes, self._orders, self._plain, strings.starts,
            strings.lengths, strings.heap, _table(longest), *_scratch(longest), out.rows, out.ts, out.weight,
        )
        return replace(out.slice(0, count), is_net=True)

    def order(self, delta: Delta, begins: Int64s) -> None:
        """Put instants that are net already in order, in the arrays of the delta itself: those that begin at such places."""
        if not len(begins):
            return
        strings, longest = self._interner, kernel.longest_of(delta.ts, begins)
        kernel.order_instants(
            delta.rows, delta.ts, delta.weight, begins, self._orders, self._plain, strings.starts, strings.lengths, strings.heap,
            *_scratch(longest), np.empty((longest, len(self._lanes)), np.int64),
        )

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


def _scratch(longest: int) -> tuple[Int64s, ...]:
    """To sort an instant with so many changes."""
    return *np.empty((6, longest), np.int64), np.empty(BYTES * BUCKETS, np.int64)


class Insertions(Timeless):
    """The rows that enter a relation, as a stream."""

    def __init__(self, spec: InsertionsSpec, surroundings: Surroundings) -> None:
        super().__init__(spec.layout)
        self._net = NetChanges(spec.layout, surroundings.interner)

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        net = self._net.per_instant(inputs[0])
        return repeat(net, np.maximum(net.weight, 0))


class Deletions(Timeless):
    """The rows that leave a relation, as a stream."""

    def __init__(self, spec: DeletionsSpec, surroundings: Surroundings) -> None:
        super().__init__(spec.layout)
        self._net = NetChanges(spec.layout, surroundings.interner)

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        net = self._net.per_instant(inputs[0])
        left = Delta(net.rows, net.ts, net.expiry, -net.weight)
        return repeat(left, np.maximum(left.weight, 0))


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
