"""A partition of Kafka that has no leader for a moment is asked again; what does not pass is told at once."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from sash.sources import kafka


class Consumer:
    """Of a broker that says this before it answers. When a leader is lost cannot be said of a real one."""

    def __init__(self, *codes: int) -> None:
        self.codes = list(codes)

    def get_watermark_offsets(self, partition: TopicPartition, timeout: float) -> tuple[int, int]:
        if self.codes:
            raise KafkaException(KafkaError(self.codes.pop(0)))
        return 3, 9


def test_a_partition_without_a_leader_is_asked_again() -> None:
    consumer = Consumer(KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE)
    assert kafka._least_offset(consumer, TopicPartition("t", 0)) == 3


@pytest.mark.parametrize("code", [KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError._ALL_BROKERS_DOWN])
def test_what_does_not_pass_is_told_at_once(code: int) -> None:
    with pytest.raises(KafkaException):
        kafka._least_offset(Consumer(code), TopicPartition("t", 0))


def test_nobody_is_asked_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka, "WAIT", 0.3)
    with pytest.raises(KafkaException):
        kafka._least_offset(Consumer(*[KafkaError.NOT_LEADER_FOR_PARTITION] * 100), TopicPartition("t", 0))
