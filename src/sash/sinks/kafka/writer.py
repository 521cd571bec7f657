"""A topic of Kafka that holds the answer of a view by key, or all its changes, each batch written once.

    one transaction    messages with keys: the row of a key, or nothing where it has gone
                       the position is put down, beside the topic

A producer that begins ends what the one before it had begun, and that one can write no more. So what the record says then is how
far the topic is written, and nobody else changes it.
"""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Iterator

import pyarrow as pa
from confluent_kafka import KafkaError, KafkaException, Producer

from sash.errors import SashError, choices
from sash.sinks.json_objects import fragments, objects
from sash.sinks.kafka.envelopes import FORMATS, Envelopes, Form, Rows, in_numbers
from sash.sinks.kafka.record import Record, Topics
from sash.sinks.netting import net_rows
from sash.sinks.options import Existing, Mode, SinkSpec
from sash.sinks.owner import NOBODY, Owner
from sash.sinks.sink import SinkMoved, SinkRefused, Taken, dropped_changes
from sash.sources.kafka import TRANSACTION, WAIT, check_settings, servers, settings

FENCED = (KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED)
FULL = 0.1  # seconds to wait where no more messages have room
COMMIT = 120.0  # seconds for all messages of a transaction to arrive

Messages = Iterator[tuple[bytes | None, bytes | None, bytes]]  # key, value, and by what they are spread over partitions


class KafkaSink:
    """For one run (`owner.py`)."""

    def __init__(self, spec: SinkSpec, run: str | None, epoch: int = 0) -> None:
        check_settings(spec)
        if spec.existing is Existing.REPLACE and spec.mode is Mode.CHANGES:
            raise SashError("messages of a topic stay: existing = 'replace' is for mode = 'upsert'", "name another, or 'append'")
        form = (spec.option("format") or FORMATS[0]).lower()
        if form not in FORMATS:
            raise SashError(f"a sink in Kafka has no format '{form}'", f"formats are: {choices(FORMATS)}")
        self._has_envelopes = form != FORMATS[0]
        if self._has_envelopes and spec.mode is Mode.CHANGES:
            raise SashError("envelopes of Debezium are about rows with a key", "leave mode = 'changes' out, or the format")
        self._spec = spec
        self._owner = Owner(run, epoch, "topic", lambda: f"the topic of {self}")
        self._topics: Topics | None = None
        self._producer: Producer | None = None
        self._record: Record | None = None  # what this run has put down, or found
        self._partitions: list[int] = []

    def __str__(self) -> str:
        return f"Kafka {servers(self._spec)} {self._spec.option('topic')}"

    def check(self) -> None:
        """What would be refused later is refused at once: nobody is there, or the topic is another's."""
        with self._telling():
            topics = Topics(self._spec)
            topics.prepare()
            if self._owner.run is not None:
                self._found(topics)

    def begin(self) -> int | None:
        self._owner.may_begin()
        self.close()
        with self._telling():
            topics = self._topics = Topics(self._spec)
            topics.prepare()
            self._found(topics)  # who has been replaced does not disturb who has taken over
            own = {"transactional.id": f"sash {topics.name}", "transaction.timeout.ms": TRANSACTION, "linger.ms": 20}
            self._producer = Producer({**settings(self._spec), **own})
            self._producer.init_transactions(WAIT)
            self._record = self._found(topics)
            self._partitions = topics.partitions()
            self._in_transaction(iter(()), self._record)  # from now on it is this run's
            self._owner.has_begun()
            return self._record.position

    def write(self, taken: Taken) -> int:
        assert self._producer is not None and self._topics is not None and self._record is not None
        if self._record.position != taken.after:
            raise SinkMoved(self._record.position)
        record = Record(self._record.run, self._owner.epoch, taken.position, self._record.topic, self._spec.name)
        with self._telling():
            written = self._in_transaction(self._messages(taken, self._topics), record)
        self._record = record
        return written

    def release(self) -> None:
        with self._telling():
            self.begin()
            assert self._record is not None
            self._in_transaction(iter(()), Record(NOBODY, 0, None, self._record.topic, self._spec.name))
            self.close()

    def close(self) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            with contextlib.suppress(KafkaException):
                producer.purge()
                producer.flush(FULL)

    def _found(self, topics: Topics) -> Record:
        """How far this run is; nowhere if it begins, which it must be allowed to."""
        found, now = topics.record(), topics.topic_id()
        mine = Record(self._owner.run or NOBODY, self._owner.epoch, None, now, self._spec.name)
        if found is None or found.topic != now:
            if topics.has_messages():
                self._check_existing(topics, is_ours=False)
            return mine
        if self._owner.is_mine(found.run, found.epoch):
            return Record(found.run, self._owner.epoch, found.position, now, self._spec.name)
        if found.position is not None and topics.has_messages():
            self._check_existing(topics, is_ours=True)
        return mine

    def _check_existing(self, topics: Topics, *, is_ours: bool) -> None:
        ours = Existing.REPLACE if is_ours and self._spec.mode is Mode.UPSERT else Existing.REFUSE
        if (self._spec.existing or ours) is Existing.REFUSE:
            whose = "that another run has written" if is_ours else "that no sink has written"
            policy = "append" if self._spec.mode is Mode.CHANGES else "replace"
            raise SinkRefused(f'topic "{topics.name}" has messages {whose}', f"name another, or say existing = '{policy}'")

    def _in_transaction(self, messages: Messages, record: Record) -> int:
        """All messages and the record, or nothing; how many messages."""
        assert self._producer is not None and self._topics is not None
        count = 0
        self._producer.begin_transaction()
        try:
            for key, value, place in messages:
                self._send(self._topics.name, key, value, self._partitions[zlib.crc32(place) % len(self._partitions)])
                count += 1
            self._send(self._topics.record_name, b"record", record.to_bytes(), 0)
        except BaseException:
            with contextlib.suppress(KafkaException):
                self._producer.abort_transaction(WAIT)
            raise
        self._producer.commit_transaction(COMMIT)
        return count

    def _send(self, topic: str, key: bytes | None, value: bytes | None, partition: int) -> None:
        assert self._producer is not None
        while True:
            try:
                self._producer.produce(topic, value, key, partition)
                self._producer.poll(0)
                return
            except BufferError:
                self._producer.poll(FULL)

    def _messages(self, taken: Taken, topics: Topics) -> Messages:
        schema, rows = self._spec.schema, taken.changes.select(taken.changes.column_names[2:])
        texts = fragments(*in_numbers(schema, rows)) if self._has_envelopes else fragments(schema, rows)
        if self._spec.mode is Mode.CHANGES:
            yield from self._changes(taken, texts)
            return
        net = net_rows(taken.changes.column(0), texts, self._spec.key)
        is_new = taken.after is None or taken.is_answer
        if is_new and len(net.updated) + len(net.deleted):
            raise SinkRefused(f'rows leave view "{self._spec.view}" that never came', "drop the sink and create it again")
        form: Form = Envelopes(self._spec, taken, is_first=is_new) if self._has_envelopes else Rows()
        gone = topics.live_keys() if is_new else set()
        for key, row in zip(self._keys(net.inserted), self._rows(net.inserted), strict=True):
            gone.discard(key)
            yield key, form.came(row), key
        for key, before, row in zip(self._keys(net.updated), self._rows(net.replaced), self._rows(net.updated), strict=True):
            yield key, form.became(before, row), key
        for key, row in zip(self._keys(net.deleted), self._rows(net.deleted), strict=True):
            yield from ((key, value, key) for value in form.went(row))
        for key in sorted(gone):
            yield from ((key, value, key) for value in form.went(key))

    def _changes(self, taken: Taken, texts: pa.Table) -> Messages:
        if taken.is_answer and taken.after is not None:
            raise dropped_changes(self._spec.view, "create the sink again with another topic to begin anew")
        ops, instants = taken.changes.column(0).cast(pa.string()), taken.changes.column(1).cast(pa.string())
        for row, op, instant in zip(self._rows(texts), ops.to_pylist(), instants.to_pylist(), strict=True):
            rest = b", " + row[1:] if row != b"{}" else b"}"
            yield None, b'{"_op": %s, "_ts": "%s"%s' % (op.encode(), instant.encode(), rest), row  # a row leaves where it came

    def _keys(self, texts: pa.Table) -> list[bytes]:
        return objects(self._spec.key_names, [texts.column(place) for place in self._spec.key], len(texts))

    def _rows(self, texts: pa.Table) -> list[bytes]:
        return objects(self._spec.schema.names, texts.columns, len(texts))

    @contextlib.contextmanager
    def _telling(self) -> Iterator[None]:
        """What Kafka says, as an error of ours, which names the place."""
        try:
            yield
        except KafkaException as error:
            failure = error.args[0]
            if failure.code() in FENCED and self._is_another():
                raise self._owner.replaced() from None
            raise SashError(f"{self}: {failure.str()}", "see that its brokers run and let this user in") from None

    def _is_another(self) -> bool:
        """Whether the topic has become another run's, or another driver's."""
        with contextlib.suppress(KafkaException):
            found = None if self._topics is None else self._topics.record()
            return found is not None and self._owner.is_lost(found.run, found.epoch)
        return False
