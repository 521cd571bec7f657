"""Arcs: what lies between an operator and those who read it.

    operator ─▶ │ rows of one buffer, each once │ ─┬─▶ reader        every reader has its own place in the buffer;
                 ▲ place of one    ▲ of another    └─▶ reader        a row is freed when the last one is past it

A buffer has a clock, the promise that no change before it will come any more. An arc has a register for time that came by
another way (see `time_propagation.py`); what an arc promises is the later one of the two.

During a step rows lie here by reference. What nobody could work off when the step ends waits for the next one in the arena.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Container, Sequence

import numpy as np

from sash.deltas import Delta, Int64s, Layout
from sash.schema import BEGINNING, FOREVER
from sash.stores.arena import Scope
from sash.stores.interner import Interner
from sash.stores.queue import DeltaQueue


class Arc:
    """A reader's end of a buffer: how far it has read, and what it was promised."""

    __slots__ = (
        "_given", "_own", "_owner", "_read", "_scope", "buffer", "first", "head", "reader", "register", "side"
    )

    def __init__(self, buffer: Buffer, reader: int, side: int, owner: str, scope: Scope) -> None:
        self.buffer, self.reader, self.side, self._owner = buffer, reader, side, owner
        self.register = BEGINNING
        self._scope = scope.scope(f"input {side}")
        self._own = buffer.queue(owner, self._scope) if self._scope.has("registers") else None
        self._given: Delta | None = None  # rows of this step that do not lie in the buffer
        self._read: Int64s | None = None
        self.head = buffer.attach(self)  # number of the first row not read yet
        self.first = FOREVER  # instant of the first row not read yet
        self._look()

    @property
    def waiting(self) -> int:
        own = len(self._own) if self._own is not None else 0
        return self.buffer.tail - self.head + own + (len(self._given.ts) if self._given is not None else 0)

    @property
    def clock(self) -> int:
        return max(self.buffer.clock, self.register)

    def cut(self, count: int) -> int:
        """The instant after the next `count` rows, of which there are more."""
        if self._own is not None and len(self._own):
            return int(self._own.peek().ts[-1]) + 1
        return self.buffer.instant(self.head + count - 1) + 1

    def fill(self, delta: Delta) -> None:
        """Rows for this reader alone, before all others: what a new one finds."""
        if len(delta):
            if self._own is None:
                self._own = self.buffer.queue(self._owner, self._scope)
            self._own.append(delta)
            self.buffer.is_clear = False
            self._look()

    def give(self, delta: Delta) -> None:
        """Rows of which all can be taken in this step, to one who has no others."""
        self._given, self.first = delta, int(delta.ts[0])

    def keep_given(self) -> None:
        """They are not taken in one piece after all."""
        if self._given is not None:
            given, self._given = self._given, None
            self.fill(given)

    def take(self, now: int) -> Delta:
        """All that happens before `now`."""
        if self.first >= now:
            return self.buffer.nothing
        if self._given is not None:
            given, self._given, self.first = self._given, None, FOREVER
            return given
        delta = self.buffer.read(self.head, now)
        self.head += len(delta)
        if self._own is not None and len(self._own):
            delta = Delta.concatenate([self._own.take(now), delta], delta.rows.shape[1])
        self._look()
        self.buffer.free()
        return delta

    def come(self, first: int) -> None:
        """Rows have come, the first of them at this instant; there were none, or later ones."""
        self.first = first

    def remember(self, skipped: int) -> None:
        """Put down how many of the rows that wait in the arena have been read already."""
        if self._read is None:
            self._read = self._scope.array("read", 1)
        self._read[0] = skipped

    def remembered(self) -> int | None:
        return int(self._scope.array("read", 1)[0]) if self._scope.has("read") else None

    def _look(self) -> None:
        self.first = self.buffer.instant(self.head)
        if self._own is not None and len(self._own):
            self.first = self._own.first


class Buffer:
    """The output of one operator, or of a port. Rows are numbered as they come."""

    hands_over = True  # whether rows may go to those who read it without being put down here

    def __init__(self, layout: Layout, owner: str, scope: Scope, interner: Interner) -> None:
        self.layout, self._owner, self._scope, self._interner = layout, owner, scope, interner
        self.nothing = Delta.empty(layout.width)
        self.clock = BEGINNING
        self.arcs: list[Arc] = []
        self.turn = 0  # which reader is next, where several have work
        self._past = 0  # so many readers, in their order, are past the first chunk
        self._start = 0  # number of the first row that waits in the arena
        self._chunks: list[Delta] = []  # rows of this step, after those
        self._starts: list[int] = []
        self._queue = self.queue(owner, scope) if scope.has("registers") else None
        self.tail = self._kept
        self.is_clear = True  # nobody has rows to read

    def arc(self, reader: int, side: int, owner: str, scope: Scope) -> Arc:
        """To another reader."""
        return Arc(self, reader, side, owner, scope)

    def attach(self, arc: Arc) -> int:
        """Another reader; where it begins: where it was, or, if it is new, at the end."""
        self.arcs.append(arc)
        if self._queue is None or not self._kept:
            return self.tail
        skipped = arc.remembered()
        if skipped is None:
            arc.remember(skipped := self._kept)
        return self._start + skipped

    def put(self, delta: Delta, clock: int) -> None:
        """New changes, none of them before the clock so far."""
        self.promise(clock)
        count = len(delta.ts)
        if not count or not self.arcs:
            return
        self.is_clear = False
        self._chunks.append(delta)
        self._starts.append(self.tail)
        self.tail += count
        first = int(delta.ts[0])
        for arc in self.arcs:
            if arc.first > first:
                arc.come(first)

    def promise(self, clock: int) -> None:
        """No change before this instant will come any more."""
        if clock > self.clock:
            self.clock = clock

    @property
    def rows(self) -> int:
        """How many rows are here."""
        return self.tail - min((arc.head for arc in self.arcs), default=self.tail)

    def instant(self, number: int) -> int:
        """Of the row of this number; FOREVER if it has not come."""
        if number >= self.tail:
            return FOREVER
        place = bisect_right(self._starts, number) - 1
        if place >= 0:
            return int(self._chunks[place].ts[number - self._starts[place]])
        assert self._queue is not None
        return int(self._queue.peek().ts[number - self._start])

    def read(self, head: int, now: int) -> Delta:
        """The rows from number `head` on that happen before `now`; those of the arena are copied."""
        parts: list[Delta] = []
        if len(self._chunks) == 1 and head == self._starts[0]:
            return _before(self._chunks[0], 0, now)
        if head < self._start + self._kept and self._queue is not None:
            parts.append(_before(self._queue.peek(), head - self._start, now).copy())
        for place in range(max(0, bisect_right(self._starts, head) - 1), len(self._chunks)):
            start, chunk = self._starts[place], self._chunks[place]
            if chunk.ts[0] >= now:
                break
            parts.append(_before(chunk, max(0, head - start), now))
        return parts[0] if len(parts) == 1 else Delta.concatenate(parts, self.layout.width)

    def free(self) -> None:
        """Let go of chunks that all have read; with many readers, each is looked at once for a chunk."""
        while self._chunks:
            end, count = self._starts[0] + len(self._chunks[0].ts), len(self.arcs)
            while self._past < count and self.arcs[self._past].head >= end:
                self._past += 1
            if self._past < count:
                return
            del self._chunks[0], self._starts[0]
            self._past = 0

    def keep_readers(self, readers: Container[int]) -> None:
        """Between two steps: only these read it any more."""
        self.arcs = [arc for arc in self.arcs if arc.reader in readers]
        self.turn = self._past = 0

    @property
    def is_filled(self) -> bool:
        """Whether there are rows, of this step or of earlier ones."""
        return bool(self._chunks) or (self._queue is not None and len(self._queue) > 0)

    def look(self) -> bool:
        """See whether it is clear."""
        self.is_clear = not self._chunks and not self._kept and all(arc.first == FOREVER for arc in self.arcs)
        return self.is_clear

    def settle(self) -> None:
        """The step is over: what somebody has not read goes to the arena, what all have read leaves it."""
        least = min([arc.head for arc in self.arcs]) if self.arcs else self.tail
        if self._queue is None:
            self._queue = self.queue(self._owner, self._scope)
        kept = len(self._queue)
        read = min(least - self._start, kept)
        if read:
            self._queue.drop(read)
            self._start += read
        if read == kept:
            self._start = least
        for start, chunk in zip(self._starts, self._chunks, strict=True):
            self._queue.append(chunk.slice(least - start, len(chunk)) if least > start else chunk)
        self._chunks.clear()
        self._starts.clear()
        self._past = 0
        if self._kept:
            for arc in self.arcs:
                arc.remember(arc.head - self._start)

    @property
    def _kept(self) -> int:
        return 0 if self._queue is None else len(self._queue)

    def queue(self, owner: str, scope: Scope) -> DeltaQueue:
        """A place in the arena for rows of this kind."""
        with self._interner.owned(owner):
            return DeltaQueue(self.layout, scope, self._interner)


def _before(delta: Delta, start: int, now: int) -> Delta:
    ts = delta.ts
    stop = len(ts) if ts[-1] < now else int(np.searchsorted(ts, now, side="left"))
    return delta if start == 0 and stop == len(ts) else delta.slice(start, max(start, stop))


def least_clock(arcs: Sequence[Arc]) -> int:
    """How far an operator with these inputs may work."""
    if len(arcs) == 1:
        return arcs[0].clock
    return min(arc.clock for arc in arcs)
