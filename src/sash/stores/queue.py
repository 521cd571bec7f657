"""A queue of changes: what waits for time to move on, in the order of its instants."""

from __future__ import annotations

import numpy as np

from sash.deltas import Delta, Int64s, Layout, forever, once
from sash.kernels.bundles import Bundle
from sash.kernels.held_rows import CANNOT, COUNT, HEAD, Held, pass_rows
from sash.schema import BEGINNING, FOREVER
from sash.stores.arena import Scope
from sash.stores.interner import Interner
from sash.stores.lanes import string_lanes

FIRST_ROOM = 64


class DeltaQueue:
    """Changes go in at one end and out at the other. They lie in one piece, so taking some is a slice."""

    def __init__(self, layout: Layout, scope: Scope, interner: Interner) -> None:
        self._scope = scope
        self._width = layout.width
        self._registers = scope.array("registers", 2)
        self._head, self._count = map(int, self._registers)  # the same: who looks often does so without the arena
        self._rows = scope.array("rows", (FIRST_ROOM, layout.width))
        self._ts, self._expiry = scope.array("ts", FIRST_ROOM), scope.array("expiry", FIRST_ROOM)
        self._weight = scope.array("weight", FIRST_ROOM)
        self._bundle = Bundle(Held, self._registers, self._rows, self._ts, self._expiry, self._weight)
        lanes = string_lanes(layout)
        interner.hold(lambda: (self.peek().rows, lanes))

    def __len__(self) -> int:
        return self._count

    def append(self, delta: Delta) -> None:
        came = len(delta.ts)
        if not came:
            return
        self._make_room(came)
        first = self._head + self._count
        place = slice(first, first + came)
        self._rows[place], self._ts[place] = delta.rows, delta.ts
        self._expiry[place], self._weight[place] = delta.expiry, delta.weight
        self._set(self._head, self._count + came)

    def peek(self) -> Delta:
        """All that waits; valid until the queue changes."""
        return self._all().slice(self._head, self._head + self._count)

    @property
    def first(self) -> int:
        """The instant of the first change that waits; FOREVER if none does."""
        first: int = self._ts.item(self._head) if self._count else FOREVER
        return first

    @property
    def last(self) -> int:
        """The instant of the last change that waits; BEGINNING if none does."""
        last: int = self._ts.item(self._head + self._count - 1) if self._count else BEGINNING
        return last

    def take(self, now: int) -> Delta:
        """What happens before `now`, and out of the queue with it."""
        if self.first >= now:
            return Delta.empty(self._width)
        head, count = self._head, self._count
        if self.last >= now:
            count = int(self._ts[head : head + count].searchsorted(now))
        taken = self._all().slice(head, head + count).copy()
        self.drop(count)
        return taken

    def pass_on(self, rows: Int64s, ts: Int64s, now: int) -> Delta | None:
        """Rows that come once each, in order, into a queue of such rows, and what happens before `now` out of it; None, and
        nothing done, if they do not simply follow those that wait."""
        room = self._count + len(ts)
        out_rows, out_ts = np.empty((room, self._width), np.int64), np.empty(room, np.int64)
        count: int = pass_rows(rows, ts, now, self._bundle.record, out_rows, out_ts)
        if count == CANNOT:
            return None
        self._head, self._count = self._registers.tolist()
        if count < room:
            out_rows, out_ts = out_rows[:count], out_ts[:count]
        return Delta(out_rows, out_ts, forever(count), once(count), False, (count, 0, 0))

    def replace(self, delta: Delta) -> None:
        self._set(0, 0)
        self.append(delta)

    def drop(self, count: int) -> None:
        """Forget the first ones."""
        left = self._count - count
        self._set(self._head + count if left else 0, left)

    def drop_last(self) -> None:
        """Forget the one that came last."""
        left = self._count - 1
        self._set(self._head if left else 0, left)

    def _set(self, head: int, count: int) -> None:
        self._head, self._count = head, count
        self._registers[HEAD], self._registers[COUNT] = head, count

    def _all(self) -> Delta:
        return Delta(self._rows, self._ts, self._expiry, self._weight)

    def _make_room(self, extra: int) -> None:
        head, count = self._head, self._count
        if head + count + extra <= len(self._rows):
            return
        if head >= count + extra:  # moving pays: more rows have left than are here
            self._rows[:count], self._ts[:count] = self._rows[head : head + count], self._ts[head : head + count]
            self._expiry[:count] = self._expiry[head : head + count]
            self._weight[:count] = self._weight[head : head + count]
            self._set(0, count)
        else:
            room = max(2 * len(self._rows), head + count + extra)
            self._rows, self._ts = self._scope.resize("rows", room), self._scope.resize("ts", room)
            self._expiry, self._weight = self._scope.resize("expiry", room), self._scope.resize("weight", room)
            self._bundle.replace(rows=self._rows, ts=self._ts, expiry=self._expiry, weight=self._weight)
