"""CREATE SINK … TO KAFKA: after every push the topic holds what the view says; whatever dies, each batch is there once."""

from __future__ import annotations

import json
import sys
import uuid
from collections import Counter
from contextlib import suppress
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import KafkaException, Producer

sys.path.insert(0, str(Path(__file__).parent.parent / "spark"))

from tables import bag
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


ENVELOPED = """CREATE TABLE t (k STRING, d DATE, v BIGINT, at TIMESTAMP, m DECIMAL(9, 2), x DOUBLE, l ARRAY<TIMESTAMP>);
CREATE MATERIALIZED VIEW v AS SELECT k, d, SUM(v) AS v, MAX(at) AS at, MAX(m) AS m, MIN(x) AS x, ANY_VALUE(l) AS l FROM t GROUP BY k, d;"""
NOON = datetime(2026, 1, 1, 12, 0, 0, 250_000)
FIRST = [("a", date(2026, 1, 1), 1, NOON, Decimal("1.25"), 0.5, [NOON]), ("b", None, 2, None, None, float("nan"), None), (None, date(1960, 1, 1), 3, NOON, None, None, [])]


def test_envelopes_of_debezium_are_read_again(address: str, topic: str) -> None:
    """By a table that follows them; and each says what its row was before."""
    with sash.connect() as db, sash.connect() as reader:
        db.execute(ENVELOPED + create(address, topic, "v", format="debezium", partitions="2"))
        db.push("t", FIRST)
        db.end()
        db.drain()
        reader.execute(f"""CREATE TABLE r (k STRING, d DATE, v BIGINT, at TIMESTAMP, m DECIMAL(9, 2), x DOUBLE, PRIMARY KEY (k, d))
            WITH (format = 'debezium', servers = '{address}', topic = '{topic}', every = '0.01 SECONDS');
            CREATE MATERIALIZED VIEW v AS SELECT * FROM r""")
        for change in ("INSERT INTO t VALUES ('a', DATE '2026-01-01', 5, NULL, 2.5, 0.25, NULL), ('c', NULL, 1, NULL, NULL, NULL, NULL)", "DELETE FROM t WHERE k = 'b'", "DELETE FROM t", "INSERT INTO t VALUES ('b', NULL, 9, NULL, NULL, NULL, NULL)"):
            reader.run()
            wanted = db.final("v").to_arrow().drop_columns(["l"])
            assert bag(reader.view("v").to_arrow()) == bag(wanted)
            db.execute(change)
            db.end()
            db.drain()
    rows: dict[bytes | None, Any] = {}
    ops: list[str] = []
    for _, key, value in messages(address, topic):
        if value is None:
            assert rows.get(key) is None and ops[-1] == "d"
            continue
        told = json.loads(value)
        assert told["before"] == rows.get(key) and told["source"]["table"] == "v"
        assert told["op"] == ("d" if told["after"] is None else "r" if told["source"]["position"] == 1 else "c" if told["before"] is None else "u")
        rows[key] = told["after"]
        ops.append(told["op"])
    assert Counter(ops) == {"r": 3, "c": 2, "u": 1, "d": 4}
    micros = 1_767_268_800_250_000
    assert rows[b'{"k": "b", "d": null}'] == {"k": "b", "d": None, "v": 9, "at": None, "m": None, "x": None, "l": None}
    first = next(json.loads(value)["after"] for _, key, value in messages(address, topic) if value and key and b'"a"' in key)
    assert first == {"k": "a", "d": 20454, "v": 1, "at": micros, "m": "1.25", "x": 0.5, "l": [micros]}


def test_envelopes_of_another_run_begin_anew(address: str, topic: str) -> None:
    """Keys that it does not have go."""
    job = "CREATE TABLE t (k STRING, v BIGINT); CREATE MATERIALIZED VIEW v AS SELECT k, SUM(v) AS v FROM t GROUP BY k;"
    for rows in ([("a", 1), ("b", 2)], [("b", 2), ("c", 4)]):
        with sash.connect() as db:
            db.execute(job + create(address, topic, "v", format="Debezium"))
            db.push("t", rows)
            db.end()
            db.drain()
    assert {key: json.loads(value)["after"] for key, value in held(address, topic).items()} == {
        b'{"k": "b"}': {"k": "b", "v": 2}, b'{"k": "c"}': {"k": "c", "v": 4},
    }  # fmt: skip
    gone = next(json.loads(value) for _, key, value in messages(address, topic)[2:] if key == b'{"k": "a"}' and value)
    assert (gone["op"], gone["before"], gone["after"]) == ("d", {"k": "a"}, None)


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
        ({"partitions": "none"}, "partitions = 'none'"), ({"format": "avro"}, "has no format 'avro'; formats are: json, debezium"),
        ({"format": "debezium", "mode": "changes"}, "are about rows with a key"),
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
