"""The start of a query, again where Spark gave up too early.

Spark gives the Python process of a source ten seconds to call back, and no setting changes that. On a machine with much to do
it may take longer; nothing has been read by then, so it is enough to start again.
"""

from __future__ import annotations

import time

from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

ATTEMPTS = 3
TOO_LATE = "Python worker failed to connect back"
STARTING = ("Initializing", "Getting offsets")  # what the status says until a source has answered
POLL = 0.05  # seconds


def started(writer: DataStreamWriter) -> StreamingQuery:
    """The query, once its sources have answered, or failed in another way: who waits for it will be told."""
    for _ in range(ATTEMPTS):
        query = writer.start()
        while query.isActive and query.status["message"].startswith(STARTING):
            time.sleep(POLL)
        if query.isActive or TOO_LATE not in str(query.exception()):
            break
    return query
