"""Tables whose rows a static DataFrame has: a temporary view of the session, a table of its catalog, a file that Spark reads."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from sash.errors import SashError, choices
from sash.plan.streams import StreamSpec
from sash.spark.failures import reason
from sash.spark.frame_streams import column_types
from sash.sql.syntax.text_positions import quoted


def is_frame(rows: object) -> bool:
    return isinstance(rows, DataFrame)


def check_static(name: str, frame: DataFrame) -> None:
    if frame.isStreaming:
        raise SashError(
            f'the DataFrame of table "{name}" is a streaming one',
            "connect a stream with stream(), and let the table follow it: CREATE TABLE … WITH (changes = …)",
        )


def table_declaration(name: str, frame: DataFrame) -> str:
    """CREATE TABLE, in words."""
    listed = ", ".join(f"{quoted(column)} {type_}" for column, type_ in column_types(name, frame).items())
    return f"CREATE TABLE {quoted(name)} ({listed})"


def static_rows(table: StreamSpec, frame: DataFrame) -> pa.Table:
    """The columns that a table has, of all rows."""
    check_static(table.name, frame)
    there = {column.lower(): column for column in frame.columns}
    missing = [column for column in table.schema.names if column.lower() not in there]
    if missing:
        told = f'the DataFrame of table "{table.name}" has no column "{missing[0]}"'
        raise SashError(told, f"it has: {choices(frame.columns)}")
    columns: list[Any] = [frame[quoted(there[column.lower()])].alias(column) for column in table.schema.names]
    try:
        return frame.select(*columns).toArrow()
    except (PySparkException, Py4JJavaError) as failure:
        told = f'Spark cannot read the rows of table "{table.name}": {reason(str(failure))}'
        raise SashError(told, "see its DataFrame") from failure
