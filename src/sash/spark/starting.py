"""The start of a query, again where a Python process of Spark's died, or Spark gave up on it.

Spark gives the Python process of a source ten seconds to call back, and no setting changes that. On a machine with much to do
it may take longer, or somebody ends it; nothing has been read by then, so it is enough to start again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from sash.spark.failures import is_lost

ATTEMPTS = 6
STARTING = ("Initializing", "Getting offsets")  # what the status says until a source has answered
POLL = 0.05  # seconds

Given = TypeVar("Given")


def given(ask: Callable[[], Given]) -> Given:
    """What Spark gives, asked again where a process was lost on the way."""
    for _ in range(ATTEMPTS - 1):
        try:
            return ask()
        except (PySparkException, Py4JJavaError) as failure:
            if not is_lost(failure):
                raise
    return ask()


def started(writer: DataStreamWriter) -> StreamingQuery:
    """The query, once its sources have answered; what it failed with, if it did before that."""
    for _ in range(ATTEMPTS):
        query = writer.start()
        while query.isActive and query.status["message"].startswith(STARTING):
            time.sleep(POLL)
        failure = None if query.isActive else query.exception()
        if failure is None:  # it runs, or has come to its end already
            return query
        if not is_lost(failure):
            break
    assert failure is not None
    raise failure
