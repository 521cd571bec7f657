"""What a sink on Spark reads: the changes of a view by the number of the batch, from the files of the outputs.

Nothing waits in memory. A batch is there for the sink when it is in the manifest; one that is answered again, as its driver died
before Spark had committed it, has the same changes. A sink that is older than the history gets the answer with which that begins.
"""

from __future__ import annotations

from threading import Condition

import numpy as np
import pyarrow as pa

from sash.runtime.change_log import instants
from sash.sinks.sink import Taken
from sash.spark.changelog import Changelog


class FileFeed:
    """Positions are numbers of batches."""

    def __init__(self, changelog: Changelog, schema: pa.Schema, came: Condition) -> None:
        self._changelog, self._schema, self._came = changelog, schema, came
        self._is_closed = False

    def take(self, after: int | None, timeout: float) -> Taken | None:
        if not self._changelog.has_more(after):
            with self._came:
                if not self._is_closed:
                    self._came.wait(timeout)
        if self._is_closed or not self._changelog.has_more(after):
            return None
        last = self._changelog.step(after)
        pieces = self._changelog.pieces(after, last)
        if not pieces:
            return Taken(after, last, self._schema.empty_table())
        first, position = pieces[0], last if len(pieces) == 1 else pieces[0].last
        changes = pa.Table.from_batches(self._changelog.read(first, self._schema), self._schema)
        if first.is_new_start:
            changes = changes.slice(1)  # a row that says to forget all before
        if first.is_answer:
            position = first.last
        return Taken(after, position, changes, first.is_answer, _complete_before(changes))

    def waiting(self, after: int | None) -> int:
        if not self._changelog.has_more(after):
            return 0
        return 1 if after is None else max(1, self._changelog.newest() - after)

    def close(self) -> None:
        with self._came:
            self._is_closed = True
            self._came.notify_all()


def _complete_before(changes: pa.Table) -> int | None:
    """All changes of an instant are in one batch."""
    greatest = max((int(np.max(instants(batch))) for batch in changes.to_batches() if batch.num_rows), default=None)
    return None if greatest is None else greatest + 1
