"""Many windows over one log per side.

Delta rule:  + a row that comes is paired with the rows of the other side, of each window those that are in it
             - when a row leaves a window, with those that are still in that window
State:       a log of rows per side, chained by key, as long as the longest window of a tap; how far it has worked
Output:      signed, for every tap its own columns

Where a window begins in the log follows from how far it has worked, so it is not kept: taps come and go without a trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sash.deltas import Delta
from sash.operators.join.operator import in_slices
from sash.operators.join.sides import Side as Keys
from sash.operators.shared_join.kernels import COPIES, CURSOR, LEFT, NEXT, PROBES, RIGHT, Side, join_shared
from sash.operators.shared_join.log import SharedLog
from sash.operators.shared_join.outputs import TapOutputs
from sash.schema import FOREVER
from sash.stores.arena import Scope
from sash.stores.interner import Interner

if TYPE_CHECKING:
    from sash.operators.join.spec import LeavingJoinSpec
    from sash.operators.shared_join.spec import SharedJoinSpec

LEAST_SLICE = 1 << 12  # rows of a side that a log makes room for at once; where more are kept, as many as these
MET = 256  # lines that a row meets before its pairs with them are written
SAMPLE = 8  # one row in so many is asked for copies among what it meets
JUDGED = 256  # walks with samples after which it is judged whether copies are many
WORTH = 4  # pairs that must be spared for every row that comes, before each window has a log of its own


class Together:
    """The logs, and the windows over them."""

    def __init__(self, spec: SharedJoinSpec, scope: Scope, interner: Interner) -> None:
        self._keys = Keys(spec.left.layout, spec.left_keys), Keys(spec.right.layout, spec.right_keys)
        self._logs = (
            SharedLog(spec.left.layout, scope.scope("left"), interner),
            SharedLog(spec.right.layout, scope.scope("right"), interner),
        )
        self._reached = scope.array("reached", 1)  # all that leaves up to this instant has left
        self._shape = np.array([spec.left.layout.values, spec.right.layout.values], np.int64)
        self._whole = np.arange(spec.left.layout.width), np.arange(spec.right.layout.width)
        self._cursor, self._met = np.zeros(CURSOR, np.int64), np.empty(MET, np.int64)
        self._came = 0  # rows since it was last judged whether there are many copies
        self.has_many_copies = False
        self.walks = 0  # for rows that came, and for rows that left a window, when it last ran

    @property
    def kept(self) -> int:
        return sum(map(len, self._logs))

    @property
    def reached(self) -> int:
        instant: int = self._reached.item()
        return instant

    def use(self, taps: Sequence[LeavingJoinSpec]) -> None:
        """Run these windows from now on: find out where they begin."""
        self._windows = np.array([[tap.windows[0] for tap in taps], [tap.windows[1] for tap in taps]], np.int64)
        self._longest = [int(windows.max()) for windows in self._windows]
        self._order = [np.argsort(windows, kind="stable") for windows in self._windows]
        self._oldest = np.array(
            [
                [log.first_after(self.reached - window) for window in windows.tolist()]
                for log, windows in zip(self._logs, self._windows, strict=True)
            ], np.int64,
        )  # fmt: skip
        self._outputs, self._stops = TapOutputs(taps), np.zeros(len(taps), np.int64)
        self._cursor[NEXT] = min(
            log.instant_of(row) + window if row < log.tail else FOREVER
            for log, windows, oldest in zip(self._logs, self._windows, self._oldest, strict=True)
            for window, row in zip(windows.tolist(), oldest.tolist(), strict=True)
        )

    def due(self) -> int:
        instant: int = self._cursor.item(NEXT)
        return instant

    def kept_by(self, tap: int) -> int:
        return sum(log.tail - oldest.item(tap) for log, oldest in zip(self._logs, self._oldest, strict=True))

    def rows(self, left_window: int, right_window: int) -> tuple[Delta, Delta]:
        """What windows of these lengths hold."""
        left, right = self._logs
        return left.rows_after(self.reached - left_window), right.rows_after(self.reached - right_window)

    def fill(self, inputs: Sequence[Delta], reached: int) -> None:
        """Begin with rows whose pairs were told before."""
        for log, keys, delta in zip(self._logs, self._keys, inputs, strict=True):
            log.fill_with(delta, keys.hashes(delta.rows))
        self._reached[0] = reached

    def go_on(self, reached: int) -> None:
        """Nothing leaves a window that runs up to this instant."""
        self._reached[0] = reached

    def run(self, left: Delta, right: Delta, now: int) -> list[tuple[int, Delta]]:
        """Take rows in, and let those leave that do so before an instant: the changes of taps by number."""
        came, before = len(left.ts) + len(right.ts), int(self._oldest.sum())
        self._outputs.expect(came)
        made: dict[int, list[Delta]] = {}
        if came <= LEAST_SLICE:
            self._slide(left, right, now, made)
        else:
            for left_part, right_part, until in in_slices(left, right, now, max(self.kept, LEAST_SLICE)):
                self._slide(left_part, right_part, until, made)
        given = [(tap, Delta.concatenate(parts, parts[0].rows.shape[1])) for tap, parts in made.items()]
        counts = np.zeros(len(self._stops), np.int64)
        for tap, delta in given:
            counts[tap] = len(delta.ts)
        self._outputs.observe(came, counts)
        self._judge(came)
        self.walks = came + int(self._oldest.sum()) - before
        return given

    def _slide(self, left: Delta, right: Delta, until: int, made: dict[int, list[Delta]]) -> None:
        for log, longest, delta in zip(self._logs, self._longest, (left, right), strict=True):
            log.make_room(len(delta.ts), self.reached - longest)
        sides, cursor = (self._side(0, left), self._side(1, right)), self._cursor
        cursor[LEFT] = cursor[RIGHT] = 0
        while True:
            out = self._outputs.room()
            is_done = join_shared(*sides, until - 1, self._shape, self._met, self._stops, cursor, out)
            for tap, delta in self._outputs.deltas(out):
                made.setdefault(tap, []).append(delta)
            if is_done:
                break
            self._outputs.grow(out)
        self._reached[0] = until - 1

    def _side(self, side: int, delta: Delta) -> Side:
        keys, log = self._keys[side], self._logs[side]
        return Side(
            delta.rows, delta.ts, delta.weight, keys.hashes(delta.rows), keys.lanes, keys.masks, self._whole[side],
            log.registers, log.lines, log.table, log.jumps, self._windows[side], self._oldest[side], self._order[side],
        )

    def _judge(self, came: int) -> None:
        """Whether rows have so many copies that equal ones should be one, which a log of many windows cannot do."""
        self._came += came
        if self._cursor.item(PROBES) >= JUDGED:
            self.has_many_copies = SAMPLE * self._cursor.item(COPIES) > WORTH * self._came
            self._came = self._cursor[PROBES] = self._cursor[COPIES] = 0

