"""The newest late or unreadable rows of a stream, within the history: by bytes, or by the time of the stream when they came.

Rows of such a stream have no instant of their own that could be trusted, so it is written down now and then how late it was:

    rows         0 … 117 | 118 … 240 | 241 …
    marks               (118, 12:00) (241, 12:01)      before row 118 all came at 12:00 or earlier

They leave when others come, so the last ones are there however long ago that was.
"""

from __future__ import annotations

from collections import deque

import pyarrow as pa

from sash.runtime.batch_log import BatchLog
from sash.runtime.history_limit import History
from sash.schema import BEGINNING

SHARE = 16  # marks are at least one so-manieth of the history apart


class LostRows(BatchLog):
    """Of one stream."""

    def __init__(self, history: History) -> None:
        super().__init__(history.rows_bytes)
        self._length = history.microseconds
        self._marks: deque[tuple[int, int]] = deque()

    def add(self, batch: pa.RecordBatch, now: int) -> None:
        """More rows, which came when the stream's time was `now`: BEGINNING, where it has none yet."""
        if self._length is not None and now > BEGINNING:
            self._mark(now, self._length)
        self.append(batch)

    def _mark(self, now: int, length: int) -> None:
        if not self._marks or now - self._marks[-1][1] >= length // SHARE:
            self._marks.append((self.count, now))
        while self._marks[0][1] <= now - length:
            row, _ = self._marks.popleft()
            while self._pieces and self._pieces[0].end <= row:
                self._drop_first()
