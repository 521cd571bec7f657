"""Queries that outlive their workers.

A task whose Python worker died is run again by Spark, where the session lets it: `local[N,4]` does, `local[N]` does not, and the
worker that plans batches is no task at all. A query that ended so is begun again from its checkpoint, a few times in a row: one
that kills every worker is not tried for ever. All who ask for the query ask here, and whoever comes first begins it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql.streaming.listener import StreamingQueryProgress
from pyspark.sql.streaming.query import StreamingQuery

from sash.errors import LostWorkerWarning, warn
from sash.spark.catching_up import CatchingUp
from sash.spark.failures import is_lost

LIVES = 4  # beginnings in a row without a batch that came to its end
NOTHING_CAME = "Waiting for data to arrive"  # what a query says that has looked for rows and found none
LOOKS, MOMENT = 20, 0.005  # how often it is asked whether it says so, and seconds in between


class LastingQuery:
    """A streaming query, for as long as it is not stopped."""

    def __init__(self, begin: Callable[[], StreamingQuery], batch: Callable[[], int]) -> None:
        self._begin, self._batch = begin, batch
        self._lock = threading.RLock()
        self._is_stopped = False
        self._left, self._begun_at = LIVES, batch()
        self._query = begin()
        self._catching_up: CatchingUp | None = None

    @property
    def isActive(self) -> bool:
        return bool(self._alive().isActive)

    @property
    def has_read_all(self) -> bool:
        """Whether it runs, and found nothing to read when it last looked. While it looks again, and before it first does, it says
        that there is nothing, too; so it is asked a few times for the message that tells the two apart."""
        for _ in range(LOOKS):
            query = self._alive()
            status = query.status
            if not query.isActive or status["isDataAvailable"]:
                return False
            if status["message"] == NOTHING_CAME:
                return True
            time.sleep(MOMENT)
        return False

    @property
    def name(self) -> str:
        return str(self._query.name)

    @property
    def id(self) -> str:
        return str(self._query.id)

    @property
    def runId(self) -> str:
        return str(self._query.runId)

    @property
    def status(self) -> dict[str, Any]:
        return dict(self._alive().status)

    @property
    def recentProgress(self) -> list[StreamingQueryProgress]:
        return list(self._query.recentProgress)

    @property
    def lastProgress(self) -> StreamingQueryProgress | None:
        return self._query.lastProgress

    def exception(self) -> PySparkException | None:
        return self._alive().exception()

    def processAllAvailable(self) -> None:
        """Until it has taken all that is there now."""
        self._lastingly(lambda query: self._catching_up_of(query).wait())

    def awaitTermination(self, timeout: float) -> bool:
        """Whether it has come to its end."""
        return bool(self._lastingly(lambda query: query.awaitTermination(timeout)))

    def stop(self) -> None:
        with self._lock:
            self._is_stopped = True
            self._query.stop()

    def _catching_up_of(self, query: StreamingQuery) -> CatchingUp:
        with self._lock:
            if self._catching_up is None or self._catching_up.query is not query:
                self._catching_up = CatchingUp(query)
            return self._catching_up

    def _lastingly(self, work: Callable[[StreamingQuery], Any]) -> Any:
        """Do something with the query that runs, again if it dies meanwhile and is begun again."""
        while True:
            query = self._alive()
            try:
                return work(query)
            except PySparkException:
                if self._alive() is query:
                    raise

    def _alive(self) -> StreamingQuery:
        """The query, begun again if a process that it needed is gone."""
        with self._lock:
            while not self._is_stopped and not self._query.isActive and self._may_begin_again():
                self._query = self._begin()
            return self._query

    def _may_begin_again(self) -> bool:
        failure = self._query.exception()
        if failure is None or not is_lost(failure):
            return False
        if self._batch() > self._begun_at:
            self._left = LIVES
        self._begun_at = self._batch()
        self._left -= 1
        if self._left < 0:
            return False
        warn(
            "a process of the query died, and Spark gave up; it goes on from its checkpoint"
            " (a session on local[N,4] instead of local[N] tries a task again by itself)",
            LostWorkerWarning,
        )
        return True

