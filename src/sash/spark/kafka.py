"""Which partitions a stream from Kafka has, by what Spark puts on record of a batch: also those that have had no rows so far.

    offsets/N   … {"orders": {"0": 1200, "1": 0}} …    where every partition of a topic is after batch N

A partition without rows has a clock, too, and holds its stream back. So every shard looks into the record of its batch, and takes
the partitions that it finds there as an event of the batch, before the rows; it is in the shard's own log then.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sash.runtime.partitions import partition_name
from sash.spark.offsets import spark_folder
from sash.spark.sealed import SealedFolder

TOPIC, PARTITION = "topic", "partition"  # columns of Spark's Kafka source

Topics = Mapping[str, Mapping[str, int]]  # by topic and partition, an offset


@dataclass(frozen=True)
class KafkaStream:
    """A stream that reads Kafka, and what it reads."""

    stream: str
    columns: tuple[str, ...]  # of which the names of its partitions are made
    delay: int
    servers: str
    way: str  # in which it is said: by the option subscribe, subscribePattern or assign
    what: str

    def has(self, topic: str) -> bool:
        if self.way == "subscribe":
            return topic in [name.strip() for name in self.what.split(",")]
        if self.way == "assign":
            return topic in json.loads(self.what)
        try:
            return re.fullmatch(self.what, topic) is not None
        except re.error:  # Java's patterns are not quite Python's
            return False

    def partitions(self, topic: str, found: Iterable[str]) -> Iterator[str]:
        """The names of the partitions of a topic, among those that somebody reads."""
        own = json.loads(self.what)[topic] if self.way == "assign" else None
        for number in map(int, found):
            if own is None or number in own:
                yield partition_name([topic if column == TOPIC else number for column in self.columns])


def known_partitions(checkpoint: SealedFolder, batch: int, every: Sequence[KafkaStream]) -> dict[KafkaStream, list[str]]:
    """The partitions of these streams that the record of a batch knows of."""
    found = list(_topics(checkpoint, batch)) if every else []
    return {one: sorted(set(_names(one, found, every))) for one in every}


def _names(one: KafkaStream, found: Iterable[Topics], every: Iterable[KafkaStream]) -> Iterator[str]:
    others = [other for other in every if other.servers != one.servers]
    for topics in found:
        for topic, partitions in topics.items():
            # A topic of the same name on other servers is another: the record does not say whose it is.
            if one.has(topic) and not any(other.has(topic) for other in others):
                yield from one.partitions(topic, partitions)


def _topics(checkpoint: SealedFolder, batch: int) -> Iterator[Topics]:
    """What sources wrote into the record of a batch that looks as Kafka's does."""
    data = spark_folder(checkpoint).child("offsets").read(str(batch))
    for line in bytes(data).decode().splitlines() if data is not None else ():
        found = json.loads(line) if line.startswith("{") else {}
        if found and all(_is_topic(partitions) for partitions in found.values()):
            yield found


def _is_topic(partitions: object) -> bool:
    if not isinstance(partitions, dict) or not partitions:
        return False
    return all(name.isdigit() and isinstance(offset, int) for name, offset in partitions.items())
