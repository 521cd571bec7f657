"""DataFrames that tell, for every row, the partition of its source and the position there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypedDict

from pyspark.sql import DataFrame

from sash.errors import SashError, choices
from sash.plan.streams import StreamSpec
from sash.spark.kafka import PARTITION, TOPIC, KafkaStream
from sash.spark.remote import is_remote

KAFKA = "kafka"
NUMBERS = ("tinyint", "smallint", "int", "bigint")
SAME_TASKS = ("Project", "Filter", "SubqueryAlias", "EventTimeWatermark")  # plans that leave every row where it was read
SOURCE = "StreamingRelationV2"
SERVERS = "kafka.bootstrap.servers"
WAYS = ("subscribe", "subscribePattern", "assign")  # of saying what is read of Kafka


class Places(TypedDict):
    """Of a stream, what tells the places of its rows."""

    partition: tuple[str, ...]
    position: str


KAFKA_PLACES: Places = {"partition": ("topic", "partition"), "position": "offset"}


def placed(stream: StreamSpec, partition: str | Sequence[str] | None, position: str | None) -> StreamSpec:
    """The stream with the columns that tell the places of its rows; without any, a batch of its DataFrame is a unit."""
    if position is None:
        return replace(stream, is_unit=True, partition=(), position=None)
    if stream.is_table:
        raise SashError(f'"{stream.name}" is a table: its rows have no order', "leave partition= and position= out")
    return replace(stream, is_unit=False, partition=_columns(partition), position=position)


def check_places(stream: str, frame: DataFrame, partition: str | Sequence[str] | None, position: str | None) -> None:
    """Both are named or none; the columns are there, and of types that name and count."""
    columns = _columns(partition)
    if bool(columns) != (position is not None):
        said, missing = ("partition", "position") if columns else ("position", "partition")
        raise SashError(
            f'stream "{stream}" has {said}= and no {missing}=: a position counts the rows of one partition',
            f"give both, or leave {said}= out",
        )
    for column in columns:
        _check(stream, frame, column, (*NUMBERS, "string"), "partition", "an integer or a string")
    if position is not None:
        _check(stream, frame, position, NUMBERS, "position", "an integer")


def _columns(partition: str | Sequence[str] | None) -> tuple[str, ...]:
    return () if partition is None else (partition,) if isinstance(partition, str) else tuple(partition)


def _check(stream: str, frame: DataFrame, column: str, types: Sequence[str], what: str, wanted: str) -> None:
    found = [field for field in frame.schema.fields if field.name.lower() == column.lower()]
    if not found:
        raise SashError(
            f'the DataFrame of stream "{stream}" has no column "{column}", which is to tell the {what} of its rows',
            f"it has: {choices(frame.columns)}",
        )
    told = found[0].dataType.simpleString()
    if told not in types:
        raise SashError(
            f'column "{column}" of the DataFrame of stream "{stream}" is {told}, and a {what} is {wanted}',
            "name another column, or cast it before",
        )


def has_whole_pieces(stream: StreamSpec, frame: DataFrame) -> bool:
    """Whether a task has all rows of a partition between two positions: so Kafka's tasks do, as long as nothing moves rows."""
    names = {name.lower() for name in stream.partition}
    if names != set(KAFKA_PLACES["partition"]) or (stream.position or "").lower() != KAFKA_PLACES["position"]:
        return False
    return kafka_source(frame) is not None


def kafka_source(frame: DataFrame) -> Any | None:
    """Kafka's part in the plan of a DataFrame, if nothing else is in it that moves rows. Over Spark Connect nobody sees plans."""
    if is_remote(frame):
        return None
    node = frame._jdf.queryExecution().analyzed()
    while node.nodeName() in SAME_TASKS:
        node = node.children().apply(0)
    return node if node.nodeName() == SOURCE and node.sourceName().lower() == KAFKA else None


def kafka_streams(streams: Iterable[StreamSpec], frames: Mapping[str, DataFrame]) -> tuple[KafkaStream, ...]:
    """The streams whose partitions Spark has on record."""
    placed = [stream for stream in streams if stream.name in frames and stream.position is not None]
    found = (kafka_stream(stream, frames[stream.name]) for stream in placed)
    return tuple(one for one in found if one is not None)


def kafka_stream(stream: StreamSpec, frame: DataFrame) -> KafkaStream | None:
    """What a DataFrame reads, if it is Kafka's and its partitions are named by Kafka's own columns."""
    if is_remote(frame):
        return _declared(stream)
    source = kafka_source(frame)
    columns = tuple(name.lower() for name in stream.partition)
    if source is None or not set(columns) <= {TOPIC, PARTITION} or PARTITION not in columns:
        return None
    if not all(_is_own(frame, source, column) for column in (*columns, str(stream.position).lower())):
        return None
    options = source.extraOptions()
    way = next((way for way in WAYS if options.get(way) is not None), None)
    if way is None:
        return None
    return KafkaStream(stream.name, columns, stream.delay, str(options.get(SERVERS)), way, options.get(way))


def _declared(stream: StreamSpec) -> KafkaStream | None:
    """What a stream reads that is declared as Kafka's."""
    is_kafka = (stream.option("format") or "").lower() == KAFKA and replace(stream, **KAFKA_PLACES) == stream
    way = next((way for way in WAYS if stream.option(way.lower()) is not None), None)
    servers = stream.option(SERVERS)
    if not is_kafka or way is None or servers is None:
        return None
    return KafkaStream(stream.name, stream.partition, stream.delay, servers, way, str(stream.option(way.lower())))


def _is_own(frame: DataFrame, source: Any, column: str) -> bool:
    """Whether a column is the source's, and not another one of its name."""
    ids = [_ids(node, column) for node in (frame._jdf.queryExecution().analyzed(), source)]
    return len(ids[0]) == 1 and ids[0] == ids[1]


def _ids(node: Any, column: str) -> list[int]:
    output = node.output()
    found = [output.apply(place) for place in range(output.size())]
    return [attribute.exprId().id() for attribute in found if attribute.name().lower() == column]
