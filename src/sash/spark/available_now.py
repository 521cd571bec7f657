"""Runs to the end of what is there now (Trigger.AvailableNow), for sources in Python.

    PySpark 4.2 and later     tells a source when such a run begins, and asks it for the offset after the next batch
    PySpark 4.1               asks for the newest offset there is, without a word of where the query is, and runs one batch

So on 4.1 the settings of a query tell that it is such a run, it is stopped when all is answered, and the source remembers by
itself where the query is: at the end of the batch that it has planned last, or of the last one in Spark's log.
"""

from __future__ import annotations

__all__ = ["IS_TOLD", "SupportsTriggerAvailableNow"]

try:
    from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow

    IS_TOLD = True
except ImportError:
    IS_TOLD = False

    class SupportsTriggerAvailableNow:  # type: ignore[no-redef]
        """Nobody asks for it."""
