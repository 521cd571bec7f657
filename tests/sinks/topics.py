"""Topics as their readers see them: messages of committed transactions alone."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable

import pyarrow as pa
from confluent_kafka import Consumer, TopicPartition

from sash.schema import Schema
from sash.sinks.json_objects import fragments, objects

Messages = list[tuple[int, bytes | None, bytes | None]]  # partition, key and value, in the order of each partition


def messages(address: str, topic: str) -> Messages:
    settings = {
        "bootstrap.servers": address, "group.id": "test", "isolation.level": "read_committed", "enable.partition.eof": True,
        "enable.auto.commit": False, "fetch.wait.max.ms": 20,
    }  # fmt: skip
    consumer, found = Consumer(settings), []
    try:
        for partition in sorted(consumer.list_topics(topic, timeout=20).topics[topic].partitions):
            consumer.assign([TopicPartition(topic, partition, 0)])
            while (message := consumer.poll(20)) is not None and message.error() is None:
                found.append((partition, message.key(), message.value()))
            assert message is not None
    finally:
        consumer.close()
    return found


def held(address: str, topic: str) -> dict[bytes | None, bytes]:
    """What a compacted topic holds, by its keys."""
    found: dict[bytes | None, bytes] = {}
    places: dict[bytes | None, int] = {}
    for partition, key, value in messages(address, topic):
        assert places.setdefault(key, partition) == partition
        if value is None:
            assert key in found, "a message that takes away what is not there"
            del found[key]
        else:
            found[key] = value
    return found


def as_messages(schema: Schema, rows: pa.Table) -> Counter[str]:
    """A table as the values of messages."""
    return values(objects(schema.names, fragments(schema, rows).columns, len(rows)))


def values(found: Iterable[bytes | None]) -> Counter[str]:
    return Counter(json.dumps(json.loads(value or b"null")) for value in found)
