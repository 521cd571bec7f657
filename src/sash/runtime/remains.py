"""What a port of a shard holds, as columns: it can be cut by key, and put together again elsewhere.

    held   rows whose instants are not final
    past   the rows of live windows, and all rows of a table
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa

from sash.planner.job import Port
from sash.runtime.routing import split_by_shard


class Remains(NamedTuple):
    """Rows with their marks (`delta_columns.py`), and what is known of those that are no more."""

    held: pa.RecordBatch
    past: pa.RecordBatch
    since: int  # every row of the past from this instant on is here
    forgotten: int  # rows that came before these
    begin: int | None  # the first time that was given to a row here

    @staticmethod
    def together(every: Sequence[Remains]) -> Remains:
        """Of several shards."""
        held, past, since, forgotten, begins = zip(*every, strict=True)
        begin = min((one for one in begins if one is not None), default=None)
        return Remains(pa.concat_batches(held), pa.concat_batches(past), max(since), sum(forgotten), begin)

    def spread(self, port: Port, shards: int) -> Iterator[Remains]:
        """By the hash of the key, for each of so many shards."""
        held, past = (dict(split_by_shard(rows, port, shards)) for rows in (self.held, self.past))
        for shard in range(shards):
            yield self._replace(held=held.get(shard, self.held.slice(0, 0)), past=past.get(shard, self.past.slice(0, 0)))
