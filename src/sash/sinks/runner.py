"""The runner: a thread that carries what a feed has to a sink, and does not give up.

    begin ─▶ take ─▶ write ─▶ take ─▶ …
      ▲                │
      └── wait ◀── failure: counted, told to who asks, tried again

It remembers nothing that the sink does not: after a failure it asks the sink again how far it is.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace

from sash.errors import SashError
from sash.sinks.sink import Feed, Sink, SinkMoved, SinkRefused

LOOK = 0.5  # seconds after which a thread that waits for changes looks whether it is still wanted
FIRST_WAIT, LONGEST_WAIT = 0.05, 5.0  # seconds between two tries


@dataclass(frozen=True)
class Status:
    """How it is going."""

    position: int | None = None  # the last that is written; None: nothing yet
    complete_before: int | None = None  # all changes before this instant are written
    rows: int = 0  # written by this process
    failures: int = 0  # tries that failed, ever
    error: SashError | None = None  # of the last try, if that failed


class Runner:
    """Carries changes until it is stopped."""

    def __init__(self, name: str, feed: Feed, sink: Sink) -> None:
        self.name, self._feed, self._sink = name, feed, sink
        self.status = Status()
        self._is_begun = self.is_stopped = False
        self._cause: Exception | None = None  # of the last failure
        self._changed = threading.Condition()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name=f"sash sink {name}")

    def start(self) -> None:
        self._thread.start()

    @property
    def is_behind(self) -> bool:
        """Whether something waits to be written."""
        return not self._is_begun or self._feed.waiting(self.status.position) > 0

    def drain(self, timeout: float | None = None) -> None:
        """Wait until all that is there now is written; the error of a try that fails after this was asked."""
        failures, end = self.status.failures, None if timeout is None else time.monotonic() + timeout
        self._wake.set()
        while self.is_behind:
            status = self.status
            if status.failures > failures and status.error is not None:
                raise status.error
            if self.is_stopped or not self._thread.is_alive():
                raise SashError(f'sink "{self.name}" was stopped before everything was written', "begin again")
            left = LOOK if end is None else min(LOOK, end - time.monotonic())
            if left <= 0:
                raise SashError(f'sink "{self.name}" has not written everything within {timeout:g} seconds', "wait longer")
            with self._changed:
                if self.status is status:
                    self._changed.wait(min(left, LOOK))

    def drain_patiently(self, patience: float) -> None:
        """The same, but tries may fail for so many seconds."""
        end = time.monotonic() + patience
        while True:
            try:
                self.drain(max(0.0, end - time.monotonic()))
                return
            except SashError:
                if self.is_stopped or time.monotonic() >= end or isinstance(self._cause, SinkRefused):
                    raise

    def stop(self, *, wait: bool) -> None:
        """Write no more; with `wait`, until what is being written is written, or not."""
        self.is_stopped = True
        self._wake.set()
        self._feed.close()
        if wait and self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        pause = FIRST_WAIT
        while not self.is_stopped:
            try:
                self._step()
                pause = FIRST_WAIT
            except SinkMoved as moved:
                self._tell(replace(self.status, position=moved.position))
            except Exception as failure:
                self._failed(failure)
                self._wake.wait(LONGEST_WAIT if isinstance(failure, SinkRefused) else pause)
                pause = min(2 * pause, LONGEST_WAIT)
            self._wake.clear()
        self._sink.close()

    def _step(self) -> None:
        if not self._is_begun:
            self._tell(replace(self.status, position=self._sink.begin()))
            self._is_begun = True
        taken = self._feed.take(self.status.position, LOOK)
        if taken is not None and not self.is_stopped:
            rows = self.status.rows + self._sink.write(taken)
            complete = taken.complete_before if taken.complete_before is not None else self.status.complete_before
            self._tell(replace(self.status, position=taken.position, complete_before=complete, rows=rows, error=None))

    def _failed(self, failure: Exception) -> None:
        """Begin again: the connection may be gone, or have done what it could not say any more."""
        self._is_begun = False
        self._sink.close()
        why = failure.message if isinstance(failure, SashError) else f"{type(failure).__name__}: {failure}"
        hint = failure.hint if isinstance(failure, SashError) else None
        told = SashError(
            f'sink "{self.name}" cannot write: {why}', hint or "mend the cause; nothing is lost, and it is tried again by itself"
        )
        self._cause = failure
        self._tell(replace(self.status, failures=self.status.failures + 1, error=told))

    def _tell(self, status: Status) -> None:
        with self._changed:
            self.status = status
            self._changed.notify_all()
