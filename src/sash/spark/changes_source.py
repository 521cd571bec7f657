"""Changes of a view as a streaming DataFrame: a source whose offset is the number of a batch.

Spark keeps the offset in the checkpoint of whoever reads, so a reader goes on after the last batch that it has committed. Files
are looked up when they are read (`changelog.py`), so merging them repeats and loses nothing.
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

    from sash.spark.changelog import Changelog, Piece

FORMAT = "sash-changes"
OPTION = "changelog"


class PiecePartition(InputPartition):  # type: ignore[misc]
    """What one task reads."""

    def __init__(self, piece: Piece) -> None:
        super().__init__(piece)


class ChangesReader(DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]
    """Offsets on the driver; rows in tasks."""

    def __init__(self, text: str, schema: StructType) -> None:
        self._text = text
        self._schema = schema
        self._limit: int | None = None

    @cached_property
    def _changelog(self) -> Changelog:
        from sash.spark.changelog import Changelog

        return Changelog.from_text(self._text)

    def prepareForTriggerAvailableNow(self) -> None:
        self._limit = self._changelog.newest()

    def initialOffset(self) -> dict[str, Any]:
        return {"batch": None}

    def latestOffset(self, start: dict[str, Any] | None = None, limit: ReadLimit | None = None) -> dict[str, Any]:
        newest = self._changelog.newest() if self._limit is None else self._limit
        if start is None:  # PySpark 4.1 wants the last one there is
            return {"batch": newest}
        after = start["batch"]
        if after is not None and after >= newest:
            return start
        return {"batch": self._changelog.step(after, newest)}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        if start == end:
            return []
        return [PiecePartition(piece) for piece in self._changelog.pieces(start["batch"], end["batch"])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        from sash.spark.arrow_types import arrow_schema

        return self._changelog.read(partition.value, arrow_schema(self._schema))


class ChangesSource(DataSource):  # type: ignore[misc]
    """The source by its name, as Spark wants it."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def streamReader(self, schema: StructType) -> ChangesReader:
        return ChangesReader(self.options[OPTION], schema)
