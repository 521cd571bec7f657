"""Subscriptions: the changes of a view as they come, whoever runs it.

    for batch in db.subscribe("v"): …                 a thread that has nothing else to do
    async for batch in db.subscribe("v"): …           a loop that has
    db.subscribe("v", on_batch=show)                  a thread of its own, which calls you

A batch has _op, _ts and the columns of the view: _op is +1 for a row that enters and -1 for one that leaves. A row with _op 0 and
no values says: forget all that you have; the answer follows, as rows that enter at one instant.
"""

from __future__ import annotations

import asyncio
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from types import TracebackType
from typing import Self

import numpy as np
import pyarrow as pa

from sash.errors import SashError, choices
from sash.runtime.instants import moment
from sash.schema import BEGINNING

POLL = 0.2  # seconds after which one who waits in a loop looks whether he is still wanted

OnBatch = Callable[[pa.RecordBatch], None]


class Slow(Enum):
    """What becomes of a subscriber that reads more slowly than changes come."""

    ERROR = "error"  # it is told, once, and goes on with what comes after it
    SNAPSHOT = "snapshot"  # it gets the answer instead of what it has missed
    BLOCK = "block"  # those who bring rows wait for it


@dataclass(frozen=True)
class Wishes:
    """What a subscriber asks for."""

    snapshot: bool = False  # the answer first
    since: int | None = None  # changes of this instant and later ones first
    progress: bool = False  # batches without rows too, when time has gone on
    queue: int | None = None  # so many changes may wait for it
    slow: Slow = Slow.ERROR

    @staticmethod
    def of(snapshot: bool, since: int | None, progress: bool, queue: int | None, slow: str) -> Wishes:
        if slow not in [one.value for one in Slow]:
            raise SashError(f'slow="{slow}" is no policy', f"policies are: {choices(one.value for one in Slow)}")
        if snapshot and since is not None:
            raise SashError("a subscription begins with the answer or at an instant, not with both", "leave one out")
        if queue is not None and queue < 1:
            raise SashError(f"a queue of {queue} changes holds nothing", "give a number above 0")
        if slow == Slow.BLOCK.value and queue is None:
            raise SashError('slow="block" needs a bound', "say how many changes may wait: queue=10_000")
        return Wishes(snapshot, since, progress, queue, Slow(slow))


def not_kept(name: str, since: int, kept: int) -> SashError:
    return SashError(
        f'the changes of view "{name}" are kept since {moment(kept)}: none can be read from {moment(since)} on',
        "begin with the answer: subscribe(…, snapshot=True), or keep more: connect(history=…)",
    )


def begun_with(rows: pa.Table, instant: int, schema: pa.Schema, *, anew: bool = False) -> pa.RecordBatch:
    """An answer as changes: all its rows enter at one instant; `anew`, after a row that says to forget all before."""
    count = rows.num_rows
    ops, stamps = pa.array(np.ones(count, np.int8)), pa.array(np.full(count, max(instant, BEGINNING))).cast(pa.timestamp("us"))
    columns = [column.combine_chunks() for column in rows.columns]
    whole = pa.RecordBatch.from_arrays([ops, stamps, *columns], schema=schema)
    if not anew:
        return whole
    mark = [pa.array([0], pa.int8()), pa.array([max(instant, BEGINNING)]).cast(pa.timestamp("us"))]
    nothing = pa.RecordBatch.from_arrays([*mark, *(pa.nulls(1, kind) for kind in schema.types[2:])], schema=schema)
    return pa.concat_batches([nothing, whole])


class Subscription(ABC):
    """An iterator of batches, also for `async for`; `timeout` is for how many seconds it waits for the next one before it stops.

    After a time-out one may ask again: nothing is lost.
    """

    def __init__(self, timeout: float | None) -> None:
        self._timeout = timeout
        self._ready: deque[pa.RecordBatch] = deque()
        self._complete: deque[int] = deque()  # beside every batch: up to which instant all is there with it
        self._is_closed = False
        self._reached = BEGINNING
        self.failure: BaseException | None = None  # what ended a thread that calls somebody

    @abstractmethod
    def _fill(self, timeout: float | None) -> None:
        """Wait until something is ready, or nothing will come any more, or for so many seconds."""

    @property
    @abstractmethod
    def is_over(self) -> bool:
        """Whether nothing will come any more."""

    @property
    def complete_before(self) -> datetime:
        """All changes before this instant have been read: they are in the batches that this subscription has given."""
        return moment(self._reached)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> pa.RecordBatch:
        if not self._ready and not self._is_closed:
            self._fill(self._timeout)
        if not self._ready:
            raise StopIteration
        return self._popped()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> pa.RecordBatch:
        """Whoever is cancelled while it waits has lost nothing: a thread waits, and the batch is taken here."""
        end = None if self._timeout is None else time.monotonic() + self._timeout
        while not self._ready and not self._is_closed:
            left = POLL if end is None else min(POLL, end - time.monotonic())
            await asyncio.to_thread(self._fill, max(0.0, left))
            if left <= 0 or self.is_over:
                break
        if not self._ready:
            raise StopAsyncIteration
        return self._popped()

    def call(self, on_batch: OnBatch) -> Self:
        """Let a thread of its own call somebody with every batch. What is raised there ends it, and is its `failure`."""
        threading.Thread(target=self._call, args=(on_batch,), daemon=True, name="sash subscription").start()
        return self

    def close(self) -> None:
        """Read no more; a thread that waits in this subscription stops."""
        self._is_closed = True
        self._ready.clear()
        self._complete.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _put(self, batch: pa.RecordBatch, complete: int) -> None:
        self._complete.append(complete)
        self._ready.append(batch)

    def _time_is(self, complete: int) -> None:
        """All that is ready has been read, and all before an instant with it."""
        self._reached = max(self._reached, complete)

    def _popped(self) -> pa.RecordBatch:
        batch, reached = self._ready.popleft(), self._complete.popleft()
        if reached > self._reached:
            self._reached = reached
        return batch

    def _call(self, on_batch: OnBatch) -> None:
        try:
            for batch in self:
                on_batch(batch)
        except BaseException as failure:
            self.failure = failure
            self.close()
