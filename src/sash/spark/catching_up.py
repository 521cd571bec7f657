"""Waiting until a query has taken all that is there.

Spark's own `processAllAvailable` waits until a query finds nothing more, and one whose source has new rows at every look always
finds some. Rows that are there now have been taken, too, once a batch that began after now came as far as its source reaches, and
Spark tells both of most sources. Of a source that does not tell how far it reaches, only a look that finds nothing shows it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime

from pyspark.sql.streaming.listener import StreamingQueryProgress
from pyspark.sql.streaming.query import StreamingQuery

LOOK_EVERY = 0.1  # seconds between looks at the last batch


class CatchingUp:
    """One query, waited for as often as somebody asks. Where Spark does not return, one thread at most waits for it."""

    def __init__(self, query: StreamingQuery) -> None:
        self.query = query
        self._asked = self._answered = 0  # how many have asked, and how many of them Spark has answered
        self._failure: Exception | None = None
        self._change = threading.Condition()

    def wait(self) -> None:
        """Until all that is there now has been taken, though more may keep coming."""
        since = datetime.now(UTC)
        turn = self._ask()
        caught_up: set[int] = set()
        while not self._is_answered(turn):
            last = self.query.lastProgress
            if last is not None and datetime.fromisoformat(last.timestamp) >= since:
                caught_up.update(_caught_up(last))
                if len(caught_up) == len(last.sources):
                    return

    def _ask(self) -> int:
        with self._change:
            if self._asked == self._answered:
                threading.Thread(target=self._answer, name="sash-drain", daemon=True).start()
            self._asked += 1
            return self._asked

    def _is_answered(self, turn: int) -> bool:
        with self._change:
            is_answered = self._change.wait_for(lambda: self._answered >= turn, LOOK_EVERY)
            if is_answered and self._failure is not None:
                raise self._failure
            return is_answered

    def _answer(self) -> None:
        """Ask Spark for as long as somebody asks here: it may have looked just before the last one did."""
        while True:
            with self._change:
                turn = self._asked
            failure = self._all_processed()
            with self._change:
                self._answered, self._failure = turn, failure
                self._change.notify_all()
                if turn == self._asked:
                    return

    def _all_processed(self) -> Exception | None:
        try:
            self.query.processAllAvailable()
        except Exception as failure:  # for whoever waits
            return failure
        return None


def _caught_up(progress: StreamingQueryProgress) -> Iterator[int]:
    """The sources of which a batch took all, by their places."""
    for place, source in enumerate(progress.sources):
        if source.endOffset in (source.startOffset, source.latestOffset):  # nothing was there, or nothing is left
            yield place
