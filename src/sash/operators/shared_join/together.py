"""Many windows over one log per side.

Delta rule:  + a row that comes is paired with the rows of the other side, of each window those that are in it
             - when a row leaves a window, with those that are still in that window
State:       a log of rows per side, chained by key, as long as the longest window of a tap; how far it has worked
Output:      signed, for every tap its own columns

Where a window begins in the log follows from how far it has worked, so it is not kept: taps come and go without a trace.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sash.deltas import Delta
from sash.kernels.bundles import Bundle
from sash.operators.join.operator import in_slices
from sash.operators.join.sides import Side as Keys
from sash.operators.shared_join.kernels import (
    AHEAD,
    COPIES,
    CURSOR,
    LEFT,
    NEXT,
    PROBES,
    RIGHT,
    SAMPLE,
    SharedSides,
    Side,
    find_partners,
    join_shared,
)
from sash.operators.shared_join.log import SharedLog
from sash.operators.shared_join.outputs import MET, TapOutputs, leaders
from sash.schema import FOREVER
from sash.stores.arena import Scope
from sash.stores.interner import Interner

if TYPE_CHECKING:
    from sash.operators.join.spec import LeavingJoinSpec
    from sash.operators.shared_join.spec import SharedJoinSpec

LEAST_SLICE = 1 << 12  # rows of a side that a log makes room for at once; where more are kept, as many as these
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
        self._layouts, self._cursor = (spec.left.layout, spec.right.layout), np.zeros(CURSOR, np.int64)
        self._taps: list[LeavingJoinSpec] = []
        self._outputs: TapOutputs  # once there are taps
        self._windows = self._oldest = np.zeros((2, 0), np.int64)  # by side, of all taps: how long they are, and where they begin
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
        """Run these windows from now on: find out where those that are new begin. There may be a thousand others."""
        known = len(self._taps) if taps[: len(self._taps)] == self._taps else 0
        before = self._outputs if self._taps else None
        due = [] if before is None else before.due[:known].tolist()
        windows = np.array([[tap.windows[side] for tap in taps[known:]] for side in (0, 1)], np.int64).reshape(2, -1)
        oldest = [
            [log.first_after(self.reached - window) for window in of_side.tolist()]
            for log, of_side in zip(self._logs, windows, strict=True)
        ]
        self._taps = list(taps)
        self._windows = np.concatenate([self._windows[:, :known], windows], axis=1)
        self._longest = [int(of_side.max()) for of_side in self._windows]
        self._oldest = np.concatenate([self._oldest[:, :known], np.array(oldest, np.int64).reshape(2, -1)], axis=1)
        self._outputs = TapOutputs(taps, before)
        self._outputs.due[:] = [*due, *(self._due(tap) for tap in range(known, len(taps)))]
        self._cursor[NEXT] = self._outputs.due.min()
        shape = np.array([layout.values for layout in self._layouts], np.int64)
        room = np.empty(MET, np.int64), *np.zeros((2, len(taps)), np.int64)
        self._bundle = Bundle(
            SharedSides, self._side(0, taps), self._side(1, taps), self._outputs.bundle, shape, *room, self._cursor
        )

    def _side(self, side: int, taps: Sequence[LeavingJoinSpec]) -> Bundle:
        keys, order = self._keys[side], np.argsort(self._windows[side], kind="stable")
        return Bundle(
            Side, keys.lanes, keys.masks, np.arange(self._layouts[side].width), self._logs[side].bundle, self._windows[side],
            self._oldest[side], order, leaders(taps, order), np.zeros(AHEAD, np.int64),
        )

    def _due(self, tap: int) -> int:
        """When the next row leaves a window."""
        sides = zip(self._logs, self._windows[:, tap].tolist(), self._oldest[:, tap].tolist(), strict=True)
        return min(log.instant_of(row) + window if row < log.tail else FOREVER for log, window, row in sides)

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
            log.fill(delta.rows, delta.ts, delta.weight, keys.hashes(delta.rows))
        facts = [
            (layout.width, log.bundle.record, keys.lanes)
            for layout, log, keys in zip(self._layouts, self._logs, self._keys, strict=True)
        ]
        find_partners(*facts[0], *facts[1])
        find_partners(*facts[1], *facts[0])
        self._reached[0] = reached

    def go_on(self, reached: int) -> None:
        """Nothing leaves a window that runs up to this instant."""
        self._reached[0] = reached

    def run(self, left: Delta, right: Delta, now: int) -> Iterator[tuple[list[tuple[int, Delta]], int | None]]:
        """Take rows in, and let those leave that do so before an instant: the changes of taps by number.

        Where they are many they come in parts, each with the instant before which it is all; the last with none.
        """
        came, before = len(left.ts) + len(right.ts), int(self._oldest.sum())
        self._outputs.begin(came)
        for left_part, right_part, until in in_slices(left, right, now, max(self.kept, LEAST_SLICE)):
            for _ in self._slide(left_part, right_part, until):
                if self._outputs.are_many and (part := self._outputs.take_whole_instants()) is not None:
                    yield part
        self._judge(came)
        self.walks = came + int(self._oldest.sum()) - before
        yield list(self._outputs.take(came)), None

    def _slide(self, left: Delta, right: Delta, until: int) -> Iterator[None]:
        """Stops wherever there is no room for what a row may give."""
        came = []
        for log, longest, keys, delta in zip(self._logs, self._longest, self._keys, (left, right), strict=True):
            log.reserve(len(delta.ts), self.reached - longest)
            came += [delta.rows, delta.ts, delta.weight, keys.hashes(delta.rows)]
        self._cursor[LEFT] = self._cursor[RIGHT] = 0
        while not join_shared(*came, until - 1, self._bundle.record):
            self._outputs.make_room()
            yield
        self._reached[0] = until - 1

    def _judge(self, came: int) -> None:
        """Whether rows have so many copies that equal ones should be one, which a log of many windows cannot do."""
        self._came += came
        if self._cursor.item(PROBES) >= JUDGED:
            self.has_many_copies = SAMPLE * self._cursor.item(COPIES) > WORTH * self._came
            self._came = self._cursor[PROBES] = self._cursor[COPIES] = 0
