"""The topic of a sink, and Sash's own beside it, which says whose it is and how far it is written.

    <topic>        the messages
    <topic>.sash   one partition; its last message counts, and is written in the transaction that wrote the messages:
                   {"run": who writes, "epoch": which driver of the run, "position": the last batch, "topic": which topic it was}

A topic of the same name that was made anew is another one, and has another id.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from sash.errors import SashError
from sash.sinks.options import Mode, SinkSpec
from sash.sources.kafka import WAIT, settings, topic

SUFFIX = ".sash"
SOON = (
    KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE, KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_PARTITION, KafkaError._UNKNOWN_TOPIC,
)  # fmt: skip
PAUSE = 0.1  # seconds between two questions
T = TypeVar("T")
FIRST_LOOK = 64  # offsets before the end at which the last record is looked for first


@dataclass(frozen=True)
class Record:
    """What the last transaction has put down."""

    run: str
    epoch: int
    position: int | None
    topic: str
    sink: str

    def to_bytes(self) -> bytes:
        return json.dumps(asdict(self)).encode()


class Topics:
    """What is asked of the brokers, but for writing."""

    def __init__(self, spec: SinkSpec) -> None:
        self._spec, self.name = spec, topic(spec)
        self.record_name = f"{self.name}{SUFFIX}"
        self._admin = AdminClient(settings(spec))

    def prepare(self) -> None:
        """Make the topics that are not there."""
        found = self._admin.list_topics(timeout=WAIT).topics
        partitions = _partitions(self._spec.option("partitions") or "1")
        compacted = {"cleanup.policy": "compact"}
        wanted = [
            NewTopic(self.name, partitions, config=compacted if self._spec.mode is Mode.UPSERT else {}),
            NewTopic(self.record_name, 1, config=compacted),
        ]
        missing = [one for one in wanted if one.topic not in found]
        for name, made in (self._admin.create_topics(missing, request_timeout=WAIT) if missing else {}).items():
            try:
                made.result()
            except KafkaException as error:
                if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise SashError(f'topic "{name}" cannot be made: {error.args[0].str()}', "make it, or name another") from None

    def topic_id(self) -> str:
        """Of the topic that has the name now."""
        asked = TopicCollection([self.name])
        told = patiently(lambda: self._admin.describe_topics(asked, request_timeout=WAIT)[self.name].result())
        return str(told.topic_id)

    def partitions(self) -> list[int]:
        return sorted(self._admin.list_topics(self.name, timeout=WAIT).topics[self.name].partitions)

    def has_messages(self) -> bool:
        places = [TopicPartition(self.name, number) for number in self.partitions()]
        with self._consumer() as consumer:
            ends = [_ends(consumer, place) for place in places]
        return any(low < high for low, high in ends)

    def record(self) -> Record | None:
        """The last one, looked for further and further back: transactions that were given up leave offsets without one."""
        with self._consumer() as consumer:
            low, high = _ends(consumer, TopicPartition(self.record_name, 0))
            back = FIRST_LOOK
            while low < high:
                begin = max(low, high - back)
                found = list(_read(consumer, self.record_name, 0, begin, high))
                if found:
                    return Record(**json.loads(found[-1].value() or b""))
                if begin == low:
                    break
                back *= 8
        return None

    def live_keys(self) -> set[bytes]:
        """The keys of a compacted topic that have a value."""
        keys: set[bytes] = set()
        with self._consumer() as consumer:
            for number in self.partitions():
                low, high = _ends(consumer, TopicPartition(self.name, number))
                for message in _read(consumer, self.name, number, low, high):
                    (keys.discard if message.value() is None else keys.add)(message.key() or b"")
        return keys

    @contextmanager
    def _consumer(self) -> Iterator[Consumer]:
        own = {"group.id": f"sash sink {self._spec.name}", "isolation.level": "read_committed", "enable.auto.commit": False}
        consumer = Consumer({**settings(self._spec), **own, "enable.partition.eof": True, "fetch.wait.max.ms": 20})
        try:
            yield consumer
        finally:
            consumer.close()


def patiently(ask: Callable[[], T]) -> T:
    """What a broker says when it can: of a topic that was just made it may not know yet who leads it."""
    end = time.monotonic() + WAIT
    while True:
        try:
            return ask()
        except KafkaException as error:
            if time.monotonic() > end or error.args[0].code() not in SOON:
                raise
        time.sleep(PAUSE)


def _ends(consumer: Consumer, place: TopicPartition) -> tuple[int, int]:
    """The first offset that is there, and the one after the last."""
    found: tuple[int, int] = patiently(lambda: consumer.get_watermark_offsets(place, timeout=WAIT))
    return found


def _partitions(said: str) -> int:
    if not said.isdigit() or not 0 < int(said) <= 10_000:
        raise SashError(f"partitions = '{said}'", "say how many a new topic has: partitions = '3'")
    return int(said)


def _read(consumer: Consumer, name: str, partition: int, begin: int, end: int) -> Iterator[Message]:
    """The messages of committed transactions between two offsets."""
    if begin >= end:
        return
    consumer.assign([TopicPartition(name, partition, begin)])
    while True:
        message = consumer.poll(WAIT)
        if message is None:
            raise SashError(f'topic "{name}" cannot be read: no answer within {WAIT:g} seconds', "see that its brokers run")
        failure = message.error()
        if failure is not None and failure.code() == KafkaError._PARTITION_EOF:
            return
        if failure is not None:
            raise KafkaException(failure)
        yield message
        if (message.offset() or 0) >= end - 1:
            return
