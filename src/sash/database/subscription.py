"""Subscriptions of an engine in this process: changes wait in the changelog of the view until they are read.

It begins with what comes after it was asked for, or with the answer, or at an instant that is kept, and ends when the view is
dropped or the database is closed. Unless it asks for it, it holds back nobody: a reader that has fallen behind what is kept is
told so, once, and may go on from there, or gets the answer instead of what it has missed.
"""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa

from sash.runtime.subscribing import Subscription
from sash.turns import Turns


class Unread(Protocol):
    """What a host has for one subscriber. Called in a turn."""

    def take(self) -> list[pa.RecordBatch]:
        """What has come since the last call; an error if a part of it is not there any more."""

    def close(self) -> None:
        """Nobody reads any more."""

    @property
    def nothing(self) -> pa.RecordBatch:
        """A batch without rows."""

    @property
    def complete_before(self) -> int:
        """All changes before this instant have been taken."""

    @property
    def is_over(self) -> bool:
        """Whether nothing will come any more."""


class EmbeddedSubscription(Subscription):
    """Waits for its turn, and lets others have theirs."""

    def __init__(self, unread: Unread, turns: Turns, timeout: float | None = None, *, progress: bool = False) -> None:
        super().__init__(timeout)
        self._unread = unread
        self._turns = turns
        self._progress = progress
        self._told = unread.complete_before
        self._seen = -1  # the last work that was looked at

    @property
    def is_over(self) -> bool:
        return self._is_closed or (not self._ready and (self._turns.is_closed or self._unread.is_over))

    def close(self) -> None:
        self._turns.enter_last()
        try:
            super().close()
            self._unread.close()
            self._turns.notify()
        finally:
            self._turns.leave()

    def _fill(self, timeout: float | None) -> None:
        if timeout == 0 and self._seen == self._turns.works:
            return
        self._turns.enter_last()
        try:
            if not self._has_come() and timeout != 0:
                self._turns.wait_for(self._has_come, timeout)
        finally:
            self._turns.leave()

    def _has_come(self) -> bool:
        if not self._is_closed and not self._ready:
            self._take()
        return self._is_closed or bool(self._ready) or self._unread.is_over

    def _take(self) -> None:
        """Of several batches, only the last brings everything up to an instant."""
        self._seen = self._turns.works
        found, before = self._unread.take(), self._unread.complete_before
        if found:
            for batch in found[:-1]:
                self._put(batch, self._told)
            self._put(found[-1], before)
            self._turns.notify()  # somebody may have waited for it
        elif before > self._told and self._progress:
            self._put(self._unread.nothing, before)
        else:
            self._time_is(before)
        self._told = max(self._told, before)
