"""The start of a query, again where Spark gave up too early.

Spark gives the Python process of a source ten seconds to call back, and no setting changes that. On a machine with much to do
it may take longer; nothing has been read by then, so it is enough to start again.
"""

from __future__ import annotations

import time

from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from sash.spark.failures import TOO_LATE

ATTEMPTS = 6
STARTING = ("Initializing", "Getting offsets")  # what the status says until a source has answered
POLL = 0.05  # seconds


def started(writer: DataStreamWriter) -> StreamingQuery:
    """The query, once its sources have answered; what it failed with, if it did before that."""
    for _ in range(ATTEMPTS):
        query = writer.start()
        while query.isActive and query.status["message"].startswith(STARTING):
            time.sleep(POLL)
        failure = None if query.isActive else query.exception()
        if failure is None:  # it runs, or has come to its end already
            return query
        if TOO_LATE not in str(failure):
            break
    assert failure is not None
    raise failure
