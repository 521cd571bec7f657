"""GROUP BY over a signed input.

Delta rule:  per instant and touched group, minus the row it showed, plus its new one; nothing if they are equal
State:       per group: counts and exact sums, distinct values in heaps, trees and sets, the row it shows
Output:      signed; a group leaves with its last row; without keys there is one row from the beginning on, for good
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sash.deltas import Delta
from sash.kernels.bundles import Bundle
from sash.operators.group_by.beginnings import ALWAYS, due, from_beginning
from sash.operators.group_by.groups import Groups
from sash.operators.group_by.kernels.groups import Grouping, group_rows
from sash.operators.group_by.kernels.registers import LAST, TOUCHED_GROUP
from sash.operators.group_by.new_texts import NewTexts
from sash.operators.group_by.opcodes import CALL_LANE
from sash.operators.group_by.tables import group_tables
from sash.operators.group_by.user_calls import UserCall
from sash.operators.operator import Operator, OperatorContext
from sash.plan.aggregates import Function
from sash.schema import FOREVER
from sash.stores.lanes import string_lanes

if TYPE_CHECKING:
    from sash.operators.group_by.spec import GroupBySpec


class GroupBy(Operator):
    """Keep one output row for every group of equal keys."""

    def __init__(self, spec: GroupBySpec, context: OperatorContext) -> None:
        super().__init__(spec.layout)
        self.spec = spec
        self._tables = group_tables(spec)
        self.groups = Groups(context.scope, self._tables, self.layout.width)
        self._interner = interner = context.interner
        self._users = {
            place: UserCall(call, self._tables.calls[place], context)
            for place, call in enumerate(spec.calls) if call.function is Function.USER
        }
        self._texts = NewTexts(self._tables, self._users)
        facts = self._tables.bundle(self.layout.width)
        self._bundle = Bundle(Grouping, facts, self.groups.bundle, interner.bundle, self._texts.bundle)
        codes = np.union1d(string_lanes(self.layout), self._tables.calls[list(self._users), CALL_LANE])
        interner.hold(lambda: (self.groups.lines, codes))
        interner.hold(self.groups.string_values)
        if self._tables.has_pairs:
            interner.hold(self.groups.strings_beside)

    @property
    def kept(self) -> int:
        return self.groups.live_groups + self.groups.live_values

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        (delta,) = inputs
        shown_from = ALWAYS
        if not self.spec.keys:
            delta, shown_from = from_beginning(delta, now, begin, self.groups.registers, self.spec.input.layout)
        return self._changes(delta, shown_from) if len(delta) else self.nothing

    def due(self) -> int:
        return FOREVER if self.spec.keys else due(self.groups.registers)

    def _changes(self, delta: Delta, shown_from: int) -> Delta:
        out = Delta.room(2 * len(delta), self.layout.width)
        self.groups.widen(delta.rows, delta.weight)
        for user in self._users.values():
            user.forget_empty(self.groups.cells)
        texts, groups = self._texts, self.groups
        texts.start()
        tags = np.empty(len(delta), np.int64)
        place, at = 0, 0
        while True:
            place, at = group_rows(
                delta.rows, delta.ts, delta.weight, place, shown_from, self._bundle.record, tags, out.rows, out.ts, out.weight, at
            )
            if place == len(delta) and groups.registers[TOUCHED_GROUP] == LAST:
                changes = texts.settled(out.slice(0, at), groups, self._interner)
                # One group: its row goes, and another comes. What users make of it is not known to be another.
                return changes if self.spec.keys or self._users else replace(changes, is_net=True)
            if not groups.grow():
                texts.grow()
