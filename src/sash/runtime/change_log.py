"""The newest changes of a view, as far as its history reaches, and what its subscribers have not read yet.

       dropped     | kept
    …  9  9 | 10 10 11 11 12 | 12 13        batches, by instant
                    └─ complete since 11: of 10 the first batch is gone, so none of it is shown

A subscriber holds back nobody: what it has not read is kept within a bound, and one that is slower than that is told so.

Changes stay the lanes that they came in until all of them are asked for. The answer of the view is their sum; they are added to
it as late as can be: when somebody asks for it, or before they are dropped, or become columns.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from math import inf
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from sash.deltas import Delta, Int64s
from sash.errors import SashError
from sash.runtime.batch_log import LARGE, LEVELS, MERGED, BatchLog, Piece, overhead
from sash.runtime.history_limit import DEFAULT_BYTES, History, longest
from sash.runtime.lane_changes import LaneChanges, joined
from sash.runtime.subscribing import Slow
from sash.schema import BEGINNING, FOREVER

Batch: TypeAlias = pa.RecordBatch | LaneChanges


class Reader:
    """Where a subscriber is: the number of the first row that it has not read."""

    def __init__(self, position: int, queue: int | None = None, slow: Slow = Slow.ERROR) -> None:
        self.position = position
        self.queue, self.slow = queue, slow
        self.has_missed = False  # it gets the answer next
        self.thread = threading.get_ident()  # that reads it


class ChangeLog(BatchLog):
    """Batches of _op, _ts and columns, in the order of _ts."""

    def __init__(self, history: History, add_up: Callable[[Delta], None] | None = None) -> None:
        """`add_up` takes all changes that come as lanes, each once."""
        super().__init__(history.bytes)
        self.complete_since = BEGINNING  # every change at this instant or later is here
        self._history, self._most = history, _most(history)
        self._newest = BEGINNING
        self._references: list[weakref.ref[Reader]] = []  # a WeakSet takes longer to walk than a small step
        self._has_impatient = False  # whether there ever was a reader that takes the answer instead of what it has missed
        self._add_up, self._added = add_up, 0  # the number of the first change that is not in the answer

    def begin(self, instant: int) -> None:
        """A view that is new has no changes before this instant, or before its first one if that is earlier."""
        first = [int(instants(piece.batch)[0]) for piece in list(self._pieces)[:1]]
        self.complete_since = min([instant, *first])

    def keep_more(self, history: History) -> None:
        """Of those who ask for a history of one view, the longest has its way."""
        self._history = longest(self._history, history)
        self._bound, self._most = self._history.bytes, _most(self._history)

    def append(self, batch: Batch, size: int | None = None) -> None:
        if batch.num_rows:
            self._newest = int(instants(batch)[-1])
            super().append(batch, size)

    def append_lanes(self, batch: LaneChanges) -> None:
        """The same of changes that came last in a step; written out, as there may be many views and few changes of each."""
        first, count, pieces = self.count, batch.num_rows, self._pieces
        self._newest = batch.units.ts.item(-1)
        self.count = first + count
        self._overhead = self._overhead or overhead(batch)
        size, level = batch.nbytes + self._overhead, LEVELS if batch.nbytes >= LARGE else 0
        pieces.append(Piece(batch, first, self.count, size, level))
        self.bytes += size
        if len(pieces) >= MERGED and pieces[-MERGED].level == level and level < LEVELS:
            self._merge()
        if self.bytes > self._most or self._has_impatient:
            self._drop()

    @property
    def newest(self) -> int:
        """The instant of the last change."""
        return self._newest

    @property
    def kept_since(self) -> int:
        """The instant from which on all changes are here."""
        if self._history.microseconds is None:
            return self.complete_since
        return max(self.complete_since, self._newest - self._history.microseconds + 1)

    def kept(self) -> tuple[list[pa.RecordBatch], int]:
        """All changes from an instant on, and that instant."""
        since = self.kept_since
        found = self.batches()
        for place, batch in enumerate(found):
            start = int(np.searchsorted(instants(batch), since))
            found[place] = batch.slice(start)
            if start < batch.num_rows:
                return found[place:], since
        return [], since

    def reader(self, since: int | None = None, queue: int | None = None, slow: Slow = Slow.ERROR) -> Reader:
        """One who reads what comes from now on, or from an instant on since which all is kept."""
        reader = Reader(self.count if since is None else self._first_at(since), queue, slow)
        self._references.append(weakref.ref(reader, self._references.remove))
        self._has_impatient |= slow is Slow.SNAPSHOT
        return reader

    @property
    def _readers(self) -> list[Reader]:
        return [reader for reference in tuple(self._references) if (reader := reference()) is not None]

    def leave(self, reader: Reader) -> None:
        """It reads no more."""
        self._references[:] = [reference for reference in self._references if reference() is not reader]
        self._drop()

    def blocking(self) -> Reader | None:
        """One for whom those who bring rows are to wait."""
        return next((one for one in self._readers if one.slow is Slow.BLOCK and self._is_full(one)), None)

    def _is_full(self, reader: Reader) -> bool:
        return reader.queue is not None and self.count - reader.position > reader.queue

    def _first_at(self, instant: int) -> int:
        """The number of the first change at an instant or later."""
        for piece in self._pieces:
            ts = instants(piece.batch)
            if ts[-1] >= instant:
                return piece.first + int(np.searchsorted(ts, instant))
        return self.count

    def read(self, reader: Reader) -> list[pa.RecordBatch]:
        """What has come since it was last asked; an error, once, for one that is too far behind."""
        row, reader.thread = reader.position, threading.get_ident()
        if row == self.count:
            return []
        if self._pieces and self._pieces[-1].first == row:
            batch, reader.position = self._pieces[-1].batch, self.count
            if self.bytes > self._most or self._has_impatient:
                self._drop()
            return [batch.columns() if isinstance(batch, LaneChanges) else batch]
        missed = self._pieces[0].first - row if self._pieces else self.count - row
        found = [_columns_of(piece, row) for piece in self._from(row)]
        reader.position = self.count
        self._drop()
        if missed > 0 and reader.slow is Slow.SNAPSHOT:
            reader.has_missed, found = True, []
        elif missed > 0:
            raise SashError(
                f"{missed:,} changes were dropped before this subscriber read them",
                "read the view and go on, read faster, or keep more: connect(history=…)",
            )
        return found

    def batches(self) -> list[pa.RecordBatch]:
        self.write_columns()
        return super().batches()

    def taken(self) -> list[pa.RecordBatch]:
        found = super().taken()
        self.complete_since = max(self.complete_since, self._newest + 1 if self.count else BEGINNING)
        return found

    def add_all(self) -> None:
        """Add to the answer what is not in it."""
        for piece in self._from(self._added):
            self._add(piece)

    def write_columns(self) -> None:
        """What lies as lanes becomes columns."""
        self.add_all()
        for place, piece in enumerate(self._pieces):
            if isinstance(piece.batch, LaneChanges):
                # They count as before, though they are smaller now: how much is kept does not depend on who reads.
                self._pieces[place] = piece._replace(batch=piece.batch.columns())

    def _from(self, row: int) -> list[Piece]:
        """The pieces that have rows from a number on."""
        found: list[Piece] = []
        for piece in reversed(self._pieces):
            if piece.end <= row:
                break
            found.append(piece)
        return found[::-1]

    def _add(self, piece: Piece) -> None:
        if piece.end > self._added:
            if self._add_up is not None and isinstance(piece.batch, LaneChanges):
                self._add_up(piece.batch.slice(max(0, self._added - piece.first)).units)
            self._added = piece.end

    def _drop(self) -> None:
        if self.bytes <= self._most and not self._has_impatient:
            return
        for reader in self._readers if self._has_impatient else ():
            if reader.slow is Slow.SNAPSHOT and self._is_full(reader):
                reader.has_missed, reader.position = True, self.count
        if not self._pieces or self._is_kept(self._pieces[0]):
            return
        needed = min((reader.position for reader in self._readers), default=self.count)
        blocks = any(reader.slow is Slow.BLOCK for reader in self._readers)
        room = FOREVER if blocks else max(DEFAULT_BYTES, self._bound or 0)
        while self._pieces and not self._is_kept(self._pieces[0]):
            if self._pieces[0].end > needed and self.bytes <= room:
                return
            if len(self._pieces) == 1 and self._bound:
                self._cut(self._pieces[0], self._bound)
                return
            gone = self._drop_first()
            self.complete_since = max(self.complete_since, int(instants(gone.batch)[-1]) + 1)

    def _drop_first(self) -> Piece:
        gone = super()._drop_first()
        self._add(gone)
        return gone

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
            self._put(_end(piece.batch, place), piece.first + place, 0)

    def _joined(self, batches: list[Batch]) -> Batch:
        lanes = [batch for batch in batches if isinstance(batch, LaneChanges)]
        if len(lanes) == len(batches):
            return joined(lanes)
        if lanes:
            self.add_all()
        return super()._joined([batch.columns() if isinstance(batch, LaneChanges) else batch for batch in batches])


def _most(history: History) -> float:
    """Bytes up to which nothing need be dropped; of a history by time, that is to be looked at."""
    return -1 if history.microseconds is not None else inf if history.bytes is None else history.bytes


def instants(changes: Batch) -> Int64s:
    """The column _ts as numbers."""
    return changes.units.ts if isinstance(changes, LaneChanges) else np.asarray(changes.column(1).view(pa.int64()))


def _columns_of(piece: Piece, row: int) -> pa.RecordBatch:
    """The rows of a piece from a number on. Lanes stay what they are: who has read them need not want them again."""
    start, batch = max(0, row - piece.first), piece.batch
    return batch.columns(start) if isinstance(batch, LaneChanges) else batch.slice(start)


def _end(batch: Batch, start: int) -> Batch:
    return batch.end(start) if isinstance(batch, LaneChanges) else batch.take(pa.array(np.arange(start, batch.num_rows)))
