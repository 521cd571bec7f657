"""Columns out of messages of Protobuf, all values of a column at once.

A field that says whether it is there (optional, of a oneof, a message) is NULL where it is not. One that does not, as those of
proto3 without `optional`, has its default: who has written 0 has written nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sash.errors import SashError
from sash.schema import Field, Type
from sash.sources.json_places import Keys
from sash.sources.result import Values, array_values
from sash.sources.typed_values import Given, Made, as_text, instants, whole
from sash.sources.values import conform

FAR = 1 << 40  # seconds: beyond all that a TIMESTAMP can be
NEVER = 1 << 62  # microseconds: likewise
WRAPPED = ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
WRAPPERS = tuple(f"google.protobuf.{name}Value" for name in WRAPPED)
INSTANT = "google.protobuf.Timestamp"

Step = Callable[[Given], list[Any]]
Make = Callable[[Given], Made]


@dataclass(frozen=True)
class Column:
    """How a column is found in messages of one type."""

    field: Field
    steps: tuple[Step, ...]  # from messages to values, one after the other
    make: Make
    is_repeated: bool

    def values(self, messages: Sequence[Any]) -> Values:
        given: Given = messages
        for step in self.steps:
            given = step(given)
        if not self.is_repeated:
            return _conformed(self.make, self.field, given)
        assert self.field.type.element is not None
        element = Field(self.field.name, self.field.type.element)
        items = _conformed(self.make, element, [one for many in given for one in many or ()])
        lists = pa.array([None if many is None else [0] * len(many) for many in given], pa.list_(pa.int8()))
        return array_values(lists, items, self.field.type, [None if many is None else list(many) for many in given])


def column_of(descriptor: Any, field: Field, keys: Keys) -> Column | None:
    """How a column is found; None where the type has no such field; an error where it is none that could become the column."""
    steps: list[Step] = []
    here, found, where = descriptor, None, "$"
    for key in keys:
        if found is not None and _is_map(found):
            found = found.message_type.fields_by_name["value"]
            steps.append(_entry(key))
        elif here is None:
            raise SashError(f"{where} has no fields that a path could lead to")
        else:
            found = here.fields_by_name.get(key)
            if found is None:
                return None
            steps.append(_step(found))
        where = f"{where}.{key}"
        here = None if found.is_repeated else found.message_type
    return _whole(found, field, steps, where)


def _is_map(found: Any) -> bool:
    """Of texts to values: other keys are in no path."""
    kind = found.message_type
    return kind is not None and kind.GetOptions().map_entry and kind.fields_by_name["key"].type == found.TYPE_STRING


def _entry(key: str) -> Step:
    """From maps to what they have for a key."""
    return lambda given: [one[key] if one is not None and key in one else None for one in given]


def _whole(found: Any, field: Field, steps: list[Step], where: str) -> Column:
    type_: Type | None = field.type
    if found.is_repeated:
        type_ = field.type.element
    made = _make(found, type_) if type_ is not None else None
    if made is None:
        what = f"a list of {_kind(found)}" if found.is_repeated else _kind(found)
        raise SashError(f"{where} is {what}, and no {field.type}")
    if found.message_type is not None and found.message_type.full_name in WRAPPERS and not found.is_repeated:
        steps = [*steps, lambda given: [None if one is None else one.value for one in given]]
    return Column(field, tuple(steps), made, found.is_repeated)


def _conformed(make: Make, field: Field, given: Given) -> Values:
    made, failed = make(given)
    values = conform(made, field, "messages in Protobuf")
    return Values(values.read, values.failed | failed, given)


def _step(field: Any) -> Step:
    """From messages to what they have in a field."""
    name = field.name
    if field.has_presence:
        return lambda given: [getattr(one, name) if one is not None and one.HasField(name) else None for one in given]
    return lambda given: [getattr(one, name) if one is not None else None for one in given]


def _make(field: Any, type_: Type) -> Make | None:
    """How values of a field become an array; None where they are nothing that a column of the type could be."""
    make = _natural(field, type_)
    if make is None:
        return None
    try:
        conform(make([])[0], Field(field.name, type_), "")
    except SashError:
        return None
    return make


def _natural(field: Any, type_: Type) -> Make | None:
    if field.message_type is not None:
        name = field.message_type.full_name
        if name == INSTANT:
            return _moments
        if name in WRAPPERS:
            value = field.message_type.fields_by_name["value"]
            return _items(_natural(value, type_)) if field.is_repeated else _natural(value, type_)
        return None
    if field.enum_type is not None:
        return _symbols(field.enum_type) if not type_.is_number else lambda given: whole(pa.array(given, pa.int32()))
    if field.type == field.TYPE_BYTES:
        return lambda given: whole(as_text(given))
    arrow = _ARROW[field.cpp_type]
    return lambda given: whole(pa.array(given, arrow))


def _items(make: Make | None) -> Make | None:
    """Of wrapped values in a list."""
    return None if make is None else lambda given: make([one.value for one in given])


_ARROW: Mapping[int, pa.DataType] = {  # by what C++ holds values in
    1: pa.int32(), 2: pa.int64(), 3: pa.int64(), 4: pa.uint64(), 5: pa.float64(), 6: pa.float32(), 7: pa.bool_(), 9: pa.string(),
}  # fmt: skip


def _moments(given: Given) -> Made:
    return instants([None if one is None else _micros(one.seconds, one.nanos) for one in given])


def _micros(seconds: int, nanos: int) -> int:
    is_moment = -FAR < seconds < FAR and 0 <= nanos < 10**9
    return seconds * 1_000_000 + nanos // 1_000 if is_moment else NEVER


def _symbols(enum: Any) -> Make:
    """Their names; a number that has none, as of a newer version, as it is."""
    names = {value.number: value.name for value in enum.values}
    return lambda given: whole(pa.array([None if one is None else names.get(one, str(one)) for one in given], pa.string()))


def _kind(field: Any) -> str:
    if field.message_type is not None:
        return str(field.message_type.full_name)
    return str(field.enum_type.full_name) if field.enum_type is not None else KINDS[field.type]


KINDS = (
    "", "double", "float", "int64", "uint64", "int32", "fixed64", "fixed32", "bool", "string", "group", "message", "bytes",
    "uint32", "enum", "sfixed32", "sfixed64", "sint32", "sint64",
)  # fmt: skip


def nothing(field: Field, count: int) -> Values:
    """Of a type without the field."""
    return Values(pa.nulls(count, field.type.arrow), np.zeros(count, np.bool_), [None] * count)
