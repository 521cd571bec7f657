"""GROUP BY over a signed input.

Delta rule:  per instant and touched group, minus the row it showed, plus its new one; nothing if they are equal
State:       per group: counts and exact sums, a heap of values for every MIN and MAX, the row it shows
Output:      signed; a group leaves with its last row; without keys there is one row from the beginning on, for good
"""

from __future__ import annotations

import numpy as np

from sash.deltas import Delta
from sash.kernels.group_by import group_rows
from sash.kernels.group_registers import BEGUN
from sash.kernels.rounding import SCRATCH
from sash.physical.group_by import GroupBySpec
from sash.schema import FOREVER
from sash.state.arena import Scope
from sash.state.groups import Groups
from sash.state.interner import Interner
from sash.state.lanes import string_lanes

ALWAYS = -(2**63)


class GroupBy:
    """Keep one output row for every group of equal keys."""

    def __init__(self, spec: GroupBySpec, scope: Scope, interner: Interner) -> None:
        self.spec = spec
        self.groups = Groups(scope, spec.tables, spec.output.width)
        self._interner = interner
        self._key = np.zeros((1, spec.output.width), np.int64)
        self._limbs = np.zeros(SCRATCH, np.int64)
        codes = string_lanes(spec.output)
        if len(codes):
            interner.hold(lambda: (self.groups.lines, codes))
        if spec.tables.string_extremes:
            interner.hold(self.groups.string_values)

    def run(self, delta: Delta, now: int, begin: int | None) -> Delta:
        """The changes of the output before `now`. `begin` is the instant of the first row of any stream, once known."""
        shown_from = ALWAYS
        if not self.spec.keys and not self.groups.registers[BEGUN]:
            shown_from = FOREVER
            if begin is not None and begin < now:
                shown_from = begin
                delta = _with_beginning(delta, begin, self.spec)
                self.groups.registers[BEGUN] = 1
        return self._changes(delta, shown_from) if len(delta) else Delta.empty(self.spec.output.width)

    def _changes(self, delta: Delta, shown_from: int) -> Delta:
        rows = np.empty((2 * len(delta), self.spec.output.width), np.int64)
        ts, weight = np.empty(2 * len(delta), np.int64), np.empty(2 * len(delta), np.int64)
        self.groups.widen(delta.rows, delta.weight)
        tables, interner = self.spec.tables, self._interner
        place, at = 0, 0
        while True:
            groups = self.groups
            place, at = group_rows(
                delta.rows, delta.ts, delta.weight, place, shown_from, tables.keys, tables.key_bits, tables.feeds,
                tables.calls, tables.extremes, groups.ranges, groups.registers, groups.table, groups.cells,
                groups.lines, groups.nodes, groups.node_table, interner.starts, interner.lengths, interner.heap, rows,
                ts, weight, at, self._key, self._limbs,
            )
            if place == len(delta):
                return Delta(rows[:at], ts[:at], np.full(at, FOREVER, np.int64), weight[:at])
            self.groups.grow()


def _with_beginning(delta: Delta, begin: int, spec: GroupBySpec) -> Delta:
    """A row of NULLs and no weight at the beginning: it changes nothing, but the one group is there."""
    row = np.zeros((1, spec.layout.width), np.int64)
    row[0, spec.layout.values :] = -1
    stamp = np.array([begin], np.int64)
    nothing = Delta(row, stamp, np.array([FOREVER], np.int64), np.zeros(1, np.int64))
    before, after = delta.split(begin)
    return Delta.concatenate([before, nothing, after], spec.layout.width)
