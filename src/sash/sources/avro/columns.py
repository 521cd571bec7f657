"""Columns out of records of Avro, all values of a column at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from uuid import UUID

import numpy as np
import pyarrow as pa

from sash.errors import SashError
from sash.schema import Field
from sash.sources.avro.schema import AvroSchema, Node
from sash.sources.convert import python_values
from sash.sources.json_places import Keys, value_at
from sash.sources.result import Values, array_values
from sash.sources.typed_values import Given, Made, as_text, dates, decimals, instants, whole
from sash.sources.values import conform

UNITS = {"millis": (1_000, 1), "micros": (1, 1), "nanos": (1, 1_000)}  # so many microseconds, or so many are one


def column(schema: AvroSchema, field: Field, keys: Keys, records: Sequence[Mapping[str, object]]) -> Values:
    """A column of records: NULL where nothing is on the way to it."""
    first = keys[0]
    given = [record.get(first) for record in records] if len(keys) == 1 else [value_at(record, keys) for record in records]
    return _values(schema, schema.at(keys).node, field, given)


def check_column(schema: AvroSchema, stream: str, field: Field, keys: Keys) -> None:
    """An error, if a schema has nothing for a column, or what is none of its values."""
    place, where = schema.at(keys), ".".join(("$", *keys))
    if not place.is_there:
        raise SashError(
            f'stream "{stream}": the schema has no {where}, which column "{field.name}" is to be',
            f"its fields are: {', '.join(schema.fields)}",
        )
    if not schema.is_plain:
        return
    if place.node is None:
        raise SashError(f'stream "{stream}": {where}, which column "{field.name}" is to be, leads into a value without fields')
    node, element = place.node, field
    while node["type"] == "array" and element.type.element is not None:
        node, element = schema.essence(node["items"]), Field(field.name, element.type.element)
    try:
        _typed(schema, node, element, [])
    except SashError:
        what = node.get("logicalType") or node["type"]
        hint = "declare its fields, each FROM its path" if what in ("record", "map") else "declare another type"
        raise SashError(f'stream "{stream}": {where} is {what} in the schema, and no {field.type}', hint) from None


def _values(schema: AvroSchema, node: Node | None, field: Field, given: Given) -> Values:
    """The values that a type has for a column; each by itself, where they are of several types, or not of its."""
    if node is not None and (schema.is_plain or _is_left_plain(node)):
        try:
            return _typed(schema, node, field, given)
        except SashError:
            return _none_fits(field, given)
        except (pa.ArrowException, OverflowError, TypeError, ValueError):
            pass  # what is wrong is told of each value
    return python_values([str(one) if isinstance(one, UUID) else one for one in given], field)


def _none_fits(field: Field, given: Given) -> Values:
    """The type of the values is none that the column's could be made of."""
    return Values(pa.nulls(len(given), field.type.arrow), np.array([one is not None for one in given], np.bool_), given)


def _is_left_plain(node: Node) -> bool:
    """Of what fastavro, where it reads logical types, knows nothing."""
    logical = str(node.get("logicalType") or "")
    return logical.endswith("-nanos") or (logical == "uuid" and node["type"] == "fixed")


def _typed(schema: AvroSchema, node: Node, field: Field, given: Given) -> Values:
    if node["type"] == "array":
        return _arrays(schema, node, field, given)
    made, failed = _maker(node)(given)
    values = conform(made, field, "messages in Avro")
    return Values(values.read, values.failed | failed, given)


def _arrays(schema: AvroSchema, node: Node, field: Field, given: Given) -> Values:
    if field.type.element is None:
        raise SashError(f"an array is no {field.type}")
    element = Field(field.name, field.type.element)
    items = [item for value in given for item in value or ()]
    lists = pa.array([None if value is None else [0] * len(value) for value in given], pa.list_(pa.int8()))
    return array_values(lists, _values(schema, schema.essence(node["items"]), element, items), field.type, given)


def _maker(node: Node) -> Callable[[Given], Made]:
    """How values of a type become an array of Arrow."""
    logical, kind = str(node.get("logicalType") or ""), node["type"]
    if kind == "long" and (unit := logical.removeprefix("local-").removeprefix("timestamp-")) in UNITS and "timestamp" in logical:
        return lambda given: instants(given, *UNITS[unit])
    if kind == "int" and logical == "date":
        return dates
    if kind in ("bytes", "fixed") and logical == "decimal":
        return lambda given: decimals(given, int(node.get("scale") or 0))
    if kind == "fixed" and logical == "uuid" and node["size"] == 16:
        return lambda given: whole(pa.array([None if one is None else str(UUID(bytes=one)) for one in given], pa.string()))
    if kind in ("bytes", "fixed"):
        return lambda given: whole(as_text(given))
    if kind not in _PLAIN:
        raise SashError(f"a {kind} is no value")
    return lambda given: whole(pa.array(given, _PLAIN[kind]))


_PLAIN = {
    "null": pa.null(), "boolean": pa.bool_(), "int": pa.int32(), "long": pa.int64(), "float": pa.float32(),
    "double": pa.float64(), "string": pa.string(), "enum": pa.string(),
}  # fmt: skip
