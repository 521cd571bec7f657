"""CREATE TABLE … PRIMARY KEY … WITH (format = 'debezium', …): a table follows what messages say of its rows."""

from __future__ import annotations

import base64
import io
import json
import os
import sys
import threading
import uuid
from contextlib import ExitStack
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from test_followed_tables import changelog, held, put, second

sys.path.insert(0, str(Path(__file__).parent.parent / "spark"))

from without_spark import connected

import sash
from kafka_broker import Broker
from pages import shown_on_page
from registry_server import registry
from sash.database.on_spark import SparkDatabase
from sash.errors import SashError, SourceWarning
from sash.plan.streams import StreamSpec
from sash.schema import BIGINT, DATE, DOUBLE, STRING, TIMESTAMP, decimal, schema
from sash.sources.debezium import Envelopes, Event, Message

COLUMNS = "code STRING PRIMARY KEY, rate DOUBLE"
STREAM = "CREATE STREAM s (ts TIMESTAMP, code STRING, n BIGINT) TIMESTAMP BY ts{source};"
VIEWS = """
CREATE MATERIALIZED VIEW priced AS SELECT s.code, n, rate FROM s [RANGE 10 SECONDS] JOIN rates r ON s.code = r.code;
CREATE MATERIALIZED VIEW alone AS SELECT code, rate FROM rates;
"""


def envelope(op: str, before: Any = None, after: Any = None) -> dict[str, Any]:
    return {"op": op, "before": before, "after": after, "source": {"lsn": 7, "table": "rates"}, "ts_ms": 1}


def wrapped(payload: Any) -> dict[str, Any]:
    return {"schema": {"type": "struct", "fields": []}, "payload": payload}


def message(value: Any = None, key: Any = None) -> Message:
    return Message(*(None if one is None else one if isinstance(one, bytes) else json.dumps(one).encode() for one in (key, value)), "t 0", 4)


KEYED = Envelopes(StreamSpec("t", schema(("id", BIGINT), ("name", STRING)), is_table=True), (0,))
ANN, BOB = {"id": 1, "name": "Ann"}, {"id": 1, "name": "Bob"}


@pytest.mark.parametrize(("said", "meant"), [
    (message(envelope("c", None, ANN)), [Event((1,), (1, "Ann"))]), (message(envelope("r", None, ANN)), [Event((1,), (1, "Ann"))]),
    (message(envelope("u", ANN, BOB)), [Event((1,), (1, "Bob"))]), (message(envelope("u", None, BOB)), [Event((1,), (1, "Bob"))]),
    (message(envelope("u", {"id": 2, "name": None}, BOB)), [Event((2,), None), Event((1,), (1, "Bob"))]),
    (message(envelope("d", ANN)), [Event((1,), None)]), (message(envelope("d", {"id": 1}), {"id": 1}), [Event((1,), None)]),
    (message(envelope("d"), {"id": 1}), [Event((1,), None)]), (message(envelope("d"), wrapped({"id": 1})), [Event((1,), None)]),
    (message(None, {"id": 1}), [Event((1,), None)]), (message(wrapped(None), wrapped({"id": 1})), [Event((1,), None)]),
    (message(wrapped(envelope("c", None, ANN))), [Event((1,), (1, "Ann"))]), (message(envelope("t")), [Event(None, None)]),
    (message(envelope("c", None, {"id": 1, "more": 2})), [Event((1,), (1, None))]),
])  # fmt: skip
def test_what_a_message_says(said: Message, meant: list[Event]) -> None:
    events, dead = KEYED.events([said])
    assert events == meant and not len(dead)


@pytest.mark.parametrize(("said", "why"), [
    (message(), "the message has neither a value nor a key"), (message(b"{", {"id": 1}), "the value is not valid JSON"),
    (message([1]), "the message has no op"), (message({"id": 1}), "the message has no op"), (message(envelope("x", None, ANN)), "op 'x' is unknown"),
    (message(envelope("c")), "op 'c' has no after"), (message(envelope("d")), "a delete has neither before nor a key"),
    (message(envelope("c", None, {"id": "one"})), 'column "id"'), (message(envelope("d", {"name": "x"}), {"other": 1}), "a delete has neither"),
])  # fmt: skip
def test_messages_that_cannot_be_read(said: Message, why: str) -> None:
    events, dead = KEYED.events([message(envelope("c", None, ANN)), said, message(envelope("d", ANN))])
    (letter,) = dead.to_pylist()
    assert len(events) == 2 and why in letter["reason"] and letter["file"] == "t 0" and letter["row"] == 5


def typed(*fields: Any) -> Any:
    """A message whose schema says this of the columns of `after`."""
    return {"schema": {"fields": [{"field": "after", "fields": list(fields)}]}, "payload": envelope("c", None, {"id": 1, "much": "AQ==", "at": 5})}


@pytest.mark.parametrize(("said", "why"), [
    (b"[" * 100_000, "nested too deeply"), (b'{"payload":' * 100_000, "nested too deeply"),
    (b'{"op": "c", "after": {"id": 1, "v": 1e99999999999999999999}}', "a number that no DOUBLE holds"),
    (b'{"op": "c", "after": {"id": 1, "v": -1e400}}', "a number that no DOUBLE holds"),
    (b'{"op": "c", "after": {"id": ' + b"9" * 5_000 + b"}}", "the value is not valid JSON"),
    ({"op": "c", "after": {"v": 1.5}}, "op 'c' has no key in after"), ({"op": [], "after": {"id": 1}}, "op [] is unknown"),
    (typed({"field": "at", "name": []}), 'column "at": 5 is no TIMESTAMP'),
    *((typed({"field": "much", "name": "org.apache.kafka.connect.data.Decimal", "parameters": wrong}), "is no DECIMAL")
      for wrong in (None, 5, {}, {"scale": []}, {"scale": "9" * 99}, {"scale": "-100000000"}, {"scale": "999999"})),
])  # fmt: skip
def test_messages_that_nobody_sends(said: Any, why: str) -> None:
    """They are dead letters, whatever their sender has thought of; those around them are read."""
    columns = schema(("id", BIGINT), ("v", DOUBLE), ("at", TIMESTAMP), ("much", decimal(9, 2)))
    reader = Envelopes(StreamSpec("t", columns, is_table=True), (0,))
    events, dead = reader.events([message({"op": "c", "after": {"id": 7}}), message(said), message({"op": "d", "before": {"id": 7}})])
    (letter,) = dead.to_pylist()
    assert events == [Event((7,), (7, None, None, None)), Event((7,), None)] and why in letter["reason"]


@pytest.mark.parametrize("told", [5, [5], [{"field": []}], [{"field": "after", "fields": 5}], [{"field": "after", "fields": [{"field": {}}]}]])
def test_schemas_that_say_nothing(told: Any) -> None:
    events, dead = KEYED.events([message({"schema": {"fields": told}, "payload": envelope("c", None, ANN)})])
    assert events == [Event((1,), (1, "Ann"))] and not len(dead)


def test_an_object_in_a_text_keeps_its_numbers() -> None:
    """As a column of JSON comes; fractions ended the job."""
    said = b'{"op": "c", "after": {"id": 1, "name": {"price": 1.10, "parts": [2, 0.1000000000000000000001, null, "\\"x"]}}}'
    ((event,), _) = KEYED.events([message(said)])
    assert event.row == (1, '{"price": 1.10, "parts": [2, 0.1000000000000000000001, null, "\\"x"]}')


def test_times_and_decimals() -> None:
    """As their schema says; without one as Debezium writes them by default."""
    columns = schema(("at", TIMESTAMP), ("day", DATE), ("much", decimal(9, 2)), ("k", BIGINT))
    reader = Envelopes(StreamSpec("t", columns, is_table=True), (3,))
    expected = (datetime(2026, 1, 1, 12, 0, 0, 1000), date(2026, 1, 1), Decimal("-1.25"), 1)
    micros, days = 1767268800_001000, 20454
    packed = base64.b64encode((-125).to_bytes(2, "big", signed=True)).decode()

    def read(after: dict[str, Any], **names: Any) -> Any:
        fields = [{"field": name, "type": "x", **told} for name, told in names.items()]
        value = {"schema": {"fields": [{"field": "after", "fields": fields}]}, "payload": envelope("c", None, after)} if names else envelope("c", None, after)
        ((event,), dead) = reader.events([message(value)])
        assert not len(dead)
        return event.row

    assert read({"at": micros, "day": days, "much": "-1.25", "k": 1}) == expected
    assert read({"at": "2026-01-01T12:00:00.001Z", "day": "2026-01-01", "much": -1.25, "k": 1}) == expected
    scaled = {"name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "2"}}
    for name, at in (("io.debezium.time.Timestamp", micros // 1000), ("io.debezium.time.MicroTimestamp", micros), ("io.debezium.time.NanoTimestamp", micros * 1000)):
        assert read({"at": at, "day": days, "much": packed, "k": 1}, at={"name": name}, day={"name": "io.debezium.time.Date"}, much=scaled) == expected


@pytest.mark.parametrize("column, kind", [("at", "io.debezium.time.MicroTime"), ("at", "io.debezium.time.Date"), ("day", "io.debezium.time.Timestamp"), ("day", "io.debezium.time.Year")])
def test_a_number_of_another_meaning_is_no_time(column: str, kind: str) -> None:
    """It is not taken for microseconds, or days, because nobody has heard of it."""
    reader = Envelopes(StreamSpec("t", schema(("at", TIMESTAMP), ("day", DATE), ("k", BIGINT)), is_table=True), (2,))
    fields = [{"field": name, "type": "int64", **({"name": kind} if name == column else {})} for name in ("at", "day", "k")]
    value = {"schema": {"fields": [{"field": "after", "fields": fields}]}, "payload": envelope("c", None, {"at": 3, "day": 3, "k": 1})}
    events, dead = reader.events([message(value)])
    assert not events and f'column "{column}": 3 is no' in str(dead.column("reason")[0])


@pytest.mark.parametrize("encoding", ["json", "avro"])
@pytest.mark.parametrize("unscaled", [10**34 + 1, -(10**34) - 1, 10**38 - 1, 1 - 10**38, 5, -5, 0])
@pytest.mark.parametrize("scale", [0, 2, 38])
def test_decimals_keep_all_of_their_digits(encoding: str, unscaled: int, scale: int) -> None:
    """They were rounded to 28."""
    data, much = unscaled.to_bytes(17, "big", signed=True), Decimal(f"{unscaled}E-{scale}")
    columns = schema(("id", BIGINT), ("much", decimal(38, scale)))
    with registry() as served:
        if encoding == "avro":
            packed = {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": scale}
            value = avro_envelope(avro_record("Value", id="long", much=packed))
            plain = avro_envelope(avro_record("Value", id="long", much="bytes"))
            served.put(1, json.dumps(value))
            sent = Message(None, framed(1, plain, envelope("c", None, {"id": 1, "much": data})), "t 0", 0)
            options: tuple[tuple[str, str], ...] = (("encoding", "avro"), ("registry", served.url))
        else:
            told = {"field": "much", "name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": str(scale)}}
            after = {"id": 1, "much": base64.b64encode(data).decode()}
            sent = message({"schema": {"fields": [{"field": "after", "fields": [told]}]}, "payload": envelope("c", None, after)})
            options = ()
        (events, dead) = Envelopes(StreamSpec("t", columns, is_table=True, options=options), (0,)).events([sent])
    assert events == [Event((1,), (1, much))] and not len(dead)


def test_a_decimal_of_a_million_bytes_is_none() -> None:
    """Its digits took minutes to make."""
    told = {"field": "much", "name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "2"}}
    after = {"id": 1, "much": base64.b64encode(b"\x7f" * 1_000_000).decode()}
    columns = schema(("id", BIGINT), ("much", decimal(38, 2)))
    sent = message({"schema": {"fields": [{"field": "after", "fields": [told]}]}, "payload": envelope("c", None, after)})
    events, dead = Envelopes(StreamSpec("t", columns, is_table=True), (0,)).events([sent])
    assert not events and len(dead) == 1


ROUNDS: list[list[Any]] = [
    [envelope("r", None, {"code": "a", "rate": 1.5}), envelope("r", None, {"code": "b", "rate": 2})],
    [envelope("u", None, {"code": "a", "rate": 3}), wrapped(envelope("d", {"code": "b", "rate": 2})), envelope("u", None, {"code": "a", "rate": 4})],
    [envelope("c", None, {"code": "c", "rate": None}), envelope("d", {"code": "c"}), envelope("c", None, {"code": "b", "rate": 9})],
    [envelope("u", {"code": "b", "rate": 9}, {"code": "c", "rate": 9})],
    [envelope("u", None, {"code": "c", "rate": 9}), envelope("u", None, {"code": "c", "rate": 9})],
]
STATEMENTS = [
    "INSERT INTO rates VALUES ('a', 1.5), ('b', 2)", "UPDATE rates SET rate = 4 WHERE code = 'a'; DELETE FROM rates WHERE code = 'b'",
    "INSERT INTO rates VALUES ('b', 9)", "UPDATE rates SET code = 'c' WHERE code = 'b'", "UPDATE rates SET rate = rate",
]


def write(folder: Path, number: int) -> None:
    (folder / "feed").mkdir(exist_ok=True)
    file = folder / "feed" / f"{number:03d}.json"
    file.write_text("".join(json.dumps(value) + "\n" for value in ROUNDS[number]))
    os.utime(file, (1_000_000 + number, 1_000_000 + number))


def table(columns: str = COLUMNS, **options: str) -> str:
    listed = ", ".join(f"{key} = '{value}'" for key, value in {"format": "debezium", "path": "feed", "every": "1 HOUR", **options}.items() if value)
    return f"CREATE TABLE rates ({columns}) WITH ({listed});"


def test_it_is_as_if_statements_had_changed_it(tmp_path: Path) -> None:
    (tmp_path / "feed").mkdir()
    with sash.connect(base=tmp_path, history="all") as db, sash.connect(history="all") as said:
        db.execute(STREAM.format(source="") + table() + VIEWS)
        said.execute(STREAM.format(source="") + "CREATE TABLE rates (code STRING, rate DOUBLE);" + VIEWS)
        for n, statement in enumerate(STATEMENTS):
            for one in (db, said):
                one.push("s", [(second(n), code, n) for code in ("a", "b", "c")])
            write(tmp_path, n)
            db.drain()
            said.execute(statement)
            assert db.view("priced").to_arrow().equals(said.view("priced").to_arrow())
            assert sorted(held(db.view("alone"))) == sorted(held(said.view("alone")))
        for one in (db, said):
            one.end()
        assert db.changes("priced").equals(said.changes("priced")) and len(db.changes("priced")) > 10  # type: ignore[arg-type]
        (tmp_path / "feed" / "late.json").write_text("{}\nno\n" + json.dumps(envelope("c", None, {"code": "z", "rate": "?"})))
        db.drain()
        assert [letter["row"] for letter in db.dead("rates").to_pylist()] == [1, 2, 3]
        os.utime(tmp_path / "feed" / "000.json", (2**31, 2**31))
        with pytest.raises(SashError, match="have come or gone among those that have been read"):
            db.drain()


def test_threads_that_look_and_declare(tmp_path: Path) -> None:
    """Who looks waits for the turn of who declares, and not the other way round."""
    (tmp_path / "feed").mkdir()
    write(tmp_path, 0)
    stop = threading.Event()
    with sash.connect(base=tmp_path) as db:
        db.execute(table(every="1 MILLISECONDS") + VIEWS.split(";")[1])
        polling = [threading.Thread(target=lambda: [db.poll() for _ in iter(stop.is_set, True)]) for _ in range(2)]
        for thread in polling:
            thread.start()
        for n in range(30):
            db.execute(table(every="1 MILLISECONDS").replace("rates", f"other_{n}"))
            db.execute(f"DROP TABLE other_{n}") if n % 2 else None
        stop.set()
        for thread in polling:
            thread.join(30)
            assert not thread.is_alive()
        assert sorted(held(db.query("SELECT * FROM other_28"))) == [("a", 1.5), ("b", 2.0)]


@pytest.mark.parametrize(("columns", "options", "told"), [
    ("code STRING, rate DOUBLE", {}, 'table "rates" needs a key'), ("code STRING, PRIMARY KEY (x)", {}, 'unknown column "x" in PRIMARY KEY'),
    (COLUMNS, {"path": ""}, 'table "rates" needs a topic or a path'), (COLUMNS, {"topic": "t"}, 'table "rates" needs a topic or a path'),
    (COLUMNS, {"path": "", "topic": "t"}, "needs servers"), (COLUMNS, {"key": "code"}, "the key is given twice"), (COLUMNS, {"sign": "op"}, 'has no option "sign"'),
    (COLUMNS, {"format": "csv"}, "PRIMARY KEY is not supported"), (COLUMNS, {"format": ""}, "PRIMARY KEY is not supported"),
    (COLUMNS, {"path": "nowhere"}, 'there is no "nowhere"'),
])  # fmt: skip
def test_what_cannot_be_is_refused(tmp_path: Path, columns: str, options: dict[str, str], told: str) -> None:
    (tmp_path / "feed").mkdir()
    with sash.connect(base=tmp_path) as db:
        with pytest.raises(SashError) as failure:
            db.execute(table(columns, **options))
        assert told in str(failure.value)
        db.execute(table("code STRING, at BIGINT, rate DOUBLE, PRIMARY KEY (code, at)"))
        assert db.catalog.streams["rates"].key == (0, 1)


def job(folder: Path, monkeypatch: pytest.MonkeyPatch, declared: str) -> SparkDatabase:
    return connected(monkeypatch, folder, STREAM.format(source=" WITH (format = 'csv', path = 'in')") + declared + VIEWS, flush=False)


def test_a_job_on_spark_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read is on record with what it changed: files that are gone since then are not missed."""
    put(tmp_path, 0, 5)
    write(tmp_path, 0)
    db = job(tmp_path, monkeypatch, table())
    db.start()
    db.drain()
    assert sorted(held(db.view("alone"))) == [("a", 1.5), ("b", 2.0)]
    put(tmp_path, 5, 5)
    write(tmp_path, 1)
    db.drain()
    db.stop()
    before = changelog(db, "priced")
    write(tmp_path, 2)  # while nobody looks
    (tmp_path / "feed" / "003.json").write_text('{"op": "x"}\n')
    os.utime(tmp_path / "feed" / "003.json", (1_000_002, 1_000_003))
    again = job(tmp_path, monkeypatch, table())
    with pytest.warns(SourceWarning, match=r'1 messages of table "rates" cannot be read; the first, .*003.json 1: op \'x\' is unknown'):
        again.start()
    assert changelog(again, "priced").equals(before)
    assert again._running().versions.followed_to("rates")["files"] == 4
    put(tmp_path, 10, 5)
    again.drain()
    assert sorted(held(again.view("alone"))) == [("a", 4.0), ("b", 9.0)]
    again.close()


def test_positions_outlive_the_folding_of_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sash.spark import folding

    monkeypatch.setattr(folding, "LEAST", 1)
    put(tmp_path, 0, 5)
    write(tmp_path, 0)
    db = job(tmp_path, monkeypatch, table())
    db.start()
    for number in (1, 2, 3):
        put(tmp_path, 5 * number, 5)
        write(tmp_path, number)
        db.drain()
    host = db._running()
    known = host.versions.followed_to("rates")
    folding.fold(host.versions.checkpoint, 2)
    assert folding.Folded.read(host.versions.checkpoint).followed["rates"]["files"] < known["files"]
    assert host.versions.followed_to("rates") == known and known["files"] == 4
    db.close()


def avro_record(name: str, /, **fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": field, "type": kind} for field, kind in fields.items()]}


def avro_envelope(value: dict[str, Any]) -> dict[str, Any]:
    """As Debezium declares it: the second part has the type of the first."""
    return avro_record("Envelope", before=["null", value], after=["null", value["name"]], op="string", ts_ms=["null", "long"])


def framed(number: int, schema: dict[str, Any], value: Any) -> bytes:
    from fastavro import parse_schema, schemaless_writer

    data = io.BytesIO()
    schemaless_writer(data, parse_schema(schema), value)
    return b"\0" + number.to_bytes(4, "big") + data.getvalue()


IN_AVRO = {1: avro_record("Key", code="string"), 2: avro_envelope(avro_record("Value", code="string", rate=["null", "double"]))}


def test_times_and_decimals_in_avro() -> None:
    """As Debezium's own types and as Avro's; where a union is in the way of plain numbers, too."""
    columns = schema(("id", BIGINT), ("at", TIMESTAMP), ("day", DATE), ("much", decimal(9, 2)), ("name", STRING))
    millis, micros, days = 1767268800_001, 1767268800_001000, 20454
    packed = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2, "connect.name": "org.apache.kafka.connect.data.Decimal"}
    instant, expected = datetime(2026, 1, 1, 12, 0, 0, 1000), (7, datetime(2026, 1, 1, 12, 0, 0, 1000), date(2026, 1, 1), Decimal("-1.25"), "é")
    forms: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"at": {"type": "long", "connect.name": "io.debezium.time.Timestamp"}, "day": {"type": "int", "connect.name": "io.debezium.time.Date"}}, {"at": millis, "day": days}),
        ({"at": {"type": "long", "connect.name": "io.debezium.time.MicroTimestamp"}, "day": "int"}, {"at": micros, "day": days}),
        ({"at": {"type": "long", "connect.name": "io.debezium.time.NanoTimestamp"}, "day": "int"}, {"at": micros * 1000, "day": days}),
        ({"at": {"type": "long", "logicalType": "timestamp-millis"}, "day": {"type": "int", "logicalType": "date"}}, {"at": instant.replace(tzinfo=UTC), "day": date(2026, 1, 1)}),
        ({"at": {"type": "long", "logicalType": "timestamp-micros"}, "day": {"type": "int", "logicalType": "date"}, "other": ["null", "int", "string"]}, {"at": instant.replace(tzinfo=UTC), "day": date(2026, 1, 1), "other": "x"}),
        ({"at": "string", "day": ["null", "string"]}, {"at": "2026-01-01T12:00:00.001Z", "day": "2026-01-01"}),
    ]  # fmt: skip
    with registry() as served:
        spec = StreamSpec("t", columns, is_table=True, options=(("encoding", "Avro"), ("registry", served.url)))
        reader = Envelopes(spec, (0,))
        for number, (types, said) in enumerate(forms):
            value = avro_envelope(avro_record("Value", id="long", much=packed, name="bytes", **types))
            served.put(number, json.dumps(value))
            row = {"id": 7, "much": Decimal("-1.25"), "name": "é".encode(), **said}
            events, dead = reader.events([Message(None, framed(number, value, envelope("c", None, row)), "t 0", 0)])
            assert events == [Event((7,), expected)] and not len(dead), number
        served.put(99, json.dumps(avro_record("Key", id="long")))
        key = framed(99, avro_record("Key", id="long"), {"id": 7})
        gone = [Message(key, None, "t 0", 1), Message(key, framed(number, value, envelope("d")), "t 0", 2)]
        assert reader.events(gone)[0] == [Event((7,), None)] * 2
        letters = reader.events([Message(key, data, "t 0", 3) for data in (b"{}", b"\0\0\0\0\1\2", framed(99, avro_record("Key", id="long"), {"id": 7}))])[1].to_pylist()
        assert [letter["line"] for letter in letters] == ["0x7b7d", "0x000000000102", "0x00000000630e"]
        assert "too short" in letters[0]["reason"] and "not Avro of its schema" in letters[1]["reason"] and "no op" in letters[2]["reason"]
        with pytest.raises(SashError, match="does not know schema 1000"):
            reader.events([Message(key, b"\0\0\0\3\xe8", "t 0", 3)])
    for options, why in (((("encoding", "avro"),), "add registry"), ((("encoding", "raw"),), "encodings are: json, avro")):
        with pytest.raises(SashError, match=why):
            Envelopes(StreamSpec("t", columns, is_table=True, options=options), (0,))


@pytest.mark.spark  # a broker is a JVM
@pytest.mark.parametrize("encoding", ["json", "avro"])
def test_a_topic_of_kafka(kafka: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    """Keys in several partitions, with tombstones; on both hosts, and over a restart."""
    from confluent_kafka import Producer

    topic, address = f"t-{uuid.uuid4().hex[:12]}", kafka.address
    kafka.create_topic(topic, 3)
    producer, opened = Producer({"bootstrap.servers": address}), ExitStack()
    served = opened.enter_context(registry())
    for number, avro in IN_AVRO.items():
        served.put(number, json.dumps(avro))

    def written(number: int, value: Any) -> bytes:
        if encoding == "json":
            return json.dumps(value).encode()
        told = value.get("payload", value)
        rows = {part: {"code": row["code"], "rate": row.get("rate")} for part in ("before", "after") if (row := told.get(part))}
        return framed(number, IN_AVRO[number], told | rows)

    def send(number: int) -> None:
        for value in ROUNDS[number] if number < len(ROUNDS) else [None]:
            said = {} if value is None else value.get("payload", value)
            key = {"code": ((said.get("after") or said.get("before") or {"code": "c"})["code"])}
            # One that has another key afterwards is two messages, as Debezium sends them.
            if said.get("op") == "u" and said["before"] is not None and said["before"]["code"] != key["code"]:
                old = {"code": said["before"]["code"]}
                producer.produce(topic, written(2, envelope("d", said["before"])), written(1, old))
                producer.produce(topic, None, written(1, old))
                value = envelope("c", None, said["after"])
            producer.produce(topic, None if value is None else written(2, value), written(1, wrapped(key) if number % 2 else key))
        producer.flush(20)

    how = {"encoding": "avro", "registry": served.url} if encoding == "avro" else {}
    declared = table(path="", servers=address, topic=topic, **how)
    expected = [[("a", 1.5), ("b", 2.0)], [("a", 4.0)], [("a", 4.0), ("b", 9.0)], [("a", 4.0), ("c", 9.0)], [("a", 4.0), ("c", 9.0)], [("a", 4.0)]]
    put(tmp_path, 0, 5)
    on_spark = None
    with sash.connect() as db:
        db.execute(STREAM.format(source="") + declared + VIEWS)
        for number, rows in enumerate(expected):
            send(number)
            db.drain()
            assert sorted(held(db.view("alone"))) == rows
            if on_spark is None:
                on_spark = job(tmp_path, monkeypatch, declared)
                on_spark.start()
            put(tmp_path, 5 * number + 5, 5)
            on_spark.drain()
            assert sorted(held(on_spark.view("alone"))) == rows
            if number % 2:
                on_spark.stop()
                on_spark = None
    if on_spark is not None:
        on_spark.close()
    opened.close()
    with sash.connect() as db, pytest.raises(SashError, match="cannot be read"):
        db.execute(table(path="", servers=address, topic="nothing-of-the-kind"))


@pytest.mark.spark
def test_what_the_page_shows(kafka: Broker) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": kafka.address})
    for number, name in ((1, "Ann"), (2, "Bob"), (1, "Anne")):
        row = {"id": number, "name": name, "since": 0}
        producer.produce("shop.public.customers", json.dumps(envelope("u", None, row)).encode(), json.dumps({"id": number}).encode())
    producer.flush(20)
    with sash.connect() as db:
        db.execute(shown_on_page("docs/running.md", "CREATE TABLE customers").replace("localhost:9092", kafka.address))
        assert sorted(held(db.query("SELECT * FROM customers"))) == [(1, "Anne", date(1970, 1, 1)), (2, "Bob", date(1970, 1, 1))]
