"""Subscriptions: the changes of a view as they come, for a thread that has nothing else to do.

    for batch in db.subscribe("v"):         Arrow record batches: _op, _ts, then the columns of the view
        …

It begins with what comes after it was asked for, and ends when the view is dropped or the database is closed. It holds back
nobody: a reader that has fallen behind what is kept is told so, once, and may go on from there.
"""

from __future__ import annotations

from collections import deque
from types import TracebackType
from typing import Protocol

import pyarrow as pa

from sash.turns import Turns


class Unread(Protocol):
    """What a host has for one subscriber. Called in a turn."""

    def take(self) -> list[pa.RecordBatch]:
        """What has come since the last call; an error if a part of it is not there any more."""

    @property
    def is_over(self) -> bool:
        """Whether nothing will come any more."""


class EmbeddedSubscription:
    """An iterator of batches; `timeout` is for how many seconds it waits for the next one before it stops."""

    def __init__(self, unread: Unread, turns: Turns, timeout: float | None = None) -> None:
        self._unread = unread
        self._turns = turns
        self._timeout = timeout
        self._ready: deque[pa.RecordBatch] = deque()
        self._is_closed = False

    def __iter__(self) -> EmbeddedSubscription:
        return self

    def __next__(self) -> pa.RecordBatch:
        """The next batch. After a time-out one may ask again: nothing is lost."""
        with self._turns.last_turn():
            if not self._is_closed and not self._ready:
                self._turns.wait_for(self._has_come, self._timeout)
            if self._is_closed or not self._ready:
                raise StopIteration
            return self._ready.popleft()

    def close(self) -> None:
        """Read no more; a thread that waits in this subscription stops."""
        with self._turns.last_turn():
            self._is_closed = True
            self._ready.clear()
            self._turns.notify()

    def __enter__(self) -> EmbeddedSubscription:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _has_come(self) -> bool:
        if not self._is_closed:
            self._ready.extend(self._unread.take())
        return self._is_closed or bool(self._ready) or self._unread.is_over
