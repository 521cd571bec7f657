"""A job while it runs, for who knows Spark's StreamingQuery: the same names, with the same meaning.

    start() ─▶ RunningQuery ─▶ stop()
                 │  query of Spark ─▶ another one: a worker died, or a new view needs one more exchange ─▶ …

It stands for the job, from one `start` to the `stop` after it, whichever query of Spark's runs it. Errors are those of Sash.
"""

from __future__ import annotations

import time
from typing import Any, Protocol

from pyspark.sql.streaming.listener import StreamingQueryProgress

from sash.spark.failures import explain
from sash.spark.interrupts import noted_interrupts
from sash.spark.lasting import LastingQuery

POLL = 0.2  # seconds between two looks for Ctrl-C


class Controls(Protocol):
    """Who runs the job."""

    def drain(self) -> None: ...

    def stop(self) -> None: ...


class RunningQuery:
    """What `start()` gives."""

    def __init__(self, query: LastingQuery, controls: Controls) -> None:
        self._query, self._controls = query, controls
        self._is_between = False  # two queries of Spark's
        self._failure: BaseException | None = None

    def wait_for_next(self) -> None:
        """The query of Spark's is about to end, and another one to take its place."""
        self._is_between = True

    def go_on_with(self, query: LastingQuery) -> None:
        self._query, self._is_between = query, False

    def end(self, failure: BaseException | None = None) -> None:
        """No other query will come."""
        self._failure, self._is_between = self._failure or failure, False

    @property
    def name(self) -> str:
        """Of the query, as Spark's pages show it."""
        return self._query.name

    @property
    def id(self) -> str:
        """Of the query in Spark's checkpoint: the same after a restart."""
        return self._query.id

    @property
    def runId(self) -> str:
        """Of the query of Spark's that runs now."""
        return self._query.runId

    @property
    def isActive(self) -> bool:
        """Whether it runs: neither stopped nor failed."""
        return self._is_between or (self._failure is None and self._query.isActive)

    @property
    def status(self) -> dict[str, Any]:
        """What Spark does at the moment."""
        return self._query.status

    @property
    def recentProgress(self) -> list[StreamingQueryProgress]:
        """What Spark tells of the last batches, since its query began."""
        return self._query.recentProgress

    @property
    def lastProgress(self) -> StreamingQueryProgress | None:
        """The same of the last batch."""
        return self._query.lastProgress

    def exception(self) -> BaseException | None:
        """What it failed with, as a `SashError`."""
        failure = self._failure or (None if self._is_between else self._query.exception())
        return None if failure is None else explain(failure)

    def awaitTermination(self, timeout: float | None = None) -> bool:
        """Wait until it is stopped, or for so many seconds; whether it has ended. What it failed with is raised."""
        until = float("inf") if timeout is None else time.monotonic() + timeout
        with noted_interrupts() as interrupt:
            while self.isActive:
                left = until - time.monotonic()
                if left <= 0:
                    return False
                if interrupt.is_set():
                    raise KeyboardInterrupt
                time.sleep(min(POLL, left))
        if (failure := self.exception()) is not None:
            raise failure
        return True

    def processAllAvailable(self) -> None:
        """Wait until all that is there now is answered: `drain` of the database."""
        self._controls.drain()

    def stop(self) -> None:
        """End it: `stop` of the database."""
        self._controls.stop()

    def __repr__(self) -> str:
        return f"<RunningQuery {self.name}: {'active' if self.isActive else 'ended'}>"
