"""Messages in Protobuf: what is written by any type is read, and whatever else comes is a row or a dead letter."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from proto_files import classes, enum, file, in_one, map_entry, message
from reading import values
from test_messages import declared, read

from sash.errors import SashError
from sash.plan.streams import StreamSpec
from sash.sources import declared_messages
from sash.sources.messages import message_spec

MONEY = file("shop/money.proto", "shop", message("Money", units="int64", currency="string"))
ORDER = file(
    "shop/order.proto", "shop",
    message("Other", id="int64"),
    message(
        "Order", map_entry("TagsEntry", "string", "int64"), message("Line", sku="string", price=".shop.Money"),
        id="int64", small="sint32", big="uint64", wide="uint32", ok="bool", real="double", single="float", name="string",
        note="optional string", bin="bytes", state="enum .shop.State", at=".google.protobuf.Timestamp", limit=".google.protobuf.Int64Value",
        total=".shop.Money", tags="repeated .shop.Order.TagsEntry", words="repeated string", numbers="repeated int32",
        times="repeated .google.protobuf.Timestamp", lines="repeated .shop.Order.Line", self=".shop.Order", states="repeated enum .shop.State",
        limits="repeated .google.protobuf.StringValue",
    ),
    enum("State", "NEW", "PAID"),
    imports=("shop/money.proto", "google/protobuf/timestamp.proto", "google/protobuf/wrappers.proto"),
)  # fmt: skip
type_of = classes(MONEY, ORDER)
Order, Other = type_of("shop.Order"), type_of("shop.Other")
SET = base64.b64encode(in_one(MONEY, ORDER)).decode()
COLUMNS = (
    "id BIGINT, small INT, big DECIMAL(20, 0), wide BIGINT, ok BOOLEAN, real DOUBLE, single DOUBLE, name STRING, note STRING, bin STRING,"
    "state STRING, code INT FROM '$.state', at TIMESTAMP, limit BIGINT, units BIGINT FROM '$.total.units', currency STRING FROM '$.total.currency',"
    "red BIGINT FROM '$.tags.red', words ARRAY<STRING>, numbers ARRAY<BIGINT>, times ARRAY<TIMESTAMP>, inner STRING FROM '$.self.self.name',"
    "states ARRAY<STRING>, limits ARRAY<STRING>, seconds BIGINT FROM '$.at.seconds'"
)
MOMENT = datetime(2024, 2, 3, 4, 5, 6, 789000)


def stream(columns: str = COLUMNS, **options: str) -> StreamSpec:
    return declared(columns, **{"encoding": "protobuf", "descriptors": SET, "message": "shop.Order", **options})


def full() -> Any:
    made = Order(
        id=-5, small=-7, big=2**64 - 1, wide=2**32 - 1, ok=True, real=0.5, single=0.25, name="ann", note="", bin="ü".encode(), state=1, words=["a", ""],
        numbers=[1, 2], states=[0, 1, 9],
    )  # fmt: skip
    made.at.FromDatetime(MOMENT.replace(tzinfo=UTC))
    made.limit.value, made.total.units, made.tags["red"] = 9, 3, 4
    made.times.add().FromDatetime(MOMENT)
    made.self.self.name = "inner"
    made.limits.add().value = "x"
    return made


def test_values_of_every_type_become_columns() -> None:
    result = read(stream(), full().SerializeToString(), b"")
    assert values(result) == [
        (-5, -7, Decimal(2**64 - 1), 2**32 - 1, True, 0.5, 0.25, "ann", "", "ü", "PAID", 1, MOMENT, 9, 3, "", 4, ["a", ""], [1, 2], [MOMENT],
         "inner", ["NEW", "PAID", "9"], ["x"], int(MOMENT.replace(tzinfo=UTC).timestamp())),
        (0, 0, Decimal(0), 0, False, 0.0, 0.0, "", None, "", "NEW", 0, None, None, None, None, None, [], [], [], None, [], [], None),
    ]  # fmt: skip
    assert result.dead.num_rows == 0


def test_fields_of_proto2_are_null_where_they_are_not_there() -> None:
    old = file("old.proto", "", message("Old", id="int64", name="string"), syntax="proto2")
    spec = declared("id BIGINT, name STRING", encoding="protobuf", message="Old", descriptors=base64.b64encode(in_one(old)).decode())
    assert values(read(spec, b"", classes(old)("Old")(id=0).SerializeToString())) == [(None, None), (0, None)]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (None, "the message has no value"),
        (b"\xff", "the message is not Protobuf of its type"),
        (b"\x08", "the message is not Protobuf of its type"),
        (b'{"id": 1}', "the message is not Protobuf of its type"),
        (b"\x42\x01\xff", "the message is not Protobuf of its type"),  # a name that is not UTF-8
        (b"\x52\x01\xff", 'column "bin"'),
        (Order(at={"seconds": 2**60}).SerializeToString(), 'column "at"'),
        (Order(at={"nanos": -1}).SerializeToString(), 'column "at"'),
        (Order(at={"seconds": 253_402_300_800}).SerializeToString(), 'column "at"'),
    ],
)
def test_what_is_no_message_is_a_dead_letter_and_the_others_are_read(data: bytes | None, reason: str) -> None:
    good = Order(id=7).SerializeToString()
    result = read(stream("id BIGINT, name STRING, bin STRING, at TIMESTAMP"), good, data, good)
    assert values(result) == [(7, "", "", None)] * 2
    (letter,) = result.dead.to_pylist()
    assert letter["reason"].startswith(reason) and letter["row"] == 2
    assert letter["line"] == (f"0x{data.hex()}" if data else "")


def nested(levels: int) -> bytes:
    """An order within an order, so many times."""
    found = b""
    for _ in range(levels):
        length, head = len(found), b"\xa2\x01"
        while length > 127:
            head, length = head + bytes([length & 127 | 128]), length >> 7
        found = head + bytes([length]) + found
    return found


def test_a_message_within_itself_many_times_ends_no_process() -> None:
    result = read(stream("id BIGINT"), nested(50), nested(5_000))
    assert values(result) == [(0,)]
    assert [letter["row"] for letter in result.dead.to_pylist()] == [2]


@settings(max_examples=300)
@given(st.binary(max_size=40))
def test_garbage_is_a_row_or_a_dead_letter(data: bytes) -> None:
    result = read(stream(), data)
    assert result.batch.num_rows + result.dead.num_rows == 1


@given(st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.text(max_size=5), st.none() | st.text(max_size=3), st.lists(st.integers(-5, 5), max_size=3)), max_size=5))
def test_what_is_written_is_read_back(rows: list[tuple[int, str, str | None, list[int]]]) -> None:
    spec = stream("id BIGINT, name STRING, note STRING, numbers ARRAY<BIGINT>")
    messages = [Order(id=number, name=name, numbers=numbers, **({} if note is None else {"note": note})).SerializeToString() for number, name, note, numbers in rows]
    assert values(read(spec, *messages)) == rows


@pytest.mark.parametrize(
    ("columns", "options", "error"),
    [
        ("id BIGINT", {"descriptors": ""}, "no type in the descriptors"),
        ("id BIGINT", {"descriptors": "!"}, "descriptors is not base64"),
        ("id BIGINT", {"descriptors": base64.b64encode(b"\xff").decode()}, "this is no set of descriptors"),
        ("id BIGINT", {"descriptors": base64.b64encode(in_one(ORDER)).decode()}, "the descriptors do not go together"),
        ("id BIGINT", {"message": "shop.Nothing"}, 'no type in the descriptors is called "shop.Nothing"; types are: shop.Money, shop.Order'),
        ("prize BIGINT", {}, "shop.Order has no \\$.prize, which column \"prize\" is to be; its fields are: id, small"),
        ("id STRING", {}, 'column "id": \\$.id is int64, and no STRING in shop.Order'),
        ("total STRING", {}, "\\$.total is shop.Money, and no STRING in shop.Order; declare another type, or its fields"),
        ("words STRING", {}, "\\$.words is a list of string, and no STRING"),
        ("name ARRAY<STRING>", {}, "\\$.name is string, and no ARRAY<STRING>"),
        ("x STRING FROM '$.lines.sku'", {}, "\\$.lines has no fields that a path could lead to"),
        ("x STRING FROM '$.name.x'", {}, "\\$.name has no fields that a path could lead to"),
    ],
)
def test_what_cannot_be_is_refused(columns: str, options: dict[str, str], error: str) -> None:
    with pytest.raises(SashError, match=error):
        message_spec(stream(columns, **options))


def test_what_a_declaration_needs() -> None:
    with pytest.raises(SashError, match="needs either descriptors or a registry"):
        message_spec(declared("id BIGINT", encoding="protobuf", message="shop.Order"))
    with pytest.raises(SashError, match="does not say of which type; add message"):
        message_spec(declared("id BIGINT", encoding="protobuf", descriptors=SET))


def test_a_file_is_taken_into_the_declaration_as_far_as_it_is_needed(tmp_path: Path) -> None:
    ORDER.source_code_info.location.add(path=[1], span=[1, 2, 3], leading_comments="much ado")
    (tmp_path / "all.desc").write_bytes(in_one(file("big.proto", "big", *(message(f"M{n}", a="int64") for n in range(500))), MONEY, ORDER))
    ORDER.ClearField("source_code_info")
    spec = declared(COLUMNS, encoding="protobuf", descriptor_file="all.desc", message="shop.Order")
    found = declared_messages.declared(spec, tmp_path)
    assert found.option("descriptor_file") is None
    assert base64.b64decode(found.option("descriptors") or "") == in_one(MONEY, ORDER)
    assert values(read(found, Order(id=5).SerializeToString()))[0][0] == 5
    for name, error in (("none.desc", "cannot be read: No such file"), (".", "cannot be read: Is a directory")):
        with pytest.raises(SashError, match=error):
            declared_messages.declared(declared(COLUMNS, encoding="protobuf", descriptor_file=name, message="shop.Order"), tmp_path)
