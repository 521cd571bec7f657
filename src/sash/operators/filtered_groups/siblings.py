"""Views that differ in a condition, as `… WHERE v > 7 GROUP BY k`: all that happens to few rows in all of them, in one call.

    row ─▶ v > 7 ─▶ window ─▶ sums     one call for all: those that let the row through take it in, and from all of them rows
        ─▶ v > 8 ─▶ window ─▶ sums     leave whose time has come; each gives what its own operators would give
        ─▶ …

For few rows: to run three operators for each of a hundred views takes far longer than what there is to do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from sash.deltas import Delta, Int64s, forever
from sash.kernels.bundles import Bundle
from sash.operators.filter.kernels import COLUMNS as TEST_COLUMNS
from sash.operators.filter.operator import Filter
from sash.operators.filtered_groups import kernels as kernel
from sash.operators.group_by.sliding_sums import SlidingSums
from sash.operators.operator import Operator
from sash.operators.windows.operator import TimeWindow
from sash.schema import FOREVER

FIRST_ROOM, LARGE = 64, 1 << 16  # changes for which there is room; room for more is given away with them
NO_TESTS = np.empty((0, TEST_COLUMNS), np.int64)
COUNTED = (kernel.PASSED, kernel.CAME, kernel.WENT)


class Chain(NamedTuple):
    """What rows of one view go through."""

    filter: Filter | None
    window: TimeWindow | None
    sums: SlidingSums


LONGEST = len(Chain._fields)


def chain_of(operators: Sequence[Operator | None]) -> Chain | None:
    """The chain that some operators are, each of which reads the one before; None if they are none."""
    *before, sums = operators
    if not isinstance(sums, SlidingSums):
        return None
    match before:
        case []:
            return Chain(None, None, sums)
        case [TimeWindow() as window]:
            return Chain(None, window, sums)
        case [Filter(is_plain=True) as first]:
            return Chain(first, None, sums)
        case [Filter(is_plain=True) as first, TimeWindow() as window]:
            return Chain(first, window, sums)
        case _:
            return None


class Siblings:
    """Chains over the same rows; what they give is of one width."""

    def __init__(self, chains: Sequence[Chain], width: int, most: int) -> None:
        """`width` is that of rows that come, `most` how many may come at once."""
        self._sums = [chain.sums for chain in chains]
        tests = [NO_TESTS if chain.filter is None else chain.filter.tests() for chain in chains]
        sizes = np.array([0 if chain.window is None else chain.window.size for chain in chains], np.int64)
        starts = np.cumsum([0, *map(len, tests)], dtype=np.int64)
        row_ats = np.array([sums.groups.row_at for sums in self._sums], np.int64)
        self._facts = Bundle(kernel.SiblingFacts, np.concatenate(tests), starts, sizes, row_ats)
        self._records = np.stack([sums.record for sums in self._sums])
        self._room = Bundle(
            kernel.SiblingRoom, np.empty((most, width), np.int64), *np.empty((4, most), np.int64)
        )
        self._lines = np.zeros((len(chains), kernel.COLUMNS), np.int64)
        self._found = np.empty((len(chains), kernel.FOUND_COLUMNS), np.int64)
        self._registers = np.zeros(kernel.REGISTERS, np.int64)
        self._width = self._sums[0].layout.width
        self._out, self._crowded = Delta.room(FIRST_ROOM, self._width), np.empty(FIRST_ROOM, np.int64)
        self.due = FOREVER  # when the first row of any leaves

    def give_over(self) -> None:
        """From now on rows come and go here, and not by the operators."""
        dues = [sums.due() for sums in self._sums]
        self._lines[:, kernel.DUE], self.due = dues, min(dues)
        for sums in self._sums:
            sums.give_over()

    def take_over(self) -> None:
        """The operators go on by themselves."""
        for sums in self._sums:
            sums.take_over()

    def run(self, delta: Delta, now: int) -> Iterator[tuple[int, Delta]]:
        """All that happens before `now`: the changes of those that gave some, by their places."""
        out, at = self._out, self._registers
        at.fill(0)
        at[kernel.LEAST] = FOREVER
        while not kernel.slide_siblings(
            delta.rows, delta.ts, delta.expiry, delta.weight, now, self._facts.record, self._records, self._room.record,
            self._lines, at, out.rows, out.ts, out.weight, self._found, self._crowded,
        ):
            self._sums[at.item(kernel.NEXT)].groups.make_room(len(delta.ts))
            out = self._out = _doubled(out, at.item(kernel.END))
            self._crowded = np.append(self._crowded, self._crowded)
        _, found, end, crowds, self.due = at[: kernel.LEAST + 1].tolist()
        lines = self._found[:found].tolist()
        if crowds:
            self._order(out, lines, self._crowded[:crowds])
        is_large = end > LARGE
        if is_large:  # it goes to those who read it
            self._out, self._crowded = Delta.room(FIRST_ROOM, self._width), np.empty(FIRST_ROOM, np.int64)
        rows, ts, weight = out.rows, out.ts, out.weight
        for place, start, stop, _ in lines:
            made = rows[start:stop], ts[start:stop], weight[start:stop]
            some, when, sign = made if is_large else [one.copy() for one in made]
            yield place, Delta(some, when, forever(stop - start), sign, True)

    def _order(self, out: Delta, lines: Sequence[Sequence[int]], crowded: Int64s) -> None:
        firsts = [line[kernel.FIRST_CROWD] for line in lines]
        for (place, start, stop, first), last in zip(lines, [*firsts[1:], len(crowded)], strict=True):
            if first < last:
                self._sums[place].order(out.slice(start, stop), crowded[first:last])

    def take_counts(self) -> list[list[int]]:
        """Of every one, since somebody last asked: rows that its filter let through, changes that enter, and that leave."""
        counts: list[list[int]] = self._lines[:, COUNTED].tolist()
        self._lines[:, COUNTED] = 0
        return counts


def _doubled(out: Delta, used: int) -> Delta:
    """More room, with what is there."""
    more = Delta.room(2 * len(out), out.rows.shape[1])
    more.rows[:used], more.ts[:used], more.weight[:used] = out.rows[:used], out.ts[:used], out.weight[:used]
    return more
