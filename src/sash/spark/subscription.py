"""A subscription on Spark: the changes of a view as they come, batch after batch, from the files of the outputs.

Nothing waits for a subscriber in memory: it knows the last batch that it has read, and reads on from there. One that is slower
than the history of the view is told so, or gets the answer with which the history begins.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from threading import Condition

import numpy as np
import pyarrow as pa

from sash.errors import SashError
from sash.runtime.change_log import instants
from sash.runtime.subscribing import POLL, Slow, Subscription, Wishes
from sash.spark.changelog import Changelog, Piece


class FileSubscription(Subscription):
    """`first` comes before all that is read; `may_come` tells whether more may come, and `final_before` what is final by now."""

    def __init__(
        self, changelog: Changelog, schema: pa.Schema, after: int | None, first: list[pa.RecordBatch], came: Condition,
        may_come: Callable[[], bool], final_before: Callable[[], int], wishes: Wishes, timeout: float | None = None,
    ) -> None:
        super().__init__(timeout)
        self._changelog, self._schema, self._after, self._came = changelog, schema, after, came
        self._may_come, self._final_before, self._wishes = may_come, final_before, wishes
        self._told = final_before() if wishes.since is None else wishes.since
        self._rows: Iterator[pa.RecordBatch] = iter(())
        for batch in first:
            self._put(batch, self._told)

    @property
    def is_over(self) -> bool:
        if self._is_closed or self._ready or self._changelog.has_more(self._after):
            return self._is_closed
        return not (self._may_come() and self._changelog.goes_on())

    def close(self) -> None:
        """Read no more; a thread that waits in this subscription stops."""
        with self._came:
            super().close()
            self._came.notify_all()

    def _fill(self, timeout: float | None) -> None:
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self._is_closed:
            batch = next(self._rows, None)
            if batch is not None:
                self._put(batch, self._told)
                return
            if not self._go_on() and not self._wait(deadline):
                return
            if self._ready:
                return

    def _go_on(self) -> bool:
        """Begin to read what has come; False if nothing has."""
        before = self._final_before()  # what is final by now is on record before the newest batch is asked for
        if not self._changelog.has_more(self._after):
            return False
        last = self._changelog.step(self._after)
        pieces = self._changelog.pieces(self._after, last)
        is_first, self._after = self._after is None, last
        if any(piece.is_answer for piece in pieces) and not is_first and self._wishes.slow is Slow.ERROR:
            self._after = pieces[0].last  # it may go on from there
            raise SashError(
                f"a subscriber of {self._changelog.name} is slower than its history: changes are gone that it has not read",
                "read the view and go on, read faster, or keep more: connect(history=…)",
            )
        self._rows = self._read([piece for piece in pieces if not (is_first and piece.is_answer)], before, is_first=is_first)
        return True

    def _read(self, pieces: list[Piece], before: int, *, is_first: bool) -> Iterator[pa.RecordBatch]:
        """Rows of some pieces; when the last of them is read, everything before an instant is."""
        for piece in pieces:
            for batch in self._changelog.read(piece, self._schema):
                whole = batch.slice(int(np.searchsorted(instants(batch), self._wishes.since or 0))) if is_first else batch
                if whole.num_rows:
                    yield whole
        if before > self._told:
            self._told = before
            self._time_is(before)
            if self._wishes.progress:
                yield pa.RecordBatch.from_pylist([], schema=self._schema)

    def _wait(self, deadline: float | None) -> bool:
        """Until a batch may have come; False when none will, or the time is over."""
        if not self._may_come() or not self._changelog.goes_on():
            return False
        left = POLL if deadline is None else min(POLL, deadline - time.monotonic())
        if left <= 0:
            return False
        with self._came:
            if not self._is_closed:
                self._came.wait(left)
        return True
