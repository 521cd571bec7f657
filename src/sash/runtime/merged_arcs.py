"""Arcs with merged messages: at most one message waits in an arc, behind all rows (seed 000, 6).

    put    a @1   . @5                              a message waits
    put    b @9                 ─▶   a @1   b @9    it is purged: b stands for it
    take   before 8             ─▶   a @1   . @7    so much of what b stands for as lies before 8; b itself is still to come

Whatever comes purges the message that waits, under every schedule. Any row may stand for some: its reader lets everything leave
whose time has come by then, as if every row were tagged with the paper's flag. But a reader with another input, which is behind,
works up to an instant before that row; and what leaves before then must leave now, since a clock is a promise. So while something
is to come in the arc, it may stand for messages from where the reader last was on, and of that part of it a message is made.
"""

from __future__ import annotations

import numpy as np

from sash.deltas import Delta, Layout
from sash.operators.spec import Messages, Spec
from sash.runtime.arcs import Arc, Buffer
from sash.schema import BEGINNING, FOREVER
from sash.stores.arena import Scope


class MergedArc(Arc):
    """A reader's end; `first` is where the reader last was, if there is anything to come."""

    __slots__ = ("_told",)

    def __init__(self, buffer: Buffer, reader: int, side: int, owner: str, scope: Scope) -> None:
        self._told = BEGINNING  # all that leaves before has been told of
        super().__init__(buffer, reader, side, owner, scope)

    def come(self, first: int) -> None:
        self.first = self._told

    def take(self, now: int) -> Delta:
        delta, is_news = super().take(now), now > self._told
        self._told = max(self._told, now)
        self._look()
        if self.first == FOREVER or not is_news or (len(delta) and delta.ts[-1] == now - 1):
            return delta
        return Delta.concatenate([delta, _message(now - 1, self.buffer.layout)], self.buffer.layout.width)

    def purge(self) -> None:
        """Of the rows for this reader alone, a message at the end."""
        if self._own is not None and len(self._own) and not self._own.peek().weight[-1]:
            self._own.drop_last()

    def _look(self) -> None:
        super()._look()
        if self.first != FOREVER:
            self.first = self._told


class MergedBuffer(Buffer):
    """An output with messages: what is put into it purges those before."""

    hands_over = False

    def arc(self, reader: int, side: int, owner: str, scope: Scope) -> Arc:
        return MergedArc(self, reader, side, owner, scope)

    def put(self, delta: Delta, clock: int) -> None:
        if len(delta) and self.arcs:
            self._purge()
        super().put(_with_one_message(delta), clock)

    def _purge(self) -> None:
        """The message that waits. Who has read it is at the end, with or without it."""
        for arc in self.arcs:
            assert isinstance(arc, MergedArc)
            arc.purge()
        if self._purge_chunk() if self._chunks else self._purge_queue():
            self.tail -= 1
            for arc in self.arcs:
                arc.head = min(arc.head, self.tail)

    def _purge_chunk(self) -> bool:
        chunk = self._chunks[-1]
        if chunk.weight[-1]:
            return False
        self._chunks[-1] = chunk.slice(0, len(chunk) - 1)
        if len(chunk) == 1:
            del self._chunks[-1], self._starts[-1]
            self._past = self._past if self._chunks else 0
        return True

    def _purge_queue(self) -> bool:
        if self._queue is None or not len(self._queue) or self._queue.peek().weight[-1]:
            return False
        self._queue.drop_last()
        return True


def buffer_of(spec: Spec) -> type[Buffer]:
    """The kind of buffer for the output of an operator."""
    return MergedBuffer if spec.messages is Messages.MERGED else Buffer


def _with_one_message(delta: Delta) -> Delta:
    """Only the last one, if nothing follows it."""
    is_kept = delta.weight != 0
    if is_kept[:-1].all():
        return delta
    is_kept[-1] = True
    return delta.take(is_kept)


def _message(instant: int, layout: Layout) -> Delta:
    rows = np.zeros((1, layout.width), np.int64)
    rows[0, layout.values :] = -1
    instants = np.array([instant])
    return Delta(rows, instants, instants, np.zeros(1, np.int64))
