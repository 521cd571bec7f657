"""A listener of Spark's that knows what the operators of a job did: Spark's progress of a batch, and the metrics after it.

Spark tells of a batch some time after it, from a thread of its own; the metrics are kept until then.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any
from uuid import UUID

from pyspark.sql.streaming import StreamingQueryListener
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryProgress,
)

LOG = logging.getLogger(__name__)

OnMetrics = Callable[[StreamingQueryProgress, dict[str, Any]], None]


class MetricsListener(StreamingQueryListener):  # type: ignore[misc]
    """Of one host; other queries of the session are passed over."""

    def __init__(self, tell: OnMetrics) -> None:
        self.runs: set[UUID] = set()
        self._tell = tell
        self._kept: dict[int, dict[str, Any]] = {}

    def keep(self, batch: int, metrics: dict[str, Any]) -> None:
        """The metrics after a batch, for when Spark tells of it."""
        self._kept[batch] = metrics

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        progress = event.progress
        metrics = self._kept.pop(progress.batchId, None) if progress.runId in self.runs else None
        if metrics is not None:
            try:
                self._tell(progress, metrics)
            except Exception:  # Spark would say nothing of it, and the job does not depend on who listens
                LOG.exception("on_metrics failed after batch %d", progress.batchId)

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Nothing has been done yet."""

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Nothing has been done."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        self.runs.discard(event.runId)
