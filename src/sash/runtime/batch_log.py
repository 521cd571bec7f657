"""The newest batches of something that never ends, within a bound of bytes; how many rows there ever were is always known.

    dropped | large | large | … | small | small | small
              rows are numbered from the first one ever

Small batches cost far more memory than their rows, so they are merged, sixteen at a time, into larger ones: a row is copied a few
times at most. What is dropped is a whole batch.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import pyarrow as pa

MERGED = 16  # batches of one level become one of the next
LARGE = 1 << 16  # bytes of a batch that is not merged any more
LEVELS = 8
BATCH_OVERHEAD, COLUMN_OVERHEAD = 512, 256  # bytes of memory besides the rows


class Piece(NamedTuple):
    """A batch, the numbers of its first row and of the one after its last."""

    batch: pa.RecordBatch
    first: int
    end: int
    bytes: int
    level: int


class BatchLog:
    """Batches in the order in which they came."""

    def __init__(self, bound: int | None) -> None:
        self._bound = bound  # None: all are kept
        self._pieces: deque[Piece] = deque()
        self.bytes = 0
        self.count = 0  # of all rows that ever came
        self._overhead = 0  # of a batch; all have the same columns

    @property
    def first(self) -> int:
        """The number of the first row that is still here."""
        return self._pieces[0].first if self._pieces else self.count

    def append(self, batch: pa.RecordBatch, size: int | None = None) -> None:
        """More rows; `size` is how many bytes they have, if that is known."""
        if rows := batch.num_rows:
            self._put(batch, self.count, 0, size)
            self.count += rows
            if self._ends_in_equals():
                self._merge()
            self._drop()

    def batches(self) -> list[pa.RecordBatch]:
        return [piece.batch for piece in self._pieces]

    def taken(self) -> list[pa.RecordBatch]:
        """All that is here; it is kept no longer."""
        found = self.batches()
        while self._pieces:
            self._drop_first()
        return found

    def _drop(self) -> None:
        while self._bound is not None and self.bytes > self._bound and self._pieces:
            self._drop_first()

    def _drop_first(self) -> Piece:
        gone = self._pieces.popleft()
        self.bytes -= gone.bytes
        return gone

    def _put(self, batch: pa.RecordBatch, first: int, level: int, size: int | None = None) -> None:
        size = int(batch.nbytes) if size is None else size
        self._overhead = self._overhead or overhead(batch)
        level, bytes_ = LEVELS if size >= LARGE else level, size + self._overhead
        self._pieces.append(Piece(batch, first, first + int(batch.num_rows), bytes_, level))
        self.bytes += bytes_

    def _merge(self) -> None:
        while self._ends_in_equals():
            last = [self._pieces[place] for place in range(-MERGED, 0)]
            whole = self._joined([piece.batch for piece in last])
            for piece in last:
                self._pieces.pop()
                self.bytes -= piece.bytes
            size = sum(piece.bytes for piece in last) - MERGED * self._overhead
            self._put(whole, last[0].first, last[0].level + 1, size)

    def _joined(self, batches: list[pa.RecordBatch]) -> pa.RecordBatch:
        """As one."""
        return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]

    def _ends_in_equals(self) -> bool:
        pieces = self._pieces
        if len(pieces) < MERGED or pieces[-1].level >= LEVELS or pieces[-1].level != pieces[-MERGED].level:
            return False
        return all(pieces[-place].level == pieces[-1].level for place in range(2, MERGED))


def overhead(batch: pa.RecordBatch) -> int:
    """Bytes of a batch besides its rows."""
    return BATCH_OVERHEAD + COLUMN_OVERHEAD * int(batch.num_columns)
