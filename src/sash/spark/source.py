"""The source of a query: all files of all streams, and the events of time, as one stream of packets.

Its offset says all that a batch brings: which splits of which files, which arrival times, which control events.
Spark writes the offset to its log before the batch runs, so a batch that runs again brings the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from sash.spark.offsets import Offset, Share, packets_of, shares
from sash.spark.planner import Planner
from sash.spark.settings import from_text
from sash.spark.wire import SPARK_SCHEMA, to_batches

FORMAT = "sash"
OPTION = "job"


class SharePartition(InputPartition):  # type: ignore[misc]
    """What one task reads."""

    def __init__(self, share: Share) -> None:
        super().__init__(share)


class SashReader(DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]
    """Plans batches on the driver; reads and packs shares of them in tasks."""

    def __init__(self, text: str) -> None:
        self._job, settings = from_text(text)
        self._planner = Planner(self._job, settings)

    def prepareForTriggerAvailableNow(self) -> None:
        self._planner.look_once()

    def initialOffset(self) -> dict[str, Any]:
        return Offset().to_json()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        return self._planner.next(Offset.from_json(start)).to_json()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        if start == end:
            return []
        return [SharePartition(share) for share in shares(self._job, Offset.from_json(end))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return to_batches(packets_of(self._job, partition.value))


class SashSource(DataSource):  # type: ignore[misc]
    """The source by its name, as Spark wants it."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return SPARK_SCHEMA

    def streamReader(self, schema: StructType) -> SashReader:
        return SashReader(self.options[OPTION])
