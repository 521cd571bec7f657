"""Debezium's envelopes in Avro: keys and values with the numbers of their schemas, as Confluent's converter writes them.

They say the same as those in JSON (`debezium.py`). A field is what its schema calls it, `connect.name`, or its logical type.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any

from sash.errors import SashError
from sash.numerals import scaled
from sash.plan.streams import StreamSpec
from sash.sources.avro.messages import registered_schema
from sash.sources.avro.schema import AvroSchema, Node
from sash.sources.message_encoding import Unusable
from sash.sources.registry.frames import HEAD, no_frame
from sash.sources.registry.place import place_of

PARTS = ("before", "after")
MILLIS, NANOS = "org.apache.kafka.connect.data.Timestamp", "io.debezium.time.NanoTimestamp"
NAMES = {f"{where}timestamp-{unit}": name for where in ("", "local-") for unit, name in (("millis", MILLIS), ("nanos", NANOS))}
Types = dict[str, Any]


class AvroPayloads:
    """Of the topic of a table."""

    def __init__(self, spec: StreamSpec) -> None:
        if place_of(spec) is None:
            why = f'table "{spec.name}" follows messages in Avro, whose schemas are in a registry'
            raise SashError(why, "add registry = 'http://host:8081'")
        self._spec = spec

    def read(self, data: bytes | None, what: str) -> tuple[Any, Types]:
        """What a message, or its key, says, and what its schema says of every column of its parts; or why it is none."""
        if not data:
            return None, {}
        if len(data) < HEAD or data[0] != 0:
            raise Unusable(f"the {what}: {no_frame(data)}")
        schema = registered_schema(self._spec, int.from_bytes(data[1:HEAD], "big"))
        found = schema.read(data[HEAD:])
        if not isinstance(found, Mapping):
            raise Unusable(f"the {what} is no record")
        if what == "key":
            return _row(schema, (), found), _types(schema, ())
        rows = {part: _row(schema, (part,), found[part]) for part in PARTS if isinstance(found.get(part), Mapping)}
        return {**found, **rows}, {part: _types(schema, (part,)) for part in PARTS}


@lru_cache(maxsize=1024)
def _fields(schema: AvroSchema, path: tuple[str, ...]) -> dict[str, Node]:
    """The types of a record's columns; those of which messages differ are left out."""
    node = schema.at(path).node
    known = {field["name"]: schema.at((*path, field["name"])).node for field in (node or {}).get("fields", ())}
    return {name: found for name, found in known.items() if found is not None}


def _types(schema: AvroSchema, path: tuple[str, ...]) -> Types:
    return {name: {"name": _name(node)} for name, node in _fields(schema, path).items()}


def _name(node: Node) -> str:
    return str(node.get("connect.name") or NAMES.get(node.get("logicalType", ""), ""))


def _row(schema: AvroSchema, path: tuple[str, ...], found: Mapping[str, Any]) -> dict[str, Any]:
    fields = _fields(schema, path)
    return {name: _value(value, fields.get(name, {})) for name, value in found.items()}


def _value(value: Any, node: Node) -> Any:
    """As JSON would have it: bytes are texts, but for decimals; an instant has no time zone."""
    if isinstance(value, bytes):
        if node.get("logicalType") == "decimal":
            return _decimal(value, int(node.get("scale", 0)))
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise Unusable(f"bytes that are no text: 0x{value[:40].hex()}") from None
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    return value


def _decimal(value: bytes, scale: int) -> Decimal:
    try:
        return scaled(value, scale)
    except OverflowError as error:
        raise Unusable(str(error)) from None
