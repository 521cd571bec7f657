"""The declaration of a stream that comes as a Spark DataFrame, from the DataFrame's own columns."""

from __future__ import annotations

import re
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession

from sash.errors import SashError, choices
from sash.plan.streams import StreamSpec
from sash.schema import TIMESTAMP
from sash.sources.messages import OF_MESSAGES
from sash.spark.failures import reason
from sash.spark.placed_frames import KAFKA, KAFKA_PLACES
from sash.sql.length_of_time import parse_duration
from sash.sql.syntax.text_positions import quoted
from sash.sql.syntax.type_names import NARROW, parse_type

FILE_FORMATS = ("csv", "json", "parquet")  # which Sash reads itself


def as_read(stream: StreamSpec) -> StreamSpec:
    """A stream as it is declared, with what is known of the order of its rows from its format."""
    form = stream.option("format")
    if form is None or form.lower() in FILE_FORMATS or stream.is_followed:
        return stream
    return replace(stream, **KAFKA_PLACES) if form.lower() == KAFKA and not stream.is_table else replace(stream, is_unit=True)


def check_streaming(name: str, frame: object) -> None:
    """Another DataFrame would be read as a whole in every batch."""
    if not isinstance(frame, DataFrame):
        raise SashError(f'"{name}" is to read a {type(frame).__name__}, not a DataFrame of Spark', "give a streaming DataFrame")
    if not frame.isStreaming:
        raise SashError(
            f'the DataFrame of "{name}" is not a streaming one',
            "make it by spark.readStream; files and INSERT INTO a table need no DataFrame",
        )


def loaded(spark: SparkSession, stream: StreamSpec, form: str) -> DataFrame:
    """The DataFrame of a stream that is read in a format which Spark knows."""
    ours = ("format", "encoding", *OF_MESSAGES) if stream.encoding is not None else ("format",)
    options = {key: value for key, value in stream.options if key not in ours}
    try:
        return spark.readStream.format(form).options(**options).load()
    except Exception as failure:
        raise SashError(
            f'Spark cannot read stream "{stream.name}" in the format "{form}": {reason(str(failure))}',
            "see its format and its options in CREATE STREAM … WITH (…)",
        ) from failure


def declaration(name: str, frame: DataFrame, timestamp: str | None, delay: str | None, idle_after: str | None) -> str:
    """CREATE STREAM, in words."""
    if timestamp is None:
        raise SashError(
            f'stream "{name}" is not declared, and nothing says which column of the DataFrame has its timestamps',
            f'write stream("{name}", frame, timestamp="column"), or declare it by CREATE STREAM',
        )
    columns = column_types(name, frame)
    found = [column for column in columns if column.lower() == timestamp.lower()]
    if not found:
        raise SashError(f'the DataFrame of stream "{name}" has no column "{timestamp}"', f"it has: {choices(columns)}")
    if columns[found[0]] != str(TIMESTAMP):
        raise SashError(
            f'column "{timestamp}" of stream "{name}" is {columns[found[0]]}, not a TIMESTAMP',
            f'cast it before: frame.withColumn("{timestamp}", …cast("timestamp"))',
        )
    listed = ", ".join(f"{quoted(column)} {type_}" for column, type_ in columns.items())
    lengths = (("DELAY", "delay", delay, 0), ("IDLE AFTER", "idle_after", idle_after, 1))
    clauses = [f"{clause} {_length(name, which, text, least)}" if text else "" for clause, which, text, least in lengths]
    return " ".join([f"CREATE STREAM {quoted(name)} ({listed}) TIMESTAMP BY {quoted(found[0])}", *filter(None, clauses)])


def check_declared(stream: StreamSpec, timestamp: str | None, delay: str | None, idle_after: str | None) -> None:
    """What is said again must be what was declared."""
    if delay or idle_after:
        raise SashError(f'stream "{stream.name}" is declared already', "say DELAY and IDLE AFTER in CREATE STREAM")
    if timestamp is None:
        return
    declared = None if stream.timestamp is None else stream.schema.names[stream.timestamp]
    if declared is None or declared.lower() != timestamp.lower():
        raise SashError(
            f'stream "{stream.name}" is declared with {f"TIMESTAMP BY {declared}" if declared else "no TIMESTAMP BY"}',
            f'declare it with TIMESTAMP BY {timestamp}, or leave timestamp="{timestamp}" out',
        )


def _length(stream: str, which: str, text: str, least: int) -> str:
    """A length of time, looked at by itself: the user has not written the statement that it goes into."""
    length = parse_duration(text, f'{which}="{text}" of stream "{stream}"', f'{which}="10 SECONDS"', least)
    return f"{length} MICROSECONDS"


def column_types(name: str, frame: DataFrame) -> dict[str, str]:
    """The columns of a DataFrame, and their types in SQL."""
    return {field.name: _type_name(name, field.name, field.dataType.simpleString()) for field in frame.schema.fields}


def _type_name(stream: str, column: str, spark_type: str) -> str:
    """The type of a DataFrame's column in SQL; float, smallint and tinyint as the wider ones that hold all their values."""
    wide = re.sub(r"\w+", lambda word: str(NARROW.get(word[0].upper(), word[0])), spark_type)
    try:
        return str(parse_type(wide))
    except SashError as error:
        raise SashError(
            f'column "{column}" of the DataFrame of stream "{stream}" has the type {spark_type}, which Sash does not have',
            "cast it to another one, or select the other columns",
        ) from error
