"""The newest changes of a view, as far as its history reaches, and what its subscribers have not read yet.

       dropped     | kept
    …  9  9 | 10 10 11 11 12 | 12 13        batches, by instant
                    └─ complete since 11: of 10 the first batch is gone, so none of it is shown

A subscriber holds back nobody: what it has not read is kept within a bound, and one that is slower than that is told so.
"""

from __future__ import annotations

import weakref

import numpy as np
import pyarrow as pa

from sash.deltas import Int64s
from sash.errors import SashError
from sash.runtime.batch_log import BatchLog, Piece
from sash.runtime.history_limit import DEFAULT_BYTES, History
from sash.schema import BEGINNING


class Reader:
    """Where a subscriber is: the number of the first row that it has not read."""

    def __init__(self, position: int) -> None:
        self.position = position


class ChangeLog(BatchLog):
    """Batches of _op, _ts and columns, in the order of _ts."""

    def __init__(self, history: History) -> None:
        super().__init__(history.bytes)
        self.complete_since = BEGINNING  # every change at this instant or later is here
        self._history = history
        self._newest = BEGINNING
        self._readers: weakref.WeakSet[Reader] = weakref.WeakSet()

    def begin(self, instant: int) -> None:
        """A view that is new has no changes before this instant, or before its first one if that is earlier."""
        first = [int(instants(piece.batch)[0]) for piece in list(self._pieces)[:1]]
        self.complete_since = min([instant, *first])

    def append(self, batch: pa.RecordBatch, size: int | None = None) -> None:
        if batch.num_rows:
            self._newest = int(instants(batch)[-1])
            super().append(batch, size)

    def kept(self) -> tuple[list[pa.RecordBatch], int]:
        """All changes from an instant on, and that instant."""
        since = self.complete_since
        if self._history.microseconds is not None:
            since = max(since, self._newest - self._history.microseconds + 1)
        found = self.batches()
        for place, batch in enumerate(found):
            start = int(np.searchsorted(instants(batch), since))
            found[place] = batch.slice(start)
            if start < batch.num_rows:
                return found[place:], since
        return [], since

    def reader(self) -> Reader:
        """One who reads what comes from now on."""
        reader = Reader(self.count)
        self._readers.add(reader)
        return reader

    def read(self, reader: Reader) -> list[pa.RecordBatch]:
        """What has come since it was last asked; an error, once, for one that is too far behind."""
        missed, found = self.first - reader.position, self.since(reader.position)
        reader.position = self.count
        if missed > 0:
            raise SashError(
                f"{missed:,} changes were dropped before this subscriber read them",
                "read the view and go on, read faster, or keep more: connect(history=…)",
            )
        return found

    def taken(self) -> list[pa.RecordBatch]:
        found = super().taken()
        self.complete_since = max(self.complete_since, self._newest + 1 if self.count else BEGINNING)
        return found

    def _drop(self) -> None:
        needed = min((reader.position for reader in self._readers), default=self.count)
        room = max(DEFAULT_BYTES, self._bound or 0)
        while self._pieces and not self._is_kept(self._pieces[0]):
            if self._pieces[0].end > needed and self.bytes <= room:
                return
            if len(self._pieces) == 1 and self._bound:
                self._cut(self._pieces[0], self._bound)
                return
            gone = self._drop_first()
            self.complete_since = max(self.complete_since, int(instants(gone.batch)[-1]) + 1)

    def _is_kept(self, piece: Piece) -> bool:
        if self._history.microseconds is not None:
            return int(instants(piece.batch)[-1]) > self._newest - self._history.microseconds
        return self._bound is None or self.bytes <= self._bound

    def _cut(self, piece: Piece, bound: int) -> None:
        """Of a batch that is larger than all that is kept, the last instants stay, copied, so that the others are gone."""
        ts = instants(piece.batch)
        place = len(ts) - len(ts) * bound // (2 * piece.bytes)
        if place < len(ts) and place and ts[place - 1] == ts[place]:
            place = int(np.searchsorted(ts, ts[place], side="right"))
        self._drop_first()
        self.complete_since = max(self.complete_since, int(ts[place - 1]) + 1)
        if place < len(ts):
            self._put(piece.batch.take(pa.array(np.arange(place, len(ts)))), piece.first + place, 0)


def instants(changes: pa.RecordBatch) -> Int64s:
    """The column _ts as numbers."""
    return np.asarray(changes.column(1).view(pa.int64()))
