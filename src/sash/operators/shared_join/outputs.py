"""Room for the changes of many taps, which a kernel writes in one call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sash.deltas import Delta, Int64s, forever
from sash.operators.join.leaving import column_moves
from sash.operators.shared_join.kernels import Outputs

if TYPE_CHECKING:
    from sash.operators.join.spec import LeavingJoinSpec

LEAST = 16  # changes of a tap that there is room for, whatever is expected
MOST = 1 << 20  # changes of a tap that are made room for at once


class TapOutputs:
    """The fixed facts of some taps, and how many changes each gave of late."""

    def __init__(self, taps: Sequence[LeavingJoinSpec]) -> None:
        moves = [column_moves(tap) for tap in taps]
        self._widths = np.array([tap.layout.width for tap in taps], np.int64)
        self._masks = np.array([tap.layout.values for tap in taps], np.int64)
        self._lanes, self._lane_ends = _stacked([lanes for lanes, _ in moves])
        self._bits, self._bit_ends = _stacked([bits for _, bits in moves])
        self._rooms = np.full(len(taps), LEAST, np.int64)
        self._came, self._made = 0, np.zeros(len(taps), np.int64)

    def expect(self, came: int) -> None:
        """So many rows are to be worked off: what the last ones gave tells how many changes that may be."""
        self._rooms[:] = LEAST
        if self._came:
            likely = self._made * came // self._came
            np.maximum(np.minimum(likely + likely // 2, MOST), LEAST, out=self._rooms)

    def observe(self, came: int, made: Int64s) -> None:
        if came:
            self._came, self._made = came, made

    def room(self) -> Outputs:
        """For one call of the kernel."""
        ends, areas = np.cumsum(self._rooms), np.cumsum(self._rooms * self._widths)
        total, area = int(ends[-1]), int(areas[-1])
        return Outputs(
            np.empty(area, np.int64), np.empty(total, np.int64), np.empty(total, np.int64), ends - self._rooms, ends,
            areas - self._rooms * self._widths, np.zeros(len(ends), np.int64), self._widths, self._masks, self._lanes,
            self._lane_ends, self._bits, self._bit_ends,
        )

    def grow(self, out: Outputs) -> None:
        """A tap had no room any more: what is left to be told may be as much again."""
        is_full = out.counts * 2 >= self._rooms
        self._rooms[:] = np.where(is_full, np.minimum(2 * self._rooms, MOST), np.maximum(self._rooms // 2, LEAST))

    def deltas(self, out: Outputs) -> Iterator[tuple[int, Delta]]:
        """What was written, by the number of the tap: slices of what the kernel wrote to."""
        for tap in np.flatnonzero(out.counts).tolist():
            start, base, count = out.starts.item(tap), out.bases.item(tap), out.counts.item(tap)
            width = self._widths.item(tap)
            rows, place = out.values[base : base + count * width].reshape(count, width), slice(start, start + count)
            yield tap, Delta(rows, out.ts[place], forever(count), out.weight[place])


def _stacked(parts: Sequence[Int64s]) -> tuple[Int64s, Int64s]:
    """Lines of all, one after the other, and where those of each end, after a zero."""
    return np.concatenate(parts), np.cumsum([0, *map(len, parts)])
