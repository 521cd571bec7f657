"""GROUP BY of counts, sums, least and greatest numbers over rows that leave in the order they came.

Delta rule:  as GroupBy over Expire: per instant and touched group, minus the row it showed, plus its new one
State:       per group its cells and key; per live row the number of its group and what it added
Output:      signed, net per instant
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sash.deltas import Delta, Int64s
from sash.kernels.bundles import Bundle
from sash.operators.group_by.kernels.sliding_shapes import kernel_for
from sash.operators.group_by.kernels.sliding_sums import CROWDED, SlidingGrouping, count_leaving
from sash.operators.group_by.sliding_groups import SlidingGroups
from sash.operators.group_by.tables import group_tables
from sash.operators.net_changes import NetChanges
from sash.operators.operator import Operator, OperatorContext
from sash.stores.lanes import string_lanes

if TYPE_CHECKING:
    from sash.operators.group_by.spec import SlidingGroupBySpec

SLICE = 1 << 14  # rows for which room is made at once


class SlidingSums(Operator):
    """Keep one output row for every group of equal keys."""

    def __init__(self, spec: SlidingGroupBySpec, context: OperatorContext) -> None:
        super().__init__(spec.layout)
        tables = group_tables(spec)
        self.groups = SlidingGroups(context.scope, tables, self.layout.width)
        self._net = NetChanges(spec.layout, context.interner)
        self._bundle = Bundle(SlidingGrouping, tables.bundle(self.layout.width), self.groups.bundle)
        self._due: int | None = self.groups.first_to_leave
        self._slide_rows = kernel_for(self._bundle, self.layout.width, self.groups.row_at)
        codes = string_lanes(self.layout)
        context.interner.hold(lambda: (self.groups.shown, codes))

    @property
    def kept(self) -> int:
        return self.groups.live_rows

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        (delta,) = inputs
        leaving = count_leaving(delta.expiry, now, self.groups.registers, self.groups.ring)
        out = Delta.room(2 * (len(delta.ts) + leaving), self.layout.width)
        count = self._slide(delta, now, out) if len(delta.ts) <= SLICE else self._slide_parts(delta, now, out)
        self._due = self.groups.first_to_leave
        if count == len(out.ts):
            out.is_net = True
            return out
        return Delta(out.rows[:count], out.ts[:count], out.expiry[:count], out.weight[:count], True)

    @property
    def record(self) -> Int64s:
        """Where all its arrays are, for a kernel that runs many like it."""
        return self._bundle.record

    def give_over(self) -> None:
        """Somebody else lets rows come and go from now on (`filtered_groups/`), with `order` and `groups.make_room`."""
        self._due = None

    def take_over(self) -> None:
        """Nobody else does any more."""
        self._due = self.groups.first_to_leave
        self.groups.count_room()

    def order(self, changes: Delta, crowded: Int64s) -> None:
        """Put instants at which several groups changed in order."""
        self._net.order(changes, crowded)

    def shown(self) -> Int64s:
        return self.groups.shown

    def due(self) -> int:
        return self.groups.first_to_leave if self._due is None else self._due

    def _slide_parts(self, delta: Delta, now: int, out: Delta) -> int:
        count = 0
        while len(delta) > SLICE:
            part, rest = delta.split(int(delta.ts[SLICE]))
            if not len(part):
                break  # one instant with more rows than a slice
            count += self._slide(part, int(rest.ts[0]), out.slice(count, len(out)))
            delta = rest
        return count + self._slide(delta, now, out.slice(count, len(out)))

    def _slide(self, delta: Delta, now: int, out: Delta) -> int:
        came = len(delta.ts)
        groups, tags, crowded = self.groups, np.empty(came, np.int64), np.empty(len(out.ts) // 2, np.int64)
        groups.reserve(came)
        count = self._slide_rows(
            delta.rows, delta.ts, delta.expiry, delta.weight, now, groups.row_at, self._bundle.record, tags, out.rows, out.ts,
            out.weight, crowded,
        )
        if crowds := groups.registers.item(CROWDED):
            self.order(out.slice(0, count), crowded[:crowds])
        return count
