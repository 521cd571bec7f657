"""The values of one column in order, by key, for whoever wants figures of them.

Delta rule:  a value that comes or goes is put in order once for all taps; per instant and touched group, each tap takes back the
             row that it showed, and shows its new one, if they differ
State:       as of a GROUP BY with one set of ranks; the values beside every value; of every tap the row that each group shows
Output:      none; those of its taps are signed, net per instant

Where figures were found last (fingers) is no state: it is found again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sash.deltas import Delta, Int64s, forever
from sash.kernels.bundles import Bundle
from sash.operators.group_by.beginnings import ALWAYS, due, from_beginning
from sash.operators.group_by.groups import Groups
from sash.operators.group_by.kernels.registers import BEGUN, LAST, TOUCHED_GROUP
from sash.operators.group_by.tables import value_tables
from sash.operators.many_outputs import ManyOutputs, Past
from sash.operators.operator import OperatorContext
from sash.operators.shared_order.figures import Figures
from sash.operators.shared_order.kernels import records
from sash.operators.shared_order.kernels import taps as kernel
from sash.operators.shared_order.tap_rows import TapRows
from sash.schema import BEGINNING, FOREVER
from sash.stores.lanes import string_lanes

if TYPE_CHECKING:
    from sash.operators.group_by.spec import RankedGroupBySpec
    from sash.operators.shared_order.spec import SharedOrderSpec

MOST_ROOM = 1 << 16  # changes of taps that there is room for before they are handed out, where there need not be more


class SharedOrder(ManyOutputs["RankedGroupBySpec"]):
    """Keeps values in order, and tells its taps what they ask of it."""

    def __init__(self, spec: SharedOrderSpec, context: OperatorContext) -> None:
        super().__init__(spec.layout)
        self._spec, self._context = spec, context
        self._tables = value_tables(spec.input.layout, spec.layout, spec.keys, spec.column)
        self.groups = Groups(context.scope, self._tables, spec.layout.width)
        self._neighbours = context.scope.array("neighbours", (len(self.groups.nodes), 2))
        self._taps: dict[RankedGroupBySpec, TapRows] = {}
        self._new: list[RankedGroupBySpec] = []  # opened, and not run yet
        self._given: list[tuple[RankedGroupBySpec, Delta]] = []
        self._fingers = np.zeros((0, records.FIRST_FINGER), np.int64)
        self._work, self._widths = np.zeros(records.WORK, np.int64), np.zeros(0, np.int64)
        self._changes, self._lanes = np.empty((0, records.CHANGE_FIELDS), np.int64), np.empty(0, np.int64)
        figures, found = np.zeros((0, records.FIGURE_FIELDS), np.int64), np.zeros((0, records.FOUND_FIELDS), np.int64)
        self._bundle = Bundle(
            records.Order, self._tables.bundle(spec.layout.width), self.groups.bundle, context.interner.bundle, self._neighbours,
            figures, self._fingers, found, self._records(), self._work,
        )
        codes = string_lanes(spec.layout)
        keys = codes[codes < spec.layout.lanes[-1]]
        context.interner.hold(lambda: (self.groups.lines, keys))

    @property
    def kept(self) -> int:
        return self.groups.live_groups + self.groups.live_values

    def due(self) -> int:
        return FOREVER if self._spec.keys else due(self.groups.registers)

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        self.begin()
        (delta,), shown_from = inputs, ALWAYS
        if not self._spec.keys:
            delta, shown_from = from_beginning(delta, now, begin, self.groups.registers, self._spec.input.layout)
        self._given = self._figures_of(delta, shown_from) if len(delta) else []
        return self.nothing

    def given(self) -> Sequence[tuple[RankedGroupBySpec, Delta]]:
        return self._given

    def _figures_of(self, delta: Delta, shown_from: int) -> list[tuple[RankedGroupBySpec, Delta]]:
        found: dict[RankedGroupBySpec, list[Delta]] = {}
        tags, row = np.empty(len(delta), np.int64), 0
        self._reserve(2 * len(delta))
        while True:
            row = kernel.order_rows(
                delta.rows, delta.ts, delta.weight, row, shown_from, self._bundle.record, tags, self._changes, self._lanes
            )
            self._take(found)
            if row == len(delta) and self.groups.registers[TOUCHED_GROUP] == LAST:
                return [(tap, self._in_order(tap, parts)) for tap, parts in found.items()]
            if self.groups.grow():
                self._follow()

    def _take(self, found: dict[RankedGroupBySpec, list[Delta]]) -> None:
        """What taps gave, out of the room that they share."""
        written = self._work.item(records.WRITTEN)
        if not written:
            return
        counts = np.zeros(len(self._taps), np.int64)
        kernel.count_by_tap(written, self._changes, counts)
        ends, lane_ends = np.cumsum(counts), np.cumsum(counts * self._widths)
        lanes, (ts, weight) = np.empty(lane_ends[-1], np.int64), np.empty((2, written), np.int64)
        kernel.hand_out(
            written, self._changes, self._lanes, self._widths, ends - counts, lane_ends - counts * self._widths, lanes, ts, weight
        )
        self._work[:] = 0
        stops, lane_stops, at, lane_at = ends.tolist(), lane_ends.tolist(), 0, 0
        for tap, stop, lane_stop in zip(self._taps, stops, lane_stops, strict=True):
            if stop > at:
                rows = lanes[lane_at:lane_stop].reshape(stop - at, tap.layout.width)
                found.setdefault(tap, []).append(Delta(rows, ts[at:stop], forever(stop - at), weight[at:stop]))
            at, lane_at = stop, lane_stop

    def _in_order(self, tap: RankedGroupBySpec, parts: list[Delta]) -> Delta:
        """Groups were written as they were touched: what leaves at an instant goes before what comes, by the full row."""
        delta = Delta.concatenate(parts, tap.layout.width)
        if self._spec.keys:
            crowded = np.empty(len(delta), np.int64)
            self._taps[tap].net.order(delta, crowded[: kernel.find_crowded(delta.ts, delta.weight, crowded)])
        delta.is_net = True
        return delta

    # Room.

    def _reserve(self, instants: int) -> None:
        """For the changes of so many rows, or at least for all that taps may give of one group."""
        taps, lanes = max(1, len(self._taps)), int(self._widths.sum())
        groups = max(1, min(instants, MOST_ROOM // (2 * taps)))
        if 2 * taps * groups > len(self._changes) or 2 * lanes * groups > len(self._lanes):
            self._changes = np.empty((2 * taps * groups, records.CHANGE_FIELDS), np.int64)
            self._lanes = np.empty(2 * lanes * groups, np.int64)

    def _follow(self) -> None:
        """There is room for more groups and values: beside them, too."""
        if len(self.groups.nodes) > len(self._neighbours):
            self._neighbours = self._context.scope.resize("neighbours", len(self.groups.nodes))
            self._bundle.replace(neighbours=self._neighbours)
        groups = len(self.groups.lines)
        if groups > len(self._fingers):
            more = np.zeros((groups - len(self._fingers), self._fingers.shape[1]), np.int64)
            self._fingers = np.concatenate([self._fingers, more])
            for rows in self._taps.values():
                rows.reserve(groups)
            self._bundle.replace(fingers=self._fingers, taps=self._records())

    def _records(self) -> Int64s:
        return np.array([rows.record for rows in self._taps.values()], np.int64).reshape(len(self._taps), TapRows.WORDS)

    # Taps come and go.

    def open(self, tap: RankedGroupBySpec) -> None:
        self._new.append(tap)

    def begin(self) -> None:
        if not self._new:
            return
        new, self._new, groups = self._new, [], len(self.groups.lines)
        for tap in new:
            self._taps[tap] = TapRows(tap, self._context.scope.scope(tap.fingerprint), self._context.interner, groups)
        self._aim()
        if self._spec.keys or self.groups.registers[BEGUN]:
            for number, (tap, rows) in enumerate(self._taps.items()):
                if tap in new and rows.is_new:
                    kernel.show_all(number, self._bundle.record)

    def close(self, tap: RankedGroupBySpec) -> None:
        self.begin()
        self._taps.pop(tap).drop()
        self._aim()

    def release(self) -> None:
        """What it holds of strings is held in its own name, which the graph releases."""

    def past(self) -> Past:
        """Whatever a tap needs is here already."""
        return Past((), BEGINNING)

    def recall(self, past: Past) -> None:
        self.begin()

    def has_all_of(self, tap: RankedGroupBySpec) -> bool:
        return True

    def begin_at(self, reached: int) -> None:
        self.begin()

    def shown_by(self, tap: RankedGroupBySpec) -> Int64s:
        return self._taps[tap].shown

    def kept_by(self, tap: RankedGroupBySpec) -> int:
        return self.kept

    def _aim(self) -> None:
        """Find figures for the taps that are here, from now on."""
        figures, groups = Figures(self._taps), len(self.groups.lines)
        for tap, rows in self._taps.items():
            rows.reserve(groups)
            rows.read(figures.columns(tap))
        self._widths = np.array([tap.layout.width for tap in self._taps], np.int64)
        self._fingers = np.zeros((groups, records.FIRST_FINGER + records.FINGER_FIELDS * len(figures)), np.int64)
        found = np.zeros((len(figures), records.FOUND_FIELDS), np.int64)
        self._bundle.replace(figures=figures.lines, fingers=self._fingers, found=found, taps=self._records())
