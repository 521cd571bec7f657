"""Messages in Avro: what is written by any schema is read, and whatever else comes is a dead letter."""

from __future__ import annotations

import io
import json
import tracemalloc
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from fastavro import parse_schema, schemaless_writer
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import values
from test_messages import declared, read

from sash.errors import SashError
from sash.sources.messages import message_spec, read_messages

Schema = dict[str, Any] | list[Any] | str


def record(**fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": "row", "fields": [{"name": name, "type": type_} for name, type_ in fields.items()]}


def logical(kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "logicalType": name, **more}


def written(schema: Schema, *rows: Any) -> list[bytes]:
    parsed, found = parse_schema(schema), []
    for row in rows:
        buffer = io.BytesIO()
        schemaless_writer(buffer, parsed, row)
        found.append(buffer.getvalue())
    return found


def told(columns: str, schema: Schema, *messages: bytes | None) -> tuple[list[tuple[Any, ...]], list[tuple[int, str]]]:
    result = read(declared(columns, encoding="avro", schema=json.dumps(schema)), *messages)
    return values(result), [(letter["row"], letter["reason"]) for letter in result.dead.to_pylist()]


INNER = {"type": "record", "name": "shop.address", "fields": [{"name": "city", "type": ["null", "string"]}, {"name": "zip", "type": "int"}]}
WIDE = record(
    id="long", small="int", ok="boolean", real="double", single="float", name=["null", "string"], other=["string", "null"], bin="bytes",
    kind={"type": "enum", "name": "kind", "symbols": ["A", "B"]}, fix={"type": "fixed", "name": "four", "size": 4},
    millis=logical("long", "timestamp-millis"), micros=["null", logical("long", "timestamp-micros")],
    nanos=logical("long", "timestamp-nanos"), wall=logical("long", "local-timestamp-micros"),
    day=logical("int", "date"), price=logical("bytes", "decimal", precision=12, scale=2), key=logical("string", "uuid"),
    tags={"type": "array", "items": ["null", "string"]}, days={"type": "array", "items": logical("int", "date")},
    nested={"type": "array", "items": {"type": "array", "items": "long"}},
    home=["null", INNER], again="shop.address", counts={"type": "map", "values": "long"}, nothing="null",
)  # fmt: skip
COLUMNS = (
    "id BIGINT, small INT, ok BOOLEAN, real DOUBLE, single DOUBLE, name STRING, other STRING, bin STRING, kind STRING, fix STRING,"
    "millis TIMESTAMP, micros TIMESTAMP, nanos TIMESTAMP, wall TIMESTAMP, day DATE, price DECIMAL(12, 2), key STRING,"
    "tags ARRAY<STRING>, days ARRAY<DATE>, nested ARRAY<ARRAY<BIGINT>>, city STRING FROM '$.home.city', zip BIGINT FROM '$.again.zip',"
    "hits BIGINT FROM '$.counts.hits', nothing DOUBLE"
)
MOMENT = datetime(2024, 2, 3, 4, 5, 6, 789000)
KEY = "12345678-1234-5678-1234-567812345678"


def wide(**changed: Any) -> dict[str, Any]:
    moment = MOMENT.replace(tzinfo=UTC)
    return {
        "id": 2**62, "small": -7, "ok": True, "real": 0.5, "single": 0.25, "name": "ann", "other": None, "bin": "ü".encode(), "kind": "B",
        "fix": b"abcd", "millis": moment, "micros": moment, "nanos": 1_706_933_106_789_000_999, "wall": MOMENT, "day": date(1969, 12, 31),
        "price": Decimal("-123.45"), "key": KEY, "tags": ["a", None], "days": [], "nested": [[1], []],
        "home": {"city": "Ulm", "zip": 1}, "again": {"city": None, "zip": 89073}, "counts": {"hits": 3}, "nothing": None, **changed,
    }  # fmt: skip


def test_values_of_every_type_become_columns() -> None:
    rows, letters = told(COLUMNS, WIDE, *written(WIDE, wide(), wide(name=None, micros=None, home=None, counts={}, tags=[], price=Decimal(0))))
    first = (
        2**62, -7, True, 0.5, 0.25, "ann", None, "ü", "B", "abcd", MOMENT, MOMENT, MOMENT, MOMENT, date(1969, 12, 31), Decimal("-123.45"), KEY,
        ["a", None], [], [[1], []], "Ulm", 89073, 3, None,
    )  # fmt: skip
    second = (*first[:5], None, *first[6:11], None, *first[12:15], Decimal("0.00"), KEY, [], [], [[1], []], None, 89073, None, None)
    assert (rows, letters) == ([first, second], [])


def test_where_a_union_has_several_types_every_value_is_taken_as_it_is() -> None:
    schema = record(v=["null", "long", "string", logical("int", "date")], at=logical("long", "timestamp-millis"), who=[
        "null", {"type": "record", "name": "person", "fields": [{"name": "name", "type": "string"}]}, "string",
    ], id={"type": "fixed", "name": "id", "size": 16, "logicalType": "uuid"}, key=logical("string", "uuid"), n=logical("long", "timestamp-nanos"))  # fmt: skip
    rows = [
        {"v": value, "at": MOMENT.replace(tzinfo=UTC), "who": who, "id": UUID(KEY).bytes, "key": KEY, "n": 1_706_933_106_789_000_999}
        for value, who in [(5, {"name": "ann"}), (None, None), ("x", "bob"), (date(2024, 1, 1), {"name": "eve"})]
    ]
    columns = "v BIGINT, at TIMESTAMP, who STRING FROM '$.who.name', id STRING, key STRING, n TIMESTAMP"
    found, letters = told(columns, schema, *written(schema, *rows))
    assert found == [(5, MOMENT, "ann", KEY, KEY, MOMENT), (None, MOMENT, None, KEY, KEY, MOMENT)]
    assert letters == [(3, 'column "v": "x" is not a BIGINT'), (4, 'column "v": 2024-01-01 is not a BIGINT')]
    assert told("who STRING FROM '$.who.name'", schema, *written(schema, rows[2]))[1] == [
        (1, "column \"who\": 'bob' in the middle of its path is not a STRING")
    ]


def test_what_a_column_cannot_hold_is_a_dead_letter_with_the_value() -> None:
    schema = record(n="long", at=logical("long", "timestamp-millis"), day=logical("int", "date"), d=logical("bytes", "decimal", precision=40, scale=2), b="bytes")  # fmt: skip
    plain = record(n="long", at="long", day="int", d="bytes", b="bytes")
    good = {"n": 1, "at": 1000, "day": 1, "d": b"\x01\x00", "b": b"x"}
    bad = [{"n": 2**40}, {"at": 2**62}, {"at": -(2**62)}, {"day": 2**31 - 1}, {"d": b"\x7f" * 20}, {"d": b"\x7f" * 15}, {"b": b"\xff"}]
    rows, letters = told(
        "n INT, at TIMESTAMP, day DATE, d DECIMAL(20, 2), b STRING", schema, *written(plain, good, *({**good, **one} for one in bad), good)
    )
    assert rows == [(1, datetime(1970, 1, 1, 0, 0, 1), date(1970, 1, 2), Decimal("2.56"), "x")] * 2
    assert [(row, why.split(":")[0]) for row, why in letters] == [
        (2, 'column "n"'), (3, 'column "at"'), (4, 'column "at"'), (5, 'column "day"'), (6, 'column "d"'), (7, 'column "d"'), (8, 'column "b"'),
    ]  # fmt: skip


def test_the_least_and_the_greatest_instant() -> None:
    for unit, factor in (("millis", 1000), ("micros", 1)):
        schema, plain = record(at=logical("long", f"timestamp-{unit}")), record(at="long")
        ends = [-62_135_596_800_000_000 // factor, 253_402_300_799_999_999 // factor]
        rows, letters = told("at TIMESTAMP", schema, *written(plain, *({"at": at} for at in (ends[0] - 1, *ends, ends[1] + 1))))
        assert [row[0].year for row in rows] == [1, 9999]
        assert [row for row, _ in letters] == [1, 4]


SIMPLE = record(id="long", name="string")


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (None, "the message has no value"),
        (b"", "the message is not Avro of its schema: it ends too early"),
        (b"\x02", "the message is not Avro of its schema: it ends too early"),
        (b"\x02\x06ab", "the message is not Avro of its schema: it ends too early"),
        (b"\x02\x01abc", "the message is not Avro of its schema: it ends too early"),
        (b"\x02\xfe\xff\xff\xff\xff\xff\xff\xff\x7fabc", "the message is not Avro of its schema: it ends too early"),
        (b"\x02\x04abcd", "the message is not Avro of its schema: 2 bytes are left over"),
        (b"\x02\x02\xff", "the message is not Avro of its schema: 'utf-8' codec can't decode"),
        (b'{"id": 1}', "the message is not Avro of its schema: it ends too early"),
    ],
)
def test_what_is_no_record_is_a_dead_letter_and_the_others_are_read(message: bytes | None, reason: str) -> None:
    (good,) = written(SIMPLE, {"id": 7, "name": "ann"})
    result = read(declared("name STRING, id BIGINT", encoding="avro", schema=json.dumps(SIMPLE)), good, message, good)
    assert values(result) == [("ann", 7)] * 2
    (letter,) = result.dead.to_pylist()
    assert letter["reason"].startswith(reason) and letter["row"] == 2
    assert letter["line"] == (f"0x{message.hex()}" if message else "")


TREE = record(v="long", next=["null", "row"])


def test_a_type_within_itself_ends_no_process() -> None:
    """fastavro's compiled reader does not count, and the process ended."""
    (good,) = written(TREE, {"v": 1, "next": {"v": 2, "next": None}})
    rows, letters = told("v BIGINT, w BIGINT FROM '$.next.v'", TREE, good, b"\x02\x02" * 500_000 + b"\x02\x00", good)
    assert (rows, letters) == ([(1, 2)] * 2, [(2, "the message is not Avro of its schema: it is nested too deeply")])


@settings(max_examples=300)
@given(st.sampled_from([WIDE, TREE, SIMPLE, record(v=["null", "long", "string"])]), st.binary(max_size=40))
def test_garbage_is_a_row_or_a_dead_letter(schema: dict[str, Any], message: bytes) -> None:
    columns = {"id": "id BIGINT, name STRING", "v": "v BIGINT"}[schema["fields"][0]["name"]]
    rows, letters = told(columns, schema, message)
    assert len(rows) + len(letters) == 1


def test_a_short_message_makes_no_large_record() -> None:
    many = b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7f"  # so many elements
    schema = record(a={"type": "array", "items": "long"}, m={"type": "map", "values": "long"}, s="string")
    tracemalloc.start()
    try:
        rows, letters = told("s STRING", schema, many, b"\x00" + many, b"\x00\x00" + many, many + b"\x02" * 1000)
        assert (rows, len(letters), tracemalloc.get_traced_memory()[1] < 5_000_000) == ([], 4, True)
    finally:
        tracemalloc.stop()


def doubled(levels: int) -> Schema:
    """A record of a few names, a value of which has 2 ** levels fields."""
    found: Any = "null"
    for level in range(levels):
        name = f"r{level}"
        found = {"type": "record", "name": name, "fields": [{"name": "a", "type": found}, {"name": "b", "type": f"r{level - 1}" if level else "null"}]}
    return found


def deep(levels: int) -> Schema:
    found: Any = "long"
    for level in range(levels):
        found = {"type": "record", "name": f"r{level}", "fields": [{"name": "a", "type": found}]}
    return found


@pytest.mark.parametrize(
    ("schema", "error"),
    [
        ("{", "the schema is not JSON"),
        ("[" * 100_000, "the schema is not JSON|nested too deeply"),
        (json.dumps(deep(200)), "too large, or nested too deeply"),
        (json.dumps(doubled(30)), "too large, or nested too deeply"),
        (json.dumps(record(**{f"c{n}": "int" for n in range(20_000)})), "too large, or nested too deeply"),
        (json.dumps(record(a={"type": "array", "items": "null"})), "an array whose elements take no bytes"),
        (json.dumps(record(a={"type": "array", "items": {"type": "null"}})), "an array whose elements take no bytes"),
        (json.dumps(record(a={"type": "array", "items": {"type": "record", "name": "e", "fields": []}})), "an array whose elements take no bytes"),
        (json.dumps(record(a={"type": "fixed", "name": "f", "size": -1})), "a fixed has no size"),
        (json.dumps(record(a="what")), 'no schema of Avro: nothing is called "what"'),
        (json.dumps("long"), "its schema is no record with fields"),
        (json.dumps(record(b="int")), 'the schema has no \\$.a, which column "a" is to be; its fields are: b'),
        (json.dumps(record(a="boolean")), "\\$.a is boolean in the schema, and no BIGINT; declare another type"),
        (json.dumps(record(a=INNER)), "\\$.a is record in the schema, and no BIGINT; declare its fields, each FROM its path"),
        (json.dumps(record(a={"type": "array", "items": "long"})), "\\$.a is array in the schema, and no BIGINT"),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused(schema: str, error: str) -> None:
    with pytest.raises(SashError, match=error):
        message_spec(declared("a BIGINT", encoding="avro", schema=schema))


NODES = {"type": "record", "name": "node", "fields": [{"name": "v", "type": "int"}, {"name": "below", "type": {"type": "array", "items": "node"}}]}
WRAPPED = {"type": "array", "items": {"type": "record", "name": "only", "fields": [{"name": "to", "type": "node"}]}}
INDIRECT = {"type": "record", "name": "node", "fields": [{"name": "v", "type": "int"}, {"name": "below", "type": WRAPPED}]}
ENDLESS = {"type": "record", "name": "one", "fields": [{"name": "again", "type": "one"}]}


def test_a_tree_is_read_whose_nodes_are_in_arrays_of_itself() -> None:
    """A node takes bytes, though nothing was known of that where its array was met."""
    row = {"v": 1, "below": [{"v": 2, "below": []}]}
    assert told("v INT", NODES, *written(NODES, row)) == ([(1,)], [])
    row = {"v": 1, "below": [{"to": {"v": 2, "below": []}}]}
    assert told("v INT", INDIRECT, *written(INDIRECT, row)) == ([(1,)], [])
    for items in (ENDLESS, {"type": "record", "name": "empty", "fields": [{"name": "nothing", "type": {"type": "fixed", "name": "f", "size": 0}}]}):
        with pytest.raises(SashError, match="an array whose elements take no bytes"):
            message_spec(declared("a BIGINT", encoding="avro", schema=json.dumps(record(a={"type": "array", "items": items}))))


def test_what_a_declaration_needs() -> None:
    for options, error in (
        ({}, "needs either a schema or a registry"),
        ({"schema": json.dumps(record(a="long")), "registry": "http://x"}, "needs either a schema or a registry"),
        ({"schema": json.dumps(record(a="long")), "unknown_schema": "error"}, "has the option unknown_schema, and no registry"),
        ({"registry": "ftp://x"}, "is no place of a registry"), ({"registry": "http://"}, "is no place of a registry"),
        ({"registry": "file:///etc/passwd"}, "is no place of a registry"), ({"registry": "http://x/?a=b"}, "is no place of a registry"),
        ({"registry": "http://me:secret@x"}, "would be seen by all who see the SQL"),
        ({"registry": "http://x", "unknown_schema": "perhaps"}, "say 'error' or 'dead_letter'"),
    ):  # fmt: skip
        with pytest.raises(SashError, match=error):
            message_spec(declared("a BIGINT", encoding="avro", **options))


VALUES = st.fixed_dictionaries({
    "n": st.none() | st.integers(-(2**63), 2**63 - 1), "s": st.text(max_size=5), "b": st.booleans(), "x": st.floats(allow_nan=False),
    "at": st.none() | st.datetimes(timezones=st.just(UTC)), "day": st.dates(), "d": st.none() | st.decimals(-9999, 9999, places=2),
    "l": st.lists(st.none() | st.integers(-5, 5), max_size=3), "o": st.none() | st.fixed_dictionaries({"k": st.text(max_size=3)}),
})  # fmt: skip
PROPERTY = record(
    n=["null", "long"], s="string", b="boolean", x="double", at=["null", logical("long", "timestamp-micros")], day=logical("int", "date"),
    d=["null", logical("bytes", "decimal", precision=10, scale=2)], l={"type": "array", "items": ["null", "long"]},
    o=["null", {"type": "record", "name": "inner", "fields": [{"name": "k", "type": "string"}]}],
)  # fmt: skip


@given(st.lists(st.none() | VALUES, max_size=5))
def test_what_is_written_is_read_back(rows: list[dict[str, Any] | None]) -> None:
    spec = declared(
        "n BIGINT, s STRING, b BOOLEAN, x DOUBLE, at TIMESTAMP, day DATE, d DECIMAL(10, 2), l ARRAY<BIGINT>, k STRING FROM '$.o.k'",
        encoding="avro", schema=json.dumps(PROPERTY),
    )  # fmt: skip
    messages = [None if row is None else written(PROPERTY, row)[0] for row in rows]
    result = read_messages(spec, pa.array(messages, pa.binary()), [])
    assert values(result) == [
        (*(row[key].replace(tzinfo=None) if key == "at" and row[key] else row[key] for key in [*"nsbx", "at", "day", *"dl"]), row["o"] and row["o"]["k"])
        for row in rows if row is not None
    ]  # fmt: skip
    assert [letter["row"] for letter in result.dead.to_pylist()] == [place + 1 for place, row in enumerate(rows) if row is None]
    singly = [read_messages(spec, pa.array([message], pa.binary()), []) for message in messages]
    assert [row for one in singly for row in values(one)] == values(result)


def test_instants_far_from_now_are_exact() -> None:
    at = datetime(9999, 12, 31, 23, 59, 59, 999999)
    schema = record(at=logical("long", "timestamp-micros"))
    assert told("at TIMESTAMP", schema, *written(schema, {"at": at.replace(tzinfo=UTC)}))[0] == [(at,)]
    assert timedelta(0) == at - told("at TIMESTAMP", schema, *written(schema, {"at": at.replace(tzinfo=UTC)}))[0][0][0]
