"""Many windows over one log per side.

Delta rule:  + a row that comes is paired with the rows of the other side, of each window those that are in it
             - when a row leaves a window, with those that are still in that window
State:       a log of rows per side, chained by key, as long as the longest window of a tap; how far it has worked
Output:      signed, for every tap its own columns

Where a window begins in the log follows from how far it has worked, so it is not kept: taps come and go without a trace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sash.deltas import Delta, Int64s
from sash.kernels.bundles import Bundle
from sash.operators.join.operator import in_slices
from sash.operators.join.sides import Side as Keys
from sash.operators.shared_join.bands import Band, Run
from sash.operators.shared_join.in_turns import InTurns, Part
from sash.operators.shared_join.kernels import (
    AHEAD,
    COPIES,
    CURSOR,
    LEFT,
    NEXT,
    OPEN,
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
from sash.operators.shared_join.schedules import AUTO, LWO, MOST_WINDOWS, MQT, RUN, SWF, Load, matrix_of, pays
from sash.operators.shared_join.turn_kernels import enter_rows
from sash.schema import FOREVER
from sash.stores.arena import Scope
from sash.stores.interner import Interner

if TYPE_CHECKING:
    from sash.operators.join.spec import LeavingJoinSpec
    from sash.operators.shared_join.spec import SharedJoinSpec

LEAST_SLICE = 1 << 12  # rows of a side that a log makes room for at once; where more are kept, as many as these
JUDGED = 256  # walks with samples after which it is judged whether copies are many
WORTH = 4  # pairs that must be spared for every row that comes, before each window has a log of its own


class Readers(NamedTuple):
    """How many queries read a tap, and the taps that somebody waits for, by number."""

    queries: Callable[[int], int]
    awaited: Callable[[], Sequence[int]]


class Together:
    """The logs, and the windows over them."""

    def __init__(self, spec: SharedJoinSpec, scope: Scope, interner: Interner) -> None:
        self._keys = Keys(spec.left.layout, spec.left_keys), Keys(spec.right.layout, spec.right_keys)
        self._logs = (
            SharedLog(spec.left.layout, scope.scope("left"), interner),
            SharedLog(spec.right.layout, scope.scope("right"), interner),
        )
        self._reached = scope.array("reached", 1)  # all that leaves up to this instant has left
        self._layouts, self._load = (spec.left.layout, spec.right.layout), Load()
        self._taps: list[LeavingJoinSpec] = []
        self._outputs: TapOutputs  # once there are taps
        self._all: Band
        self._by_window: tuple[Band, ...] = ()  # if somebody has asked for them
        self._windows = self._oldest = np.zeros((2, 0), np.int64)  # by side, of all taps: how long they are, and where they begin
        self._paused = 0  # how far all have got, while the state shows what some have
        self._came = 0  # rows since it was last judged whether there are many copies
        self.has_many_copies = False
        self.most_waiting = self.most_held = 0  # rows that waited for a turn, and numbers kept for longer windows
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
        shape = np.array([layout.values for layout in self._layouts], np.int64)
        self._common = shape, np.empty(MET, np.int64), *np.zeros((2, len(taps)), np.int64)
        self._all, self._by_window = self._band_of_all(), ()
        self._all.begin(self._tails, self._outputs.due)

    @property
    def _tails(self) -> tuple[int, int]:
        return self._logs[0].tail, self._logs[1].tail

    @property
    def _bands(self) -> Sequence[Band]:
        """Those of all windows that differ, the shortest first. Once there are rows that wait: else nobody needs them."""
        if not self._by_window:
            found: dict[tuple[int, ...], list[int]] = {}
            for tap, spec in enumerate(self._taps):
                found.setdefault((sum(spec.windows), *spec.windows), []).append(tap)
            lead = leaders([(tap.windows, tap.columns) for tap in self._taps], np.arange(len(self._taps)))
            self._by_window = tuple(self._band(np.array(found[windows], np.int64), (lead, lead)) for windows in sorted(found))
        return self._by_window

    def _band_of_all(self) -> Band:
        """Pairs of a shorter window are the first ones of a longer one."""
        columns = [tap.columns for tap in self._taps]
        lead = [leaders(columns, np.argsort(of_side, kind="stable")) for of_side in self._windows]
        return self._band(np.arange(len(self._taps)), (lead[0], lead[1]))

    def _band(self, taps: Int64s, lead: tuple[Int64s, Int64s]) -> Band:
        tails, cursor = (np.zeros(1, np.int64), np.zeros(1, np.int64)), np.zeros(CURSOR, np.int64)
        sides = (self._side(side, taps, lead[side], tail) for side, tail in enumerate(tails))
        bundle = Bundle(SharedSides, *sides, self._outputs.bundle, *self._common, cursor)
        return Band(taps, tails, cursor, bundle, int(self._windows[:, taps].sum(axis=0).max()))

    def _side(self, side: int, taps: Int64s, lead: Int64s, tail: Int64s) -> Bundle:
        keys, order = self._keys[side], taps[np.argsort(self._windows[side, taps], kind="stable")]
        return Bundle(
            Side, keys.lanes, keys.masks, np.arange(self._layouts[side].width), self._logs[side].bundle, self._windows[side],
            self._oldest[side], order, lead, tail, np.zeros(AHEAD, np.int64),
        )

    def _due(self, tap: int) -> int:
        """When the next row leaves a window."""
        sides = zip(self._logs, self._windows[:, tap].tolist(), self._oldest[:, tap].tolist(), strict=True)
        return min(log.instant_of(row) + window if row < log.tail else FOREVER for log, window, row in sides)

    def due(self) -> int:
        instant: int = self._all.cursor.item(NEXT)
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

    def run(self, left: Delta, right: Delta, now: int, schedule: str, readers: Readers) -> Iterator[Part]:
        """Take rows in, and let those leave that do so before an instant: the changes of taps by number.

        Where they are many, or rows have turns, they come in parts. `readers`: how many queries read a tap, and which taps
        somebody waits for.
        """
        came, before = len(left.ts) + len(right.ts), int(self._oldest.sum())
        has_turns, matrix = self._chosen(schedule, came, readers)
        size = RUN if schedule == LWO else max(self.kept, LEAST_SLICE)
        if has_turns:
            parts = self._run_in_turns(left, right, now, matrix, readers.awaited)
        else:
            parts = self._run_in_one_pass(left, right, now, size)
        for part in parts:
            if part.through is None:
                self._judge(came)
                self.walks = came + int(self._oldest.sum()) - before
            yield part

    def _chosen(self, schedule: str, came: int, readers: Readers) -> tuple[bool, Int64s | None]:
        """Whether rows go through windows in turns, and by which matrix."""
        is_burst = self._load.is_burst(came)
        if schedule == AUTO:
            has_turns = is_burst and 1 < len(self._bands) <= MOST_WINDOWS and self._pays(came, readers)
        else:
            has_turns = schedule in (SWF, MQT) and came > RUN and len(self._bands) > 1
        return has_turns, self._matrix(readers) if has_turns and schedule != SWF else None

    def _run_in_one_pass(self, left: Delta, right: Delta, now: int, size: int) -> Iterator[Part]:
        """All windows together, so many rows at a time."""
        came, taps, outputs = len(left.ts) + len(right.ts), self._all.taps, self._outputs
        outputs.begin(came, taps)
        for left_part, right_part, until in in_slices(left, right, now, size):
            for _ in self._slide(left_part, right_part, until):
                if outputs.are_many and (part := outputs.take_whole_instants(taps, self._all.cursor.item(OPEN))) is not None:
                    yield Part(*part, part[1])
            if size == RUN and until < now:
                yield Part(list(outputs.take(len(left_part.ts) + len(right_part.ts), taps)), until, until)
                outputs.begin(came, taps)
        yield Part(list(outputs.take(came, taps)), now, None)

    def _slide(self, left: Delta, right: Delta, until: int) -> Iterator[None]:
        """Stops wherever there is no room for what a row may give."""
        came = self._take_in(left, right)
        cursor = self._all.cursor
        cursor[LEFT] = cursor[RIGHT] = 0
        while not join_shared(*came, until - 1, self._all.bundle.record):
            self._outputs.make_room(self._all.taps)
            yield
        self._reached[0] = until - 1

    def _take_in(self, left: Delta, right: Delta) -> list[Int64s]:
        """Make room for rows in the logs; what kernels want to know of them."""
        came = []
        for log, longest, keys, delta in zip(self._logs, self._longest, self._keys, (left, right), strict=True):
            log.reserve(len(delta.ts), self.reached - longest)
            came += [delta.rows, delta.ts, delta.weight, keys.hashes(delta.rows)]
        return came

    # Turns.

    def pause_at(self, reached: int | None) -> None:
        """For one who looks: some windows have got so far already."""
        if reached is not None:
            self._paused = self.reached
        self._reached[0] = self._paused if reached is None else reached

    def _run_in_turns(
        self, left: Delta, right: Delta, now: int, matrix: Int64s | None, awaited: Callable[[], Sequence[int]]
    ) -> Iterator[Part]:
        """All rows enter the logs at once."""
        left_log, right_log = self._logs
        for band in self._bands:
            band.begin(self._tails, self._outputs.due)
        enter_rows(*self._take_in(left, right), self._all.bundle.record)
        runs = [
            Run(len(mine.ts) + len(theirs.ts), (left_log.first_after(until - 1), right_log.first_after(until - 1)), until)
            for mine, theirs, until in in_slices(left, right, now, RUN)
        ]
        turns = InTurns(self._bands, runs, self._outputs, matrix, awaited)
        for part in turns.parts(self.reached + 1):
            if part.through is None:
                self.most_held = max(self.most_held, turns.most_held)
                self.most_waiting = max(self.most_waiting, sum(run.came for run in runs))
                self._reached[0] = now - 1
                self._all.begin(self._tails, self._outputs.due)
            yield part

    def _pays(self, came: int, readers: Readers) -> bool:
        """Whether a backlog of so many rows is worth turns, for what windows give and who reads them."""
        work = [came + sum(self._outputs.likely(tap, came) for tap in band.taps.tolist()) for band in self._bands]
        return pays(work, self._queries(readers))

    def _matrix(self, readers: Readers) -> Int64s:
        """Windows that differ by side may be as long as others; then one is taken for a moment longer."""
        lengths: list[int] = []
        for band in self._bands:
            lengths.append(max(band.length, lengths[-1] + 1) if lengths else band.length)
        return matrix_of(tuple(lengths), self._queries(readers))

    def _queries(self, readers: Readers) -> tuple[int, ...]:
        return tuple(max(1, sum(map(readers.queries, band.taps.tolist()))) for band in self._bands)

    def _judge(self, came: int) -> None:
        """Whether rows have so many copies that equal ones should be one, which a log of many windows cannot do."""
        self._came += came
        cursor = self._all.cursor
        if cursor.item(PROBES) >= JUDGED:
            self.has_many_copies = SAMPLE * cursor.item(COPIES) > WORTH * self._came
            self._came = cursor[PROBES] = cursor[COPIES] = 0
