"""How a sink or a table reaches Kafka: what WITH says, in the words of librdkafka; secrets come from the environment."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from sash.errors import SashError
from sash.sources.debezium import Message

PREFIX, FROM_ENVIRONMENT = "kafka.", ".env"
SECRETS = ("password", "secret", "oauthbearer.config", "key.pem", "ssl.key")
OURS = ("bootstrap.servers", "transactional.id", "enable.idempotence", "group.id", "isolation.level", "enable.auto.commit")
CODE = ("plugin.library.paths", "ssl.engine.", "ssl.providers", "sasl.kerberos.kinit.cmd", "logger", "_cb")  # that would be run
LOGGER = logging.getLogger("sash.kafka")  # librdkafka would write to the screen what errors tell as well
LOGGER.addHandler(logging.NullHandler())
LOGGER.propagate = False
WAIT = 20.0  # seconds for an answer of a broker
MOMENT = 0.1  # seconds between two questions to a broker that has no answer yet
TRANSACTION = 600_000  # milliseconds that a transaction may take; brokers allow 15 minutes, if nobody has said otherwise


class Declared(Protocol):
    """What is declared with options: a sink, or a table."""

    @property
    def name(self) -> str: ...

    @property
    def options(self) -> tuple[tuple[str, str], ...]: ...

    def option(self, name: str, /) -> str | None: ...


def settings(spec: Declared) -> dict[str, Any]:
    """Of a client."""
    found: dict[str, Any] = {"bootstrap.servers": servers(spec), "client.id": f"sash {spec.name}", "logger": LOGGER}
    for option, value in spec.options:
        if option.startswith(PREFIX):
            name = option.removeprefix(PREFIX)
            found[name.removesuffix(FROM_ENVIRONMENT)] = _from_environment(value) if name.endswith(FROM_ENVIRONMENT) else value
    return found


def check_settings(spec: Declared) -> None:
    """Nothing that is ours, and no secret in the SQL."""
    servers(spec)
    topic(spec)
    for option, _ in spec.options:
        if not option.startswith(PREFIX):
            continue
        name = option.removeprefix(PREFIX)
        if name.removesuffix(FROM_ENVIRONMENT) in OURS:
            raise SashError(f'"{option}" is not for users to say', "leave it out: Sash sees to it")
        if not name.endswith(FROM_ENVIRONMENT) and any(code in name for code in CODE):
            raise SashError(
                f'"{option}" names code that would be run, and SQL may come from anywhere',
                f"write {option}{FROM_ENVIRONMENT} = 'NAME', an environment variable that says it",
            )
        if not name.endswith(FROM_ENVIRONMENT) and any(secret in name for secret in SECRETS):
            raise SashError(
                f'"{option}" is a secret, which would be seen by all who see the SQL',
                f"write {option}{FROM_ENVIRONMENT} = 'NAME', an environment variable that holds it",
            )


def servers(spec: Declared) -> str:
    return _needed(spec, "servers", "servers = 'host:9092'")


def topic(spec: Declared) -> str:
    return _needed(spec, "topic", "topic = 'name'")


def _needed(spec: Declared, option: str, example: str) -> str:
    found = spec.option(option)
    if not found:
        raise SashError(f'"{spec.name}" is in Kafka and needs {option}', f"add {example}")
    return found


def _from_environment(variable: str) -> str:
    found = os.environ.get(variable)
    if found is None:
        raise SashError(f'the environment variable "{variable}" is not set', "let it hold what Kafka needs")
    return found


@contextmanager
def making_client(spec: Declared) -> Iterator[None]:
    """What librdkafka says of options that it does not know, or that say nothing."""
    from confluent_kafka import KafkaException

    try:
        yield
    except (KafkaException, TypeError, ValueError) as error:
        why = error.args[0].str() if isinstance(error, KafkaException) else str(error)
        raise SashError(f'"{spec.name}" cannot be in Kafka as it is said: {why}', "see the properties of librdkafka") from None


def read_topic(spec: Declared, after: Mapping[str, int]) -> tuple[list[Message], dict[str, int]]:
    """All messages of committed transactions that a topic has after these offsets, by partition; and the offsets after them."""
    from confluent_kafka import Consumer, KafkaException, TopicPartition

    with making_client(spec):
        consumer = Consumer({
            **settings(spec), "group.id": f"sash {spec.name}", "enable.auto.commit": False, "isolation.level": "read_committed",
            "auto.offset.reset": "error", "enable.partition.eof": True, "fetch.wait.max.ms": 20,
        })  # fmt: skip
    found: list[Message] = []
    reached = dict(after)
    try:
        for partition in _partitions(consumer, topic(spec)):
            least = _least_offset(consumer, TopicPartition(topic(spec), partition))
            start = after.get(str(partition), least)
            if start < least:
                raise SashError(
                    f'topic "{topic(spec)}" of table "{spec.name}" has lost messages of partition {partition} that were not read:'
                    f" they begin at {least}, and {start} is next",
                    "keep them longer; begin anew with another checkpoint, and a new snapshot of Debezium's",
                )
            consumer.assign([TopicPartition(topic(spec), partition, start)])
            messages = list(_to_the_end(consumer, spec))
            found += messages
            reached[str(partition)] = messages[-1].row + 1 if messages else start
    except KafkaException as error:
        raise _unreached(spec, error.args[0].str()) from None
    finally:
        consumer.close()
    return found, reached


def _partitions(consumer: Any, name: str) -> list[int]:
    known = consumer.list_topics(name, timeout=WAIT).topics[name]
    if known.error is not None:
        raise SashError(f'topic "{name}" cannot be read: {known.error.str()}', "see its name, and that it is there")
    return sorted(known.partitions)


def _least_offset(consumer: Any, partition: Any) -> int:
    """Of the messages that a partition has. One that was just made, or whose broker was lost, has no leader for a moment."""
    from confluent_kafka import KafkaError, KafkaException

    deadline = time.monotonic() + WAIT
    while True:
        try:
            least, _ = consumer.get_watermark_offsets(partition, WAIT)
            return int(least)
        except KafkaException as error:
            passes = error.args[0].code() in (KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE)
            if not passes or time.monotonic() > deadline:
                raise
        time.sleep(MOMENT)


def _to_the_end(consumer: Any, spec: Declared) -> Iterator[Message]:
    from confluent_kafka import KafkaError

    while True:
        message = consumer.poll(WAIT)
        if message is None:
            raise _unreached(spec, "no answer")
        if message.error() is None:
            yield Message(message.key(), message.value(), f"{message.topic()} {message.partition()}", message.offset())
        elif message.error().code() == KafkaError._PARTITION_EOF:
            return
        else:
            raise _unreached(spec, message.error().str())


def _unreached(spec: Declared, why: str) -> SashError:
    return SashError(f'table "{spec.name}": Kafka {servers(spec)}: {why}', "see that its brokers run and let this user in")
