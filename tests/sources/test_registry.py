"""A registry of schemas: every message is read by its own, each is fetched once, and where there is none no row is lost unsaid."""

from __future__ import annotations

import base64
import json
import socket
import time
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from proto_files import classes, file, in_one, message
from reading import values
from test_avro_messages import record, written
from test_messages import declared, read

from registry_server import Registry, basic, framed, registry
from sash.errors import SashError
from sash.plan.streams import StreamSpec
from sash.sources.messages import read_messages
from sash.sources.registry import client
from sash.sources.registry.frames import frames_of

ONE = record(id="long", name="string")
TWO = record(name=["null", "string"], extra="double", id="int")


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    """With one schema and its next version, and a client that has little patience."""
    client.forget()
    monkeypatch.setattr(client, "PATIENCE", 0.3)
    monkeypatch.setattr(client, "LAG", 0.15)
    monkeypatch.setattr(client, "PAUSES", (0.01, 0.05))
    with registry() as found:
        found.put(1, json.dumps(ONE))
        found.put(2, json.dumps(TWO))
        yield found


def stream(served: Registry, columns: str = "id BIGINT, name STRING, extra DOUBLE", encoding: str = "avro", **options: str) -> StreamSpec:
    return declared(columns, encoding=encoding, registry=served.url, **options)


def of(number: int, schema: Any, *rows: Any) -> list[bytes]:
    return [framed(number, one) for one in written(schema, *rows)]


def reasons(result: Any) -> list[tuple[int, str]]:
    return [(letter["row"], letter["reason"]) for letter in result.dead.to_pylist()]


def test_versions_of_a_schema_may_be_mixed_and_each_is_fetched_once(served: Registry) -> None:
    first = of(1, ONE, *({"id": number, "name": "a"} for number in range(4)))
    second = of(2, TWO, *({"id": number, "name": None, "extra": 0.5} for number in range(4)))
    mixed = [one for pair in zip(first, second, strict=True) for one in pair]
    for _ in range(2):
        result = read(stream(served), *mixed)
        assert values(result) == [row for number in range(4) for row in [(number, "a", None), (number, None, 0.5)]]
    assert served.asked == ["/schemas/ids/1", "/schemas/ids/2"]


def test_pieces_of_an_array_are_read_as_they_stand(served: Registry) -> None:
    messages = pa.array([None, b"", *of(1, ONE, {"id": 1, "name": "a"}, {"id": 2, "name": "b"}), b"\0\0"], pa.binary())
    for start in range(len(messages)):
        part = messages.slice(start, 3).cast(pa.large_binary())
        assert frames_of(part).is_framed.tolist() == [value is not None and len(value) > 4 for value in part.to_pylist()]
        assert values(read_messages(stream(served), messages.slice(start, 3), [])) == [(1, "a", None), (2, "b", None)][max(0, start - 2) : start + 1]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "the message is too short for a registry's"),
        (b"\0\0\0\0", "the message is too short for a registry's"),
        (b'{"id": 1}', "the message has no number of a schema: it begins with 0x7b and not with the byte 0 of a registry's"),
        (framed(1, b""), "the message is not Avro of its schema: it ends too early"),
        (framed(3, b"\0"), "schema 3 of the registry: the schema is not JSON"),
        (framed(4, b"\0"), "schema 4 of the registry: it is of the type PROTOBUF, and not AVRO"),
        (framed(5, b"\0"), "the message is no record"),
        (framed(6, b"\0"), "schema 6 of the registry: the schema has an array whose elements take no bytes"),
        (framed(7, b"\0"), 'schema 7 of the registry: the schema is no schema of Avro: nothing is called "shop.Nobody"'),
        (framed(8, b"\x01"), 'column "id": True is not a BIGINT'),
    ],
)
def test_what_cannot_be_read_is_a_dead_letter_and_the_others_are_read(served: Registry, data: bytes, reason: str) -> None:
    served.put(3, "{")
    served.put(4, "", "PROTOBUF")
    served.put(5, '"long"')
    served.put(6, json.dumps(record(a={"type": "array", "items": "null"})))
    served.put(7, json.dumps(record(a="shop.Nobody")))
    served.put(8, json.dumps(record(id="boolean")))
    (good,) = of(1, ONE, {"id": 7, "name": "x"})
    result = read(stream(served), good, data, good)
    assert values(result) == [(7, "x", None)] * 2
    ((row, why),) = reasons(result)
    assert row == 2 and why.startswith(reason)


def test_a_schema_may_refer_to_others(served: Registry) -> None:
    money = {"type": "record", "name": "shop.Money", "fields": [{"name": "units", "type": "long"}]}
    line = {"type": "record", "name": "shop.Line", "fields": [{"name": "price", "type": "shop.Money"}]}
    order = {"type": "record", "name": "Order", "fields": [{"name": "line", "type": "shop.Line"}, {"name": "tip", "type": ["null", "shop.Money"]}]}
    served.put(10, json.dumps(money), subject="a/b money")
    served.put(11, json.dumps(line), references=[{"name": "shop.Money", "subject": "a/b money", "version": 1}], subject="line")
    below = [{"name": "shop.Line", "subject": "line", "version": 1}, {"name": "shop.Money", "subject": "a/b money", "version": 1}]
    served.put(12, json.dumps(order), references=below)
    spec = stream(served, "price BIGINT FROM '$.line.price.units', tip BIGINT FROM '$.tip.units'")
    assert values(read(spec, framed(12, b"\x0a\x02\x04"), framed(12, b"\x0a\x00"))) == [(5, 2), (5, None)]
    assert sorted(served.asked) == ["/schemas/ids/12", "/subjects/a%2Fb%20money/versions/1", "/subjects/line/versions/1"]


def test_a_topic_of_several_types_by_a_union_of_references(served: Registry) -> None:
    served.put(10, json.dumps(record(id="long")), subject="row")
    served.put(11, json.dumps({"type": "record", "name": "gone", "fields": [{"name": "id", "type": "long"}, {"name": "name", "type": "string"}]}), subject="gone")
    served.put(12, json.dumps(["row", "gone"]), references=[{"name": name, "subject": name, "version": 1} for name in ("row", "gone")])
    assert values(read(stream(served), framed(12, b"\x00\x02"), framed(12, b"\x02\x04\x02x"))) == [(1, None, None), (2, "x", None)]


def test_references_that_go_in_circles_are_refused(served: Registry) -> None:
    served.put(10, json.dumps(ONE), references=[{"name": "x", "subject": "me", "version": 1}], subject="me")
    with pytest.raises(SashError, match='refers to more than 200 others, or "x" to itself'):
        read(stream(served), framed(10, b"\x02\x00"))
    served.put(10, json.dumps(ONE), references=[{"name": "x"}])
    with pytest.raises(SashError, match="a reference of a schema has no name, subject or version"):
        read(stream(served), framed(10, b"\x02\x00"))


def test_a_number_that_the_registry_does_not_know_is_an_error_unless_it_is_to_be_a_dead_letter(served: Registry) -> None:
    (good,) = of(1, ONE, {"id": 7, "name": "x"})
    with pytest.raises(SashError, match=r'stream "s": the registry http://\S+ does not know schema 9, .* add unknown_schema = .dead_letter.'):
        read(stream(served), good, framed(9, b"\x02\x00"))
    assert served.asked.count("/schemas/ids/9") > 1  # it may be a little behind
    result = read(stream(served, unknown_schema="dead_letter"), good, framed(9, b"\x02\x00"))
    assert (values(result), reasons(result)) == ([(7, "x", None)], [(2, f"the registry {served.url} does not know schema 9")])
    served.put(9, json.dumps(ONE))
    assert values(read(stream(served), framed(9, b"\x02\x00"))) == [(1, "", None)]


def test_a_registry_that_is_away_for_a_moment_is_asked_again(served: Registry) -> None:
    served.faults = [(503, b""), (500, b"oops"), (429, b"")]
    assert values(read(stream(served), framed(1, b"\x02\x00"))) == [(1, "", None)]
    assert served.asked == ["/schemas/ids/1"] * 4


def test_a_registry_that_cannot_be_reached_is_an_error_and_no_dead_letter(served: Registry) -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        port = door.getsockname()[1]
    nobody = Registry(url=f"http://127.0.0.1:{port}")
    for options in ({}, {"unknown_schema": "dead_letter"}):
        with pytest.raises(SashError, match=r"the registry http://\S+ cannot be reached: .*refused.*; see that it runs .* no message is lost"):
            read(stream(nobody, **options), framed(1, b"\x02\x00"))
    served.faults = [(503, b"")] * 1000
    with pytest.raises(SashError, match="cannot be reached: it answers 503"):
        read(stream(served), framed(1, b"\x02\x00"))


def test_a_registry_that_says_nothing_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch, served: Registry) -> None:
    monkeypatch.setattr(client, "TIMEOUT", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as door:
        begin = time.monotonic()
        with pytest.raises(SashError, match="cannot be reached: timed out"):
            read(stream(Registry(url=f"http://127.0.0.1:{door.getsockname()[1]}")), framed(1, b"\x02\x00"))
        assert time.monotonic() - begin < 5


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (302, b"http://127.0.0.1:1/elsewhere", "answers 302"),
        (307, b"file:///etc/passwd", "answers 307"),
        (404, b"<html>", "it is not JSON"),
        (404, b"{}", "answers 404 Not Found; see its address"),
        (400, b"{}", "answers 400"),
        (200, b"hello", "it is not JSON"),
        (200, b"[]", "it is no JSON object"),
        (200, b"[" * 100_000, "it is not JSON"),
        (200, b"{}", "an answer has no schema in it"),
        (200, b" " * 5_000_000, "it is larger than 4,194,304 bytes"),
    ],
)
def test_an_answer_that_is_none_of_a_registry_is_an_error(served: Registry, status: int, body: bytes, error: str) -> None:
    served.faults = [(status, body)]
    with pytest.raises(SashError, match=error):
        read(stream(served, unknown_schema="dead_letter"), framed(1, b"\x02\x00"))
    assert len(served.asked) == 1


def test_who_asks_is_said_by_the_environment(served: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    served.auth = basic("ann:secret")
    with pytest.raises(SashError, match="lets nobody in as somebody without a name: 401; say registry_auth_env"):
        read(stream(served), framed(1, b"\x02\x00"))
    spec = stream(served, registry_auth_env="SASH_TEST_REGISTRY")
    with pytest.raises(SashError, match='the environment variable "SASH_TEST_REGISTRY" is not set'):
        read(spec, framed(1, b"\x02\x00"))
    monkeypatch.setenv("SASH_TEST_REGISTRY", "ann:wrong")
    with pytest.raises(SashError, match="lets nobody in as SASH_TEST_REGISTRY: 401") as told:
        read(spec, framed(1, b"\x02\x00"))
    assert "wrong" not in str(told.value)
    monkeypatch.setenv("SASH_TEST_REGISTRY", "ann:secret")
    assert values(read(spec, framed(1, b"\x02\x00"))) == [(1, "", None)]


MONEY = file("money.proto", "shop", message("Money", units="int64"))
ORDERS = file(
    "default", "shop", message("Refund", id="int64"), message("Order", message("Line", id="int64", name="string"), id="int64", total=".shop.Money"),
    imports=("shop/money.proto",),
)  # fmt: skip


def put_orders(served: Registry) -> None:
    served.put(20, base64.b64encode(MONEY.SerializeToString()).decode(), "PROTOBUF", subject="money")
    references = [{"name": "shop/money.proto", "subject": "money", "version": 1}]
    served.put(21, base64.b64encode(ORDERS.SerializeToString()).decode(), "PROTOBUF", references)


def proto(indexes: bytes, body: bytes) -> bytes:
    return framed(21, indexes + body)


def test_messages_of_protobuf_say_their_type_by_indexes(served: Registry) -> None:
    put_orders(served)
    named = type(MONEY)()
    named.CopyFrom(MONEY)
    named.name = "shop/money.proto"
    types = classes(named, ORDERS)
    order = types("shop.Order")(id=5, total={"units": 7}).SerializeToString()
    line, refund = types("shop.Order.Line")(id=6, name="x").SerializeToString(), types("shop.Refund")(id=8).SerializeToString()
    messages = [proto(b"\x02\x02", order), proto(b"\x04\x02\x00", line), proto(b"\x00", refund), proto(b"\x02\x00", refund)]
    spec = stream(served, "id BIGINT, name STRING, units BIGINT FROM '$.total.units'", "protobuf")
    assert values(read(spec, *messages)) == [(5, None, 7), (6, "x", None), (8, None, None), (8, None, None)]
    assert sorted(served.asked) == ["/schemas/ids/21?format=serialized", "/subjects/money/versions/1?format=serialized"]
    result = read(stream(served, "id BIGINT", "protobuf", message="shop.Order"), *messages)
    assert values(result) == [(5,)]
    assert reasons(result) == [
        (2, "the message is a shop.Order.Line, and not a shop.Order"), (3, "the message is a shop.Refund, and not a shop.Order"),
        (4, "the message is a shop.Refund, and not a shop.Order"),
    ]  # fmt: skip


def test_frames_of_protobuf_that_are_none(served: Registry) -> None:
    put_orders(served)
    served.put(22, json.dumps(ONE))
    bad = [b"", b"\x02", b"\x01", b"\xff" * 9, b"\x7e" + b"\x02" * 20]
    result = read(stream(served, "id BIGINT", "protobuf"), *(proto(one, b"") for one in bad), proto(b"\x02\x09", b""), proto(b"\x02\x20", b""), framed(22, b"\0"))
    assert values(result) == []
    short, nowhere = "the message ends within the indexes of its type", "schema 21 of the registry: it has no type at "
    assert reasons(result) == [
        *((row, short) for row in range(1, 6)), (6, f"{nowhere}[-5]"), (7, f"{nowhere}[16]"), (8, "schema 22 of the registry: it is of the type AVRO, and not PROTOBUF"),
    ]  # fmt: skip


def test_with_descriptors_of_ones_own_the_frame_alone_is_taken_off(served: Registry) -> None:
    named = type(MONEY)()
    named.CopyFrom(MONEY)
    named.name = "shop/money.proto"
    text = base64.b64encode(in_one(named, ORDERS)).decode()
    spec = stream(served, "id BIGINT", "protobuf", message="shop.Order", descriptors=text)
    result = read(spec, proto(b"\x02\x02", b"\x08\x05"), proto(b"\x00", b"\x08\x05"))
    assert (values(result), served.asked) == ([(5,)], [])
    assert reasons(result) == [(2, "the message is of the type at [0] of its file, and shop.Order is at [1]")]


def test_a_registry_that_cannot_give_descriptors_is_an_error_with_a_way_out(served: Registry) -> None:
    served.put(21, 'syntax = "proto3";', "PROTOBUF")
    with pytest.raises(SashError, match="gives no serialized descriptors; add descriptor_file"):
        read(stream(served, "id BIGINT", "protobuf"), proto(b"\x00", b""))
