"""CREATE SINK … TO KAFKA: after every push the topic holds what the view says; whatever dies, each batch is there once."""

from __future__ import annotations

import sys
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import KafkaException, Producer

sys.path.insert(0, str(Path(__file__).parent.parent / "spark"))

from test_laws_of_sinks import VIEWS, played
from test_sinks_on_spark import JOB, die_before_commit, put
from topics import as_messages, held, messages, values
from without_spark import connected

import sash
from kafka_broker import Broker
from sash.database.on_spark import SparkDatabase
from sash.errors import SashError, SinkWarning
from sash.schema import BIGINT, STRING, schema
from sash.sinks.kafka.writer import KafkaSink
from sash.sinks.options import Existing, Mode, SinkSpec
from sash.sinks.sink import SinkMoved, SinkRefused, Taken
from shapes import STREAMS

pytestmark = pytest.mark.spark  # a broker is a JVM


@pytest.fixture
def address(kafka: Broker) -> str:
    return kafka.address


@pytest.fixture
def topic() -> str:
    return f"t-{uuid.uuid4().hex[:12]}"


def create(address: str, place: str, view: str, **options: str) -> str:
    listed = ", ".join(f"{key} = '{value}'" for key, value in {"servers": address, "topic": place, **options}.items())
    return f"CREATE SINK {view} FROM {view} TO KAFKA WITH ({listed})"


def check(address: str, topic: str, db: sash.Database, view: str) -> None:
    db.sinks.drain()
    plan = db.catalog.views[view].plan
    assert values(held(address, topic).values()) == as_messages(plan.schema, db.final(view).to_arrow())


def test_every_push_is_in_the_topics(address: str, topic: str) -> None:
    job = STREAMS + "".join(f"CREATE MATERIALIZED VIEW {name} AS {query};" for name, query in VIEWS.items())
    chosen = ("grouped", "whole", "ranked", "united")
    with sash.connect(history="all") as db:
        db.execute(job)
        for name in chosen:
            db.execute(create(address, f"{topic}-{name}", name, partitions="3"))
        db.execute(create(address, f"{topic}-changes", "joined", partitions="2", mode="changes"))
        for place, _ in enumerate(played(db, 21, 60, 20)):
            if place % 3 == 2:
                for name in chosen:
                    check(address, f"{topic}-{name}", db, name)
        db.end()
        db.execute("DELETE FROM sellers WHERE region = 'south'")
        for name in chosen:
            check(address, f"{topic}-{name}", db, name)
        db.drain()
        found = messages(address, f"{topic}-changes")
        log = db.changes("joined")
        assert len(found) == len(log) > 10
        expected = as_messages(schema(("_op", BIGINT), ("_ts", STRING), *((f.name, f.type) for f in db.catalog.views["joined"].plan.schema.fields)),
                               pa.table([log.column(0).cast(pa.int64()), log.column(1).cast(pa.string()), *log.columns[2:]], names=log.column_names))
        assert values(value for _, _, value in found) == expected


def test_another_process_replaces_the_answer(address: str, topic: str) -> None:
    """Keys that the next run does not have go; those that no sink has written are not touched."""
    job = "CREATE TABLE t (k STRING, v BIGINT); CREATE MATERIALIZED VIEW v AS SELECT k, SUM(v) AS v FROM t GROUP BY k;"
    for rows in ([("a", 1), ("b", 2), (None, 3)], [("b", 2), ("c", 4)]):
        with sash.connect() as db:
            db.execute(job + create(address, topic, "v"))
            db.push("t", rows)
            db.end()
            check(address, topic, db, "v")
            assert len(held(address, topic)) == len(rows)
    producer = Producer({"bootstrap.servers": address})
    producer.produce(f"{topic}-other", b"x", b"y")
    producer.flush(20)
    with sash.connect() as db:
        db.execute(job)
        with pytest.raises(SashError, match="has messages that no sink has written; name another, or say existing = 'replace'"):
            db.execute(create(address, f"{topic}-other", "v"))
        db.execute(create(address, f"{topic}-other", "v", existing="replace"))
        db.push("t", [("z", 1)])
        db.end()
        check(address, f"{topic}-other", db, "v")


def test_two_runs_and_one_topic(address: str, topic: str) -> None:
    """The later one has it; the one before is told, and does not take it back."""
    job = "CREATE TABLE t (k STRING, v BIGINT); CREATE MATERIALIZED VIEW v AS SELECT k, SUM(v) AS v FROM t GROUP BY k;"
    with sash.connect() as first, sash.connect() as second:
        for db, key in ((first, "a"), (second, "b")):
            db.execute(job + create(address, topic, "v"))
            db.push("t", [(key, 1)])
            db.end()
            check(address, topic, db, "v")
        first.push("t", [("a", 1)])
        first.end()
        with pytest.raises(SashError, match="another run has taken over the topic"):
            first.drain()
        check(address, topic, second, "v")
        second.push("t", [("c", 1)])
        second.end()
        check(address, topic, second, "v")
        with pytest.warns(SinkWarning, match="another run has taken over the topic"):
            first.close()


SPEC = SinkSpec("n", "v", schema(("k", STRING), ("n", BIGINT)), Mode.UPSERT, (0,), None, ())


def sink(address: str, topic: str, run: str, epoch: int = 0, **changed: Any) -> KafkaSink:
    known = {**SPEC.__dict__, "options": (("servers", address), ("topic", topic)), **changed}
    return KafkaSink(SinkSpec(**known), run, epoch)


def taken(after: int | None, position: int, *rows: tuple[int, str, int]) -> Taken:
    ops, keys, counts = zip(*rows, strict=True) if rows else ((), (), ())
    changes = pa.table({
        "_op": pa.array(ops, pa.int8()), "_ts": pa.array([0] * len(rows), pa.timestamp("us")), "k": pa.array(keys, pa.string()),
        "n": pa.array(counts, pa.int64()),
    })  # fmt: skip
    return Taken(after, position, changes)


def test_each_batch_once_whoever_goes_on(address: str, topic: str) -> None:
    one = sink(address, topic, "run")
    assert one.begin() is None
    assert one.write(taken(None, 0, (1, "a", 1), (1, "b", 1))) == 2
    with pytest.raises(SinkMoved):
        one.write(taken(None, 0, (1, "a", 1)))
    assert one.write(taken(0, 3, (-1, "a", 1), (1, "a", 2))) == 1
    one._producer.begin_transaction()  # type: ignore[union-attr]
    one._producer.produce(topic, b"half", b"half")  # type: ignore[union-attr]
    one._producer.flush(20)  # type: ignore[union-attr]
    two = sink(address, topic, "run", epoch=1)  # the driver before has died in the middle of a batch, or so it seems
    assert two.begin() == 3
    assert two.write(taken(3, 4, (-1, "b", 1))) == 1
    with suppress(KafkaException):
        one._producer.commit_transaction(20)  # type: ignore[union-attr]
    with pytest.raises(SashError, match="another run has taken over"):
        one.write(taken(3, 4, (-1, "b", 1)))
    with pytest.raises(SinkRefused, match="another run has taken over"):
        one.begin()
    assert two.write(taken(4, 5)) == 0
    assert held(address, topic) == {b'{"k": "a"}': b'{"k": "a", "n": 2}'}
    with pytest.raises(SinkRefused, match="is no key"):
        two.write(taken(5, 6, (1, "x", 1), (1, "x", 2)))
    assert two.begin() == 5
    two.release()
    assert sink(address, topic, "other").begin() is None
    assert len(held(address, topic)) == 1


def test_changes_are_not_mixed_with_those_of_others(address: str, topic: str) -> None:
    one = sink(address, topic, "run", mode=Mode.CHANGES, key=())
    one.begin()
    one.write(taken(None, 0, (1, "a", 1), (-1, "a", 1)))
    with pytest.raises(SinkRefused, match="has messages that another run has written; name another, or say existing = 'append'"):
        sink(address, topic, "next", mode=Mode.CHANGES, key=()).begin()
    two = sink(address, topic, "next", mode=Mode.CHANGES, key=(), existing=Existing.APPEND)
    assert two.begin() is None
    two.write(taken(None, 0, (1, "b", 1)))
    assert len(messages(address, topic)) == 3
    with pytest.raises(SashError, match="messages of a topic stay"):
        sink(address, topic, "next", mode=Mode.CHANGES, key=(), existing=Existing.REPLACE)


def test_a_job_on_spark_goes_on_where_the_topic_is(address: str, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, 0, 40)
    job = JOB + create(address, topic, "counts", partitions="2") + ";" + create(address, f"{topic}-c", "plain", mode="changes")

    def connect(**options: Any) -> SparkDatabase:
        return connected(monkeypatch, tmp_path, job, batch_rows=10, **options)

    db = connect(flush=False)
    db.start()
    die_before_commit(db, monkeypatch)
    put(tmp_path, 1000, 20)
    db = connect()
    db.run()
    check(address, topic, db, "counts")
    rows = pa.concat_tables(db._running().ledger.read_all("plain.changes.parquet"))
    assert len(messages(address, f"{topic}-c")) == len(rows) > 40


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"topic": ""}, "is in Kafka and needs topic; add topic = 'name'"),
        ({"table": "x"}, 'a sink has no option "table"'),
        ({"partitions": "none"}, "partitions = 'none'"),
        ({"kafka.sasl.password": "x"}, r"is a secret, .* write kafka.sasl.password.env = 'NAME'"),
        ({"kafka.sasl.password.env": "SASH_NO_SUCH"}, 'the environment variable "SASH_NO_SUCH" is not set'),
        ({"kafka.transactional.id": "x"}, "is not for users to say"),
        ({"kafka.plugin.library.paths": "x.so"}, "names code that would be run, .* write kafka.plugin.library.paths.env = 'NAME'"),
        ({"kafka.sasl.kerberos.kinit.cmd": "x"}, "names code that would be run"), ({"kafka.error_cb": "x"}, "names code that would be run"),
        ({"kafka.no.such": "x"}, "No such configuration property"),
        ({"servers": "127.0.0.1:1"}, "Kafka 127.0.0.1:1 .*see that its brokers run"),
    ],
)
def test_what_cannot_be_is_refused_at_once(address: str, topic: str, options: dict[str, str], error: str) -> None:
    with sash.connect() as db, pytest.MonkeyPatch.context() as patch:
        patch.setattr("sash.sinks.kafka.record.WAIT", 2.0)
        db.execute("CREATE TABLE t (k STRING); CREATE MATERIALIZED VIEW v AS SELECT DISTINCT k FROM t")
        with pytest.raises(SashError, match=error):
            db.execute(create(address, topic, "v", **options))
