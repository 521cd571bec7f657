"""The source of a query: all files of all streams, and the events of time, as one stream of packets.

Its offset says all that a batch brings: which splits of which files, which arrival times, which control events.
Spark writes the offset to its log before the batch runs, so a batch that runs again brings the same.

Spark loads this module in several processes, each for one question. What only some of them need is imported where it
is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from sash.spark.available_now import SupportsTriggerAvailableNow

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.streaming.datasource import ReadLimit

    from sash.spark.offsets import Offset, Share
    from sash.spark.planner import Planner

FORMAT = "sash"
OPTION = "job"
SPARK_SCHEMA = "shard int, level int, cargo int, name string, port int, place bigint, body binary"


class SharePartition(InputPartition):  # type: ignore[misc]
    """What one task reads."""

    def __init__(self, share: Share) -> None:
        super().__init__(share)


class SashReader(DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]
    """Plans batches on the driver; reads and packs shares of them in tasks."""

    def __init__(self, text: str) -> None:
        self._text = text  # of job and settings
        self._planned: Offset | None = None  # the end of the last batch

    @cached_property
    def _planner(self) -> Planner:
        from sash.spark.planner import Planner
        from sash.spark.settings import from_text

        job, settings = from_text(self._text)
        planner = Planner(job, settings)
        if settings.is_bounded:
            planner.look_once()
        return planner

    def prepareForTriggerAvailableNow(self) -> None:
        self._planner.look_once()

    def initialOffset(self) -> dict[str, Any]:
        from sash.spark.offsets import Offset

        return Offset().to_json()

    def latestOffset(self, start: dict[str, Any] | None = None, limit: ReadLimit | None = None) -> dict[str, Any]:
        from sash.spark.offsets import Offset

        return self._planner.next(self._reached() if start is None else Offset.from_json(start)).to_json()

    def _reached(self) -> Offset:
        """Where the query is, if it does not say so (PySpark 4.1)."""
        from sash.spark.offsets import newest_offset
        from sash.spark.settings import from_text

        return self._planned or newest_offset(from_text(self._text)[1].checkpoint)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        from sash.spark.offsets import Offset, shares

        offset = self._planned = Offset.from_json(end)
        if start == end and offset.batch:  # the first batch of a query may bring nothing, and yet every shard has to answer it
            return []
        return [SharePartition(share) for share in shares(self._planner.job_at(offset.job), offset)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        from sash.spark.jobs import job_at
        from sash.spark.settings import from_text
        from sash.spark.share_packets import packets_of
        from sash.spark.wire import to_batches

        first, settings = from_text(self._text)
        job = job_at(settings.checkpoint, partition.value.job, first, None)
        return to_batches(packets_of(job, partition.value, settings.checkpoint))


class SashSource(DataSource):  # type: ignore[misc]
    """The source by its name, as Spark wants it."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return SPARK_SCHEMA

    def streamReader(self, schema: StructType) -> SashReader:
        return SashReader(self.options[OPTION])
