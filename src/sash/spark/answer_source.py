"""The final answer of a view as a DataFrame: a source that reads what is on record after the last batch.

Spark asks a source once for its partitions, and then keeps them for all queries over the same temporary view. So which answer it
is, is found out by the task that reads it: the newest answer in the checkpoint, and the changes since. It needs nobody but the
files of the checkpoint, which all machines reach.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

if TYPE_CHECKING:
    import pyarrow as pa

    from sash.schema import Schema
    from sash.spark.changelog import Changelog

FORMAT = "sash-answer"
CHANGELOG, COLUMNS = "changelog", "columns"  # options


def options_of(changelog: Changelog, schema: Schema) -> dict[str, str]:
    from sash.planner.write_plan import to_data
    from sash.schema import Schema

    return {CHANGELOG: changelog.to_text(), COLUMNS: json.dumps(to_data(schema, Schema))}


class AnswerReader(DataSourceReader):  # type: ignore[misc]
    """One task reads one answer, which is that of one batch."""

    def __init__(self, changelog: str, columns: str, schema: StructType) -> None:
        self._changelog, self._columns, self._schema = changelog, columns, schema

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(0)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        from sash.planner.read_plan import from_data, json_object
        from sash.schema import Schema
        from sash.spark.arrow_types import arrow_schema
        from sash.spark.changelog import Changelog

        where = "an option of Spark's source"
        schema = from_data(json_object(self._columns.encode(), where), Schema, where, None)
        answer = Changelog.from_text(self._changelog).answer(schema)
        yield from answer.cast(arrow_schema(self._schema)).to_batches()


class AnswerSource(DataSource):  # type: ignore[misc]
    """The source by its name, as Spark wants it."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def reader(self, schema: StructType) -> AnswerReader:
        return AnswerReader(self.options[CHANGELOG], self.options[COLUMNS], schema)
