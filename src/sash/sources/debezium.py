"""Debezium's envelopes: what a message says has become of a row of a table.

    key    {"id": 7}                                                          or {"schema": …, "payload": {"id": 7}}
    value  {"op": "u", "before": {…} or null, "after": {…}, "source": …}      or {"schema": …, "payload": {…}}

    op  c, r, u    the row of its key is `after`          d    the row of its key is gone          t    all rows are gone
    no value       a tombstone: the row of the key is gone

Messages are JSON, or Avro with a registry (`debezium_avro.py`). With a schema, numbers that are times, dates and decimals are
what it says they are. Without one, a number is microseconds since the epoch in a TIMESTAMP and days since the epoch in a DATE, as
Debezium writes them if nobody has said otherwise.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

from sash.errors import SashError, choices
from sash.numerals import LARGE, exact, scaled
from sash.plan.streams import StreamSpec
from sash.schema import Kind, Type
from sash.sources.convert import convert
from sash.sources.debezium_avro import AvroPayloads
from sash.sources.message_encoding import Unusable, hexadecimal
from sash.sources.result import Letter, dead_batch

JSON, AVRO = "json", "avro"  # encodings
EPOCH = date(1970, 1, 1)
PER_UNIT = {  # microseconds; without a schema nothing is said, and they are microseconds
    "": 1, "io.debezium.time.MicroTimestamp": 1,
    "io.debezium.time.Timestamp": 1_000, "org.apache.kafka.connect.data.Timestamp": 1_000,
}  # fmt: skip
DAYS = {"": 1, "io.debezium.time.Date": 1, "org.apache.kafka.connect.data.Date": 1}
NANOSECONDS = "io.debezium.time.NanoTimestamp"
DECIMAL = "org.apache.kafka.connect.data.Decimal"
PRESENT, GONE, TRUNCATED = ("c", "r", "u"), "d", "t"

Key = tuple[Any, ...]
Row = tuple[Any, ...]


class Unreadable(Exception):
    """Why a message is none."""


@dataclass(frozen=True)
class Message:
    """As it came; `place` and `row` say where from."""

    key: bytes | None
    value: bytes | None
    place: str
    row: int


@dataclass(frozen=True)
class Event:
    """What becomes of a key: its row, or None where it goes. Without a key, all rows go."""

    key: Key | None
    row: Row | None


class Envelopes:
    """Of a table with these columns and this key."""

    def __init__(self, spec: StreamSpec, key: Sequence[int]) -> None:
        self._spec, self._key = spec, tuple(key)
        self._names = spec.schema.names
        self._payload, self._shown = _form(spec)

    def events(self, messages: Iterable[Message]) -> tuple[list[Event], pa.RecordBatch]:
        """What messages say, in their order, and dead letters of those that say nothing that can be understood."""
        read: list[Event] = []
        letters: list[tuple[Message, str]] = []
        for message in messages:
            try:
                read += self._read(message)
            except (Unreadable, Unusable) as why:
                letters.append((message, str(why)))
            except RecursionError:
                letters.append((message, "it is nested too deeply"))
        return read, _dead(letters, self._shown)

    def _read(self, message: Message) -> list[Event]:
        key, key_types = self._payload(message.key, "key")
        value, types = self._payload(message.value, "value")
        if value is None:
            return [Event(self._key_of(key, key_types, "the message has neither a value nor a key"), None)]
        if not isinstance(value, dict) or "op" not in value:
            raise Unreadable("the message has no op: it is no envelope of Debezium's")
        op, before, after = value["op"], value.get("before"), value.get("after")
        if op == TRUNCATED:
            return [Event(None, None)]
        if op == GONE:
            gone = self._key_in(before, types.get("before", {}))
            return [Event(gone or self._key_of(key, key_types, "a delete has neither before nor a key"), None)]
        if op not in PRESENT:
            raise Unreadable(f"op {op!r} is unknown")
        if not isinstance(after, dict):
            raise Unreadable(f"op {op!r} has no after")
        told = types.get("after", {})
        row, now = self._row(after, told), self._key_of(after, told, f"op {op!r} has no key in after")
        had = self._key_in(before, types.get("before", {})) if op == "u" else None
        return [*([Event(had, None)] if had not in (None, now) else []), Event(now, row)]

    def _key_of(self, found: Any, types: Mapping[str, Any], otherwise: str) -> Key:
        key = self._key_in(found, types)
        if key is None:
            raise Unreadable(otherwise)
        return key

    def _key_in(self, found: Any, types: Mapping[str, Any]) -> Key | None:
        """The key, if an object has all its columns."""
        names = [self._names[place] for place in self._key]
        if not isinstance(found, dict) or not all(name in found for name in names):
            return None
        whole = self._row({name: found[name] for name in names}, types)
        return tuple(whole[place] for place in self._key)

    def _row(self, found: Mapping[str, Any], types: Mapping[str, Any]) -> Row:
        """Values as the table has them; a column that the object does not have is NULL."""
        given = [
            _value(found.get(field.name), field.type, types.get(field.name, {}), field.name) for field in self._spec.schema.fields
        ]
        result = convert(self._spec, [tuple(given)])
        if result.dead.num_rows:
            raise Unreadable(result.dead.column("reason")[0].as_py())
        return tuple(column[0].as_py() for column in result.batch.columns)


def _form(spec: StreamSpec) -> tuple[Callable[[bytes | None, str], tuple[Any, dict[str, Any]]], Callable[[bytes], bytes]]:
    """How messages are read, and shown where they cannot be."""
    encoding = (spec.encoding or JSON).lower()
    if encoding == AVRO:
        return AvroPayloads(spec).read, hexadecimal
    if encoding != JSON:
        raise SashError(f'table "{spec.name}" cannot follow messages in {encoding}', f"encodings are: {choices((JSON, AVRO))}")
    return _payload, bytes


def _payload(data: bytes | None, what: str) -> tuple[Any, dict[str, Any]]:
    """What a message, or its key, says, and what its schema, if it has one, says of every column of its parts."""
    if data is None or not data.strip():
        return None, {}
    try:
        found = json.loads(data, parse_float=exact)
    except ValueError as error:
        raise Unreadable(f"the {what} is not valid JSON: {error}") from None
    if not isinstance(found, dict) or found.keys() != {"schema", "payload"}:
        return found, {}
    return found["payload"], _types(found["schema"])


def _types(schema: Any) -> dict[str, Any]:
    fields = schema.get("fields") if isinstance(schema, dict) else None
    listed = fields if isinstance(fields, list) else []
    known = [one for one in listed if isinstance(one, dict) and isinstance(one.get("field"), str)]
    return {one["field"]: _types(one) if "fields" in one else one for one in known}


def _value(value: Any, type_: Type, told: Mapping[str, Any], name: str) -> Any:
    """A value of JSON as one of Python."""
    if value is None or isinstance(value, bool):
        return value
    name_of_type = told.get("name")
    semantic = "" if name_of_type is None else name_of_type
    try:
        if type_.kind is Kind.TIMESTAMP and isinstance(value, int):
            micros = value // 1_000 if semantic == NANOSECONDS else value * PER_UNIT[semantic]
            return pa.scalar(micros, pa.timestamp("us")).as_py()
        if type_.kind is Kind.DATE and isinstance(value, int):
            return EPOCH + timedelta(days=value * DAYS[semantic])
        if type_.kind is Kind.DECIMAL and isinstance(value, str):
            return _decimal(value, told) if semantic == DECIMAL else Decimal(value)
    except (ValueError, ArithmeticError, KeyError, TypeError):
        raise Unreadable(f'column "{name}": {value!r} is no {type_}') from None
    if isinstance(value, Decimal):
        return value if type_.kind is Kind.DECIMAL else _double(value, type_, name)
    return _text(value) if isinstance(value, dict) and type_.kind is Kind.STRING else value


def _double(value: Decimal, type_: Type, name: str) -> float:
    if abs(value) >= LARGE:
        raise Unreadable(f'column "{name}": a number that no {type_} holds')
    return float(value)


def _text(value: Any) -> str:
    """A value of JSON as JSON, its numbers with their digits."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)}: {_text(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_text, value)) + "]"
    return str(value) if isinstance(value, Decimal) else json.dumps(value)


def _decimal(text: str, told: Mapping[str, Any]) -> Decimal:
    return scaled(base64.b64decode(text, validate=True), int(told["parameters"]["scale"]))


def _dead(letters: Sequence[tuple[Message, str]], shown: Callable[[bytes], bytes]) -> pa.RecordBatch:
    found = [Letter(why, shown(message.value or b"").decode("utf-8", "replace"), message.row) for message, why in letters]
    dead = dead_batch(found, "")
    places = pa.array([message.place for message, _ in letters], pa.string())
    return pa.RecordBatch.from_arrays([*dead.columns[:2], places, dead.column(3)], schema=dead.schema)
