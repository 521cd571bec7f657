"""What views that are still to come would have seen: the last rows of a stream, and all rows of a table.

    forgotten | rows with ts >= since, and at least the last n | now
                                                                 appended as they become final
"""

from __future__ import annotations

import numpy as np

from sash.deltas import Delta, Int64s, Layout, forever
from sash.kernels.bundles import Bundle
from sash.kernels.held_rows import Remembered, remember_rows
from sash.schema import BEGINNING
from sash.stores.arena import Scope
from sash.stores.bag import RowBag
from sash.stores.interner import Interner
from sash.stores.lanes import string_lanes
from sash.stores.queue import DeltaQueue

FIRST_ROOM = 64
FREED = 4  # rows move to the front where a quarter of the room that they need is free there: else all of it would double
HEAD, COUNT, FORGOTTEN, SINCE, IS_SET = range(5)


class History:
    """Rows in the order of (ts, position)."""

    def __init__(self, layout: Layout, scope: Scope, interner: Interner) -> None:
        self._scope = scope
        self._registers = scope.array("registers", 5)
        if not self._registers[IS_SET]:
            self._registers[:] = (0, 0, 0, BEGINNING, 1)
        self._rows = scope.array("rows", (FIRST_ROOM, layout.width))
        self._ts = scope.array("ts", FIRST_ROOM)
        self._looked_at = scope.array("looked at", 1)  # how many there were when they were last looked through
        self._count = int(self._registers[COUNT])
        self._many = _many(int(self._looked_at[0]))  # more than so many are looked through again
        self._bundle = Bundle(Remembered, self._registers, self._rows, self._ts)
        lanes = string_lanes(layout)
        interner.hold(lambda: (self._all()[0], lanes))

    def __len__(self) -> int:
        return self._count

    @property
    def since(self) -> int:
        """Every row from this instant on is here."""
        return int(self._registers[SINCE])

    @property
    def forgotten(self) -> int:
        """How many rows came before those that are here."""
        return int(self._registers[FORGOTTEN])

    def begin(self, since: int) -> None:
        """Nothing before this instant will ever be here."""
        self._registers[SINCE] = max(self.since, since)

    def restore(self, delta: Delta, since: int, forgotten: int) -> None:
        """What another one had that is no more."""
        self.begin(since)
        self._registers[FORGOTTEN] = forgotten
        self.append(delta)

    def append(self, delta: Delta) -> None:
        count = len(delta.ts)
        if count:
            if not remember_rows(delta.rows, delta.ts, self._bundle.record):
                self._make_room(count)
                remember_rows(delta.rows, delta.ts, self._bundle.record)
            self._count += count

    @property
    def has_grown(self) -> bool:
        """Whether it is time to look which rows may go: so that a row is looked for a few times at most."""
        return self._count > self._many

    def forget(self, before: int, rows: int) -> None:
        """Rows before an instant go, but for the last so many."""
        _, ts = self._all()
        count = min(int(ts.searchsorted(before)), max(0, len(ts) - rows))
        if count:
            self._registers[SINCE] = max(self.since, int(ts[count - 1]) + 1)
            self._registers[HEAD] += count
            self._registers[COUNT] -= count
            self._registers[FORGOTTEN] += count
        if not self._registers[COUNT]:
            self._registers[HEAD] = 0
        self._looked_at[0] = self._count = int(self._registers[COUNT])
        self._many = _many(self._count)

    def delta(self) -> Delta:
        """All that is here, as insertions."""
        rows, ts = self._all()
        return Delta(rows.copy(), ts.copy(), forever(len(ts)), np.ones(len(ts), np.int64))

    def _all(self) -> tuple[Int64s, Int64s]:
        head = int(self._registers[HEAD])
        place = slice(head, head + self._count)
        return self._rows[place], self._ts[place]

    def _make_room(self, extra: int) -> None:
        head, count = self._registers.item(HEAD), self._count
        if head + count + extra <= len(self._ts):
            return
        if FREED * head >= count + extra and count + extra <= len(self._ts):
            self._move_to_front(head, count)
        else:
            room = 1 << (head + count + extra - 1).bit_length()
            self._rows, self._ts = self._scope.resize("rows", room), self._scope.resize("ts", room)
            self._bundle.replace(rows=self._rows, ts=self._ts)

    def _move_to_front(self, head: int, count: int) -> None:
        """So much at a time that what is read is not yet written over."""
        for start in range(0, count, head):
            stop = min(start + head, count)
            self._rows[start:stop] = self._rows[head + start : head + stop]
            self._ts[start:stop] = self._ts[head + start : head + stop]
        self._registers[HEAD] = 0


def _many(before: int) -> int:
    """Rows that are not many more than there were."""
    return before + (before >> 3) + FIRST_ROOM


class KnownTable:
    """The rows of a table, and its changes at instants that are not final for every stream."""

    def __init__(self, layout: Layout, scope: Scope, interner: Interner) -> None:
        self._bag = RowBag(layout, scope.scope("bag"), interner)
        self._open = DeltaQueue(layout, scope.scope("open"), interner)
        self._width = layout.width

    def append(self, delta: Delta) -> None:
        self._open.append(delta)

    def settle(self, clock: int) -> None:
        """Nobody will ask any more how the table was before this instant."""
        final = self._open.take(clock)
        if len(final.ts):
            self._bag.add(final.rows, final.weight)

    def delta(self) -> Delta:
        """The rows as if they had always been there, then the open changes."""
        rows, weight = self._bag.rows()
        always = Delta(rows, np.full(len(weight), BEGINNING), forever(len(weight)), weight)
        return Delta.concatenate([always, self._open.peek().copy()], self._width)
