"""Groups of the rows of a stream for whoever wants them over some windows that jump by time.

Delta rule:  a row is added to what its group has in its slice, once for all windows; at the end of a slide a window adds the
             parts of slices that come, takes off those that leave, and every group that was touched takes back the row it showed
State:       the parts of slices, as long as the longest window (`parts.py`); of every tap a line for each group (`tap_lines.py`)
Output:      none; those of its taps are signed, net per instant

Where a window begins in the ring of parts follows from how far all is done, so it is not kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sash.deltas import Delta, Int64s
from sash.kernels.bundles import Bundle
from sash.operators.group_by.kernels.sliding_sums import LIVE, TAIL, USED
from sash.operators.group_by.sliding_sums import SLICE
from sash.operators.many_outputs import ManyOutputs, Past
from sash.operators.operator import OperatorContext
from sash.operators.shared_groups.kernels import records
from sash.operators.shared_groups.kernels import taps as kernel
from sash.operators.shared_groups.parts import Parts, PastParts
from sash.operators.shared_groups.tap_lines import TapLines
from sash.schema import FOREVER

if TYPE_CHECKING:
    from sash.operators.group_by.spec import SlicedGroupBySpec
    from sash.operators.shared_groups.spec import SharedGroupsSpec

FIRST_ROOM, MOST_ROOM = 1 << 8, 1 << 16  # changes of taps that there is room for before they are taken: at first, and later


class SharedGroups(ManyOutputs["SlicedGroupBySpec"]):
    """Adds rows up in slices, and moves the windows of its taps over them."""

    def __init__(self, spec: SharedGroupsSpec, context: OperatorContext) -> None:
        super().__init__(spec.layout)
        self._spec, self._context = spec, context
        self._parts = Parts(spec, context.scope, context.interner)
        self._taps: dict[SlicedGroupBySpec, TapLines] = {}
        self._new: list[SlicedGroupBySpec] = []  # opened, and not run yet
        self._given: list[tuple[SlicedGroupBySpec, Delta]] = []
        self._records, self._cursors = np.zeros((0, TapLines.WORDS), np.int64), np.zeros((0, records.CURSORS), np.int64)
        self._work = np.zeros(records.WORK, np.int64)
        self._work[records.NEXT] = FOREVER
        self._bundle = Bundle(records.SharedGroups, self._parts.bundle, self._records, self._cursors, self._work)
        self._room(FIRST_ROOM, spec.layout.width)

    @property
    def kept(self) -> int:
        return len(self._parts)

    def due(self) -> int:
        self.begin()
        instant: int = self._work.item(records.NEXT)
        return instant

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        self.begin()
        (delta,) = inputs
        found: dict[SlicedGroupBySpec, list[Delta]] = {}
        while len(delta) > SLICE:
            part, rest = delta.split(int(delta.ts[SLICE]))
            if not len(part):
                break  # one instant with more rows than a slice
            self._slide(part, int(rest.ts[0]), found)
            delta = rest
        self._slide(delta, now, found)
        self._given = [(tap, Delta.concatenate(parts, tap.layout.width)) for tap, parts in found.items()]
        for _, given in self._given:
            given.is_net = True
        return self.nothing

    def given(self) -> Sequence[tuple[SlicedGroupBySpec, Delta]]:
        return self._given

    def _slide(self, delta: Delta, now: int, found: dict[SlicedGroupBySpec, list[Delta]]) -> None:
        if self._parts.widen(self._parts.layout.needed(delta.rows, delta.weight)):
            self._read_layout()
        self._parts.reserve(len(delta.ts))
        tags, self._work[records.ROW] = self._parts.tags(delta.rows), 0
        while not kernel.slide_shared(
            delta.rows, delta.ts, delta.weight, tags, now, self._bundle.record, self._instants, self._lanes, *self._changes
        ):
            self._take(found)
            self._make_room(self._work.item(records.TAP))
        self._take(found)

    def _take(self, found: dict[SlicedGroupBySpec, list[Delta]]) -> None:
        """What taps gave, out of the room that they share."""
        if not self._work[records.INSTANTS]:
            return
        taps = list(self._taps.items())
        for number in np.flatnonzero(self._cursors[:, records.GIVEN]).tolist():
            tap, lines = taps[number]
            found.setdefault(tap, []).append(self._gathered(number, lines))
        self._cursors[:, records.GIVEN] = 0
        self._work[[records.LANES, records.WRITTEN, records.INSTANTS]] = 0

    def _gathered(self, number: int, lines: TapLines) -> Delta:
        cursors = self._cursors
        out = Delta.room(cursors.item(number, records.GIVEN), lines.width)
        crowded = np.empty(len(out.ts), np.int64)
        crowds = kernel.gather(
            cursors.item(number, records.FIRST_GIVEN), lines.width, self._instants, self._lanes, *self._changes, out.rows, out.ts,
            out.weight, crowded,
        )
        if crowds:
            lines.net.order(out, crowded[:crowds])
        return out

    def _make_room(self, number: int) -> None:
        """For all that a tap may give at an instant."""
        tap, lines = list(self._taps.items())[number]
        lines.reserve(self._parts.registers.item(USED) + 1)
        self._records[number] = lines.record
        wanted = max(2 * self._parts.registers.item(LIVE), min(2 * len(self._instants), MOST_ROOM))
        if wanted > len(self._instants) or wanted * tap.layout.width > len(self._lanes):
            self._room(wanted, tap.layout.width)

    def _room(self, changes: int, width: int) -> None:
        """For so many changes of so many lanes, each at an instant of its own."""
        self._instants = np.zeros((changes, records.GIVEN_FIELDS), np.int64)
        self._lanes = np.empty(changes * width, np.int64)
        self._changes = np.empty(changes, np.int64), np.empty(changes, np.int64)

    # Taps come and go.

    def open(self, tap: SlicedGroupBySpec) -> None:
        self._new.append(tap)

    def begin(self) -> None:
        if not self._new:
            return
        new, self._new = self._new, []
        self._use([*self._taps, *new])
        self._add(new)

    def close(self, tap: SlicedGroupBySpec) -> None:
        self.begin()
        number = list(self._taps).index(tap)
        self._taps.pop(tap).drop()
        self._aim(np.delete(self._records, number, 0), np.delete(self._cursors, number, 0))
        self._use(self._taps)

    def release(self) -> None:
        """Its keys are held in its own name, which the graph releases."""

    def past(self) -> Past:
        self.begin()
        return self._parts.past()

    def recall(self, past: Past) -> None:
        assert isinstance(past, PastParts), "what others like it remember"
        new, self._new = self._new, []
        is_known = self._parts.layout.places.keys() >= {feed for tap in new for feed in TapLines.feeds(tap)}
        reach = max((sum(tap.window) for tap in new), default=0)
        self._parts.go_on(past.reached)
        if not is_known or all(tap.window[0] < reach for tap in self._taps):
            self._use([*self._taps, *new])
            before = self._parts.layout
            self._parts.recall(past)
            if self._parts.layout is not before:
                self._read_layout()
        if new:
            self._add(new)

    def has_all_of(self, tap: SlicedGroupBySpec) -> bool:
        """Parts have all that it wants, of a window that is longer."""
        self.begin()
        is_known = self._parts.layout.places.keys() >= set(TapLines.feeds(tap))
        return is_known and any(other.window[0] >= sum(tap.window) for other in self._taps)

    def begin_at(self, reached: int) -> None:
        self._parts.go_on(reached)
        self.begin()

    def shown_by(self, tap: SlicedGroupBySpec) -> Int64s:
        return self._taps[tap].shown

    def kept_by(self, tap: SlicedGroupBySpec) -> int:
        self.begin()
        number = list(self._taps).index(tap)
        return int(self._parts.registers[TAIL] - self._cursors[number, records.LEAVE])

    def _use(self, taps: Sequence[SlicedGroupBySpec] | dict[SlicedGroupBySpec, TapLines]) -> None:
        """Let parts have what these taps want."""
        before = self._parts.layout
        self._parts.use(feed for tap in taps for feed in TapLines.feeds(tap))
        if self._parts.layout is not before:
            self._read_layout()

    def _read_layout(self) -> None:
        """Parts lie otherwise now."""
        for number, lines in enumerate(self._taps.values()):
            lines.read(self._parts.layout)
            self._records[number] = lines.record

    def _add(self, new: Sequence[SlicedGroupBySpec]) -> None:
        """Let taps go on from what an earlier run left, or from the parts of slices that are here."""
        first, scope, interner = len(self._taps), self._context.scope, self._context.interner
        made = [TapLines(tap, scope.scope(tap.fingerprint), self._parts.layout, interner) for tap in new]
        self._taps |= dict(zip(new, made, strict=True))
        cursors = np.zeros((len(new), records.CURSORS), np.int64)
        cursors[:, [records.SIZE, records.SLIDE]] = [tap.window for tap in new]
        self._aim(np.concatenate([self._records, [one.record for one in made]]), np.concatenate([self._cursors, cursors]))
        for number, lines in enumerate(made, first):
            kernel.place_tap(number, self._bundle.record)
            if lines.is_new:
                lines.reserve(self._parts.registers.item(USED) + 1)
                self._records[number] = lines.record
                kernel.fill_tap(number, self._bundle.record)

    def _aim(self, lines: Int64s, cursors: Int64s) -> None:
        self._records, self._cursors = lines, cursors
        self._bundle.replace(taps=lines, cursors=cursors)
        self._work[records.NEXT] = cursors[:, records.DUE].min(initial=FOREVER)
