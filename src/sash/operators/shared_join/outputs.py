"""Room for the changes of many taps, which a kernel writes in one call.

A tap that gives little is written to a place that stays, and what it gave is copied out of it; one that gives much gets memory of
its own, as much as the rows of late make likely.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sash.deltas import Delta, Int64s
from sash.kernels.bundles import Bundle
from sash.operators.join.leaving import column_moves
from sash.operators.output_chunks import LARGEST, MOST, FanoutEstimate
from sash.operators.shared_join.kernels import Output, Taps
from sash.schema import FOREVER

if TYPE_CHECKING:
    from sash.operators.join.spec import LeavingJoinSpec

MET = 256  # lines that a row meets before its pairs with them are written: there must be room for as many
LITTLE = 1 << 10  # changes that are worth no memory of their own
PLACES = 9  # numbers that tell where an output is


class TapOutput:
    """Where one tap is written to, and what it gave; and from where its columns are copied, side by side, and their NULLs."""

    def __init__(self, tap: LeavingJoinSpec) -> None:
        self._width, self._record, self.nothing = tap.layout.width, np.zeros(PLACES, np.int64), Delta.empty(tap.layout.width)
        self._place, self._likely = Delta.room(LITTLE, tap.layout.width), FanoutEstimate()
        self._parts: list[Delta] = []
        self._taken = 0  # changes of these rows that were taken before the end
        self._aim(self._place)
        lanes, self.bits = column_moves(tap)
        self.lanes = [lanes[lanes[:, 0] == side, 1:] for side in (0, 1)]

    def lie_at(self, record: Int64s) -> None:
        """Tell kernels there where it is."""
        record[:] = self._record
        self._record = record

    def begin(self, came: int) -> int:
        """Be ready for the changes of so many rows; the room that there is."""
        likely = self._likely.in_parts(came)
        if likely > LITTLE:
            self._aim(Delta.room(likely, self._width))
        elif self._room is not self._place:
            self._aim(self._place)
        return len(self._room.ts)

    def likely(self, came: int) -> int:
        return self._likely.of(came)

    def put_aside(self, count: int) -> int:
        """So many changes were written, and there is too little room for more; the room that there is now."""
        self._keep(count)
        self._aim(Delta.room(min(2 * len(self._room.ts), LARGEST), self._width))
        return len(self._room.ts)

    @property
    def has_parts(self) -> bool:
        """Whether something was put aside."""
        return bool(self._parts)

    def take(self, count: int, came: int) -> Delta:
        """All that was written, so many of it since the last call."""
        self._keep(count)
        made, self._parts = Delta.concatenate(self._parts, self._width), []
        self._likely.observe(came, self._taken + len(made.ts))
        self._taken = 0
        if self._room is not self._place:
            self._aim(self._place)
        return made

    def first(self, count: int) -> int:
        """The instant of the first change that was written."""
        return int(self._parts[0].ts[0]) if self._parts else int(self._room.ts[0]) if count else FOREVER

    def take_before(self, count: int, until: int) -> Delta:
        """What was written of what happens before an instant; the rest stays here."""
        room = len(self._room.ts)
        self._keep(count)
        whole, rest = Delta.concatenate(self._parts, self._width).split(until)
        self._parts = [rest.copy()] if len(rest.ts) else []
        self._taken += len(whole.ts)
        if self._room is not self._place and count:
            self._aim(Delta.room(room, self._width))
        return whole

    def _keep(self, count: int) -> None:
        if count:
            part = self._room.slice(0, count)
            self._parts.append(part.copy() if self._room is self._place else part)

    def _aim(self, room: Delta) -> None:
        self._room = room
        for number, array in enumerate((room.rows, room.ts, room.weight)):
            self._record[3 * number : 3 * number + 2] = array.ctypes.data, array.size


class TapOutputs:
    """Those of all taps, and the fixed facts of these; taps that were there before go on."""

    def __init__(self, taps: Sequence[LeavingJoinSpec], before: TapOutputs | None = None) -> None:
        known: dict[LeavingJoinSpec, TapOutput] = {} if before is None else before._by_tap
        self._by_tap: dict[LeavingJoinSpec, TapOutput] = {tap: known.get(tap) or TapOutput(tap) for tap in taps}
        self._outputs = list(self._by_tap.values())
        self._counts, self._rooms = np.zeros(len(taps), np.int64), np.zeros(len(taps), np.int64)
        self._aside = 0
        self.due = np.full(len(taps), FOREVER)
        records = np.zeros((len(taps), PLACES), np.int64)  # of outputs
        for output, record in zip(self._outputs, records, strict=True):
            output.lie_at(record)
        self.bundle = Bundle(
            Taps, records, self._rooms, self._counts, self.due,
            np.array([tap.layout.width for tap in taps], np.int64), np.array([tap.layout.values for tap in taps], np.int64),
            *_stacked([lanes for output in self._outputs for lanes in output.lanes]),
            *_stacked([output.bits for output in self._outputs]),
        )
        assert Output._fields == ("values", "ts", "weight"), "as records are written here"

    def begin(self, came: int, taps: Int64s) -> None:
        """Be ready for what these taps give for so many rows."""
        self._counts[taps] = self._aside = 0
        self._rooms[taps] = [self._outputs[tap].begin(came) for tap in taps.tolist()]

    def make_room(self, taps: Int64s) -> None:
        """One of these has no room for what a row may give any more: it gets more, and others that have little left."""
        for tap in taps[self._rooms[taps] - self._counts[taps] < MET].tolist():
            self._aside += self._counts.item(tap)
            self._rooms[tap] = self._outputs[tap].put_aside(self._counts.item(tap))
            self._counts[tap] = 0

    @property
    def are_many(self) -> bool:
        """Whether so many changes were put aside that they should not wait for the others."""
        return self._aside >= MOST

    def take_whole_instants(self, taps: Int64s, comes: int) -> tuple[list[tuple[int, Delta]], int] | None:
        """What these gave before the first instant at which anything is still to happen, and that instant. None if it is nothing.
        The next row comes at `comes`; rows leave one window after the other, so windows are at different instants.
        """
        found = [(self._outputs[tap], self._counts.item(tap)) for tap in taps.tolist()]
        until = min(comes, int(self.due[taps].min()))
        if min(output.first(count) for output, count in found) >= until:
            return None
        taken = []
        for tap, (output, count) in zip(taps.tolist(), found, strict=True):
            delta = output.take_before(count, until)
            self._counts[tap] = 0
            if len(delta.ts):
                taken.append((tap, delta))
        self._aside = 0
        return taken, until

    def take(self, came: int, taps: Int64s) -> Iterator[tuple[int, Delta]]:
        """What these gave, by the number of the tap, of those that gave something."""
        for tap, count in zip(taps.tolist(), self._counts[taps].tolist(), strict=True):
            if count or self._outputs[tap].has_parts:
                yield tap, self._outputs[tap].take(count, came)

    def nothing(self, tap: int) -> Delta:
        return self._outputs[tap].nothing

    def likely(self, tap: int, came: int) -> int:
        """How many changes a tap may give for so many rows, as the rows of late tell."""
        return self._outputs[tap].likely(came)


def leaders(kinds: Sequence[Hashable], order: Int64s) -> Int64s:
    """For every tap the last one in an order among those of its kind."""
    last = {kinds[tap]: tap for tap in order.tolist()}
    return np.array([last[kind] for kind in kinds], np.int64)


def _stacked(parts: Sequence[Int64s]) -> tuple[Int64s, Int64s]:
    """Lines of all, one after the other, and where those of each end, after a zero."""
    return np.concatenate(parts), np.cumsum([0, *map(len, parts)])
