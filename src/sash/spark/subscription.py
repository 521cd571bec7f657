"""A subscription on Spark: the changes of a view as they come, batch after batch, from the files of the outputs.

Nothing waits for a subscriber in memory: it knows the last batch that it has read, and reads on from there. One that is slower
than the history of the view is told so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from threading import Condition
from types import TracebackType

import pyarrow as pa

from sash.errors import SashError
from sash.spark.changelog import Changelog

POLL = 0.2  # seconds between two looks whether the database is still open


class Subscription:
    """An iterator of batches; `timeout` is for how many seconds it waits for the next one before it stops."""

    def __init__(
        self, changelog: Changelog, schema: pa.Schema, after: int, came: Condition, is_open: Callable[[], bool],
        timeout: float | None = None,
    ) -> None:
        self._changelog = changelog
        self._schema = schema
        self._after = after
        self._came = came
        self._is_open = is_open
        self._timeout = timeout
        self._is_closed = False
        self._rows: Iterator[pa.RecordBatch] = iter(())

    def __iter__(self) -> Subscription:
        return self

    def __next__(self) -> pa.RecordBatch:
        """The next batch. After a time-out one may ask again: nothing is lost."""
        deadline = None if self._timeout is None else time.monotonic() + self._timeout
        while not self._is_closed:
            batch = next(self._rows, None)
            if batch is not None:
                return batch
            if not self._go_on() and not self._wait(deadline):
                break
        raise StopIteration

    def close(self) -> None:
        """Read no more; a thread that waits in this subscription stops."""
        with self._came:
            self._is_closed = True
            self._came.notify_all()

    def __enter__(self) -> Subscription:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _go_on(self) -> bool:
        """Begin to read what has come; False if nothing has."""
        if not self._changelog.is_there or self._changelog.newest() <= self._after:
            return False
        last = self._changelog.step(self._after)
        pieces = self._changelog.pieces(self._after, last)
        if any(piece.is_answer for piece in pieces):
            self._after = pieces[0].last  # it may go on from there
            raise SashError(
                f"a subscriber of {self._changelog.name} is slower than its history: changes are gone that it has not read",
                "read the view and go on, read faster, or keep more: connect(history=…)",
            )
        self._rows = (batch for piece in pieces for batch in self._changelog.read(piece, self._schema))
        self._after = last
        return True

    def _wait(self, deadline: float | None) -> bool:
        """Until a batch may have come; False when none will, or the time is over."""
        if not self._is_open() or not self._changelog.goes_on():
            return False
        left = POLL if deadline is None else min(POLL, deadline - time.monotonic())
        if left <= 0:
            return False
        with self._came:
            if not self._is_closed:
                self._came.wait(left)
        return True
