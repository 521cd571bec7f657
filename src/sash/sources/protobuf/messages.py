"""Messages in Protobuf: of one type of a set of descriptors, or each with the number of its file in a registry, and its place.

    0, the number in four bytes, how many indexes, the indexes (of a type in its file, of one within that, …), the message

For no indexes it says 0, and means the first type of the file. Numbers of fields are what holds versions of a type together, so
with a set of descriptors and a registry, the registry is not asked: the frame is taken off, and names the place of the type.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from sash.errors import SashError, choices, needing
from sash.plan.streams import StreamSpec
from sash.sources.json_places import keys_of
from sash.sources.message_encoding import NO_VALUE, Encoding, Part, Unusable, at_once, gathered
from sash.sources.protobuf.columns import Column, column_of, nothing
from sash.sources.protobuf.descriptors import Indexes, type_in_set, type_of, types_of
from sash.sources.registry.client import Registered
from sash.sources.registry.frames import HEAD, frames_of, no_frame
from sash.sources.registry.place import REACHING, URL, is_lenient, place_of
from sash.sources.registry.schemas import registered
from sash.sources.result import TextResult

DESCRIPTORS, MESSAGE = "descriptors", "message"
KIND, FORM = "PROTOBUF", "serialized"
DEEPEST = 32  # types within each other

_Bodies = tuple[list[int], list[bytes]]
Written = tuple[int, Indexes]  # how a message is: the number of its file, and the place of its type


def _check(spec: StreamSpec) -> None:
    place, message = place_of(spec), spec.option(MESSAGE)
    is_lenient(spec)
    with needing("the encoding protobuf", "protobuf", "protobuf"):
        import google.protobuf.message  # noqa: F401
    if spec.option(DESCRIPTORS) is None:
        if place is None:
            raise SashError(
                f'stream "{spec.name}" is in Protobuf, and needs either descriptors or a registry',
                "add descriptor_file = 'orders.desc' and message = 'shop.Order', or registry = 'http://host:8081'",
            )
        return
    if message is None:
        raise SashError(f'stream "{spec.name}" is in Protobuf, and does not say of which type', "add message = 'shop.Order'")
    kind = _told(spec).DESCRIPTOR
    for field, keys in zip(spec.schema.fields, keys_of(spec), strict=True):
        try:
            found = column_of(kind, field, keys)
        except SashError as why:
            hint = "declare another type, or its fields, each FROM its path"
            raise SashError(f'stream "{spec.name}", column "{field.name}": {why.message} in {kind.full_name}', hint) from None
        if found is None:
            raise SashError(
                f'stream "{spec.name}": {kind.full_name} has no {".".join(("$", *keys))}, which column "{field.name}" is to be',
                f"its fields are: {choices(one.name for one in kind.fields)}",
            )


def _told(spec: StreamSpec) -> Any:
    """The type that a stream is declared with."""
    return type_in_set(f'stream "{spec.name}"', str(spec.option(DESCRIPTORS)), str(spec.option(MESSAGE)))


def _read(spec: StreamSpec, messages: pa.LargeBinaryArray) -> TextResult:
    values: list[bytes | None] = messages.to_pylist()
    reasons = {row: NO_VALUE for row, value in enumerate(values) if value is None} if messages.null_count else {}
    parts: list[Part] = []
    if place_of(spec) is None:
        rows = [row for row, value in enumerate(values) if value is not None]
        parts += _parts(spec, _told(spec), rows, [values[row] or b"" for row in rows], reasons)
        return gathered(spec, values, parts, reasons)
    for (number, indexes), (rows, bodies) in _unframed(messages, values, reasons).items():
        try:
            parts += _parts(spec, _framed_type(spec, number, indexes), rows, bodies, reasons)
        except Unusable as why:
            reasons |= dict.fromkeys(rows, str(why))
    return gathered(spec, values, parts, reasons)


def _unframed(
    messages: pa.LargeBinaryArray, values: Sequence[bytes | None], reasons: dict[int, str]
) -> Mapping[Written, _Bodies]:
    """Messages without their frames, by how they are written; those that have none get a reason."""
    frames = frames_of(messages)
    found: dict[Written, _Bodies] = {}
    told = zip(values, frames.is_framed.tolist(), frames.numbers.tolist(), strict=True)
    for row, (value, is_framed, number) in enumerate(told):
        if value is None:
            continue
        if not is_framed:
            reasons[row] = no_frame(value)
            continue
        try:
            indexes, start = _indexes(value)
        except IndexError:
            reasons[row] = "the message ends within the indexes of its type"
            continue
        rows, bodies = found.setdefault((number, indexes), ([], []))
        rows.append(row)
        bodies.append(value[start:])
    return found


def _indexes(message: bytes) -> tuple[Indexes, int]:
    """The place of a type in its file, and where the message itself begins."""
    count, start = _integer(message, HEAD)
    if count == 0:
        return (0,), start
    found = []
    if not 0 < count <= DEEPEST:
        raise IndexError
    for _ in range(count):
        index, start = _integer(message, start)
        found.append(index)
    return tuple(found), start


def _integer(message: bytes, start: int) -> tuple[int, int]:
    """A number of seven bits a byte, its sign in the last one, and where it ends."""
    found = 0
    for place in range(start, start + 5):
        byte = message[place]
        found |= (byte & 0x7F) << 7 * (place - start)
        if byte < 0x80:
            return found >> 1 ^ -(found & 1), place + 1
    raise IndexError


def _framed_type(spec: StreamSpec, number: int, indexes: Indexes) -> Any:
    """The type of messages with such a frame."""
    wanted = spec.option(MESSAGE)
    if spec.option(DESCRIPTORS) is not None:
        kind = _told(spec)
        if indexes != (own := _place(kind)):
            raise Unusable(f"the message is of the type at {list(indexes)} of its file, and {wanted} is at {list(own)}")
        return kind
    kind = _registered(spec, number, indexes)
    if wanted is not None and kind.DESCRIPTOR.full_name != wanted.lstrip("."):
        raise Unusable(f"the message is a {kind.DESCRIPTOR.full_name}, and not a {wanted}")
    return kind


@lru_cache(maxsize=64)
def _place(kind: Any) -> Indexes:
    """Of a type in its file."""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    file = FileDescriptorProto()
    kind.DESCRIPTOR.file.CopyToProto(file)
    return dict(types_of([file]))[kind.DESCRIPTOR.full_name]


def _registered(spec: StreamSpec, number: int, indexes: Indexes) -> Any:
    found = registered(spec, number, FORM)
    try:
        return _understood(str(spec.option(URL)), found, indexes)
    except Unusable as why:
        raise Unusable(f"schema {number} of the registry: {why}") from None


@lru_cache(maxsize=256)
def _understood(url: str, found: Registered, indexes: Indexes) -> Any:
    if found.kind != KIND:
        raise Unusable(f"it is of the type {found.kind}, and not {KIND}")
    files = [_file(url, text, name) for name, text in (*found.references, (None, found.text))]
    names = [name for name, known in types_of(files[-1:]) if known == indexes]
    if not names:
        raise Unusable(f"it has no type at {list(indexes)}")
    return type_of(files, names[0])


def _file(url: str, text: str, name: str | None) -> Any:
    """A file as a registry writes it, under the name that others import it by."""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    try:
        found = FileDescriptorProto.FromString(base64.b64decode(text, validate=True))
    except Exception:  # of whatever the text is
        raise SashError(
            f"the registry {url} gives no serialized descriptors",
            "add descriptor_file = 'orders.desc' and message = 'shop.Order'",
        ) from None
    if name is not None:
        found.name = name
    return found


def _parts(spec: StreamSpec, kind: Any, rows: Sequence[int], bodies: Sequence[bytes], reasons: dict[int, str]) -> list[Part]:
    return [_part(spec, kind, rows[some], bodies[some], reasons) for some in at_once(len(rows))]


def _part(spec: StreamSpec, kind: Any, rows: Sequence[int], bodies: Sequence[bytes], reasons: dict[int, str]) -> Part:
    """The messages of one type; those that are none get a reason."""
    columns = _columns(spec, kind)
    read, found = [], []
    for row, body in zip(rows, bodies, strict=True):
        try:
            found.append(kind.FromString(body))
        except Exception as error:  # DecodeError, and whatever else bytes make it raise
            reasons[row] = f"the message is not Protobuf of its type: {error}"
            continue
        read.append(row)
    pairs = zip(columns, spec.schema.fields, strict=True)
    values = [nothing(field, len(found)) if column is None else column.values(found) for column, field in pairs]
    return Part(np.array(read, np.int64), values)


@lru_cache(maxsize=256)
def _columns(spec: StreamSpec, kind: Any) -> tuple[Column | None, ...]:
    try:
        return tuple(
            column_of(kind.DESCRIPTOR, field, keys) for field, keys in zip(spec.schema.fields, keys_of(spec), strict=True)
        )
    except SashError as why:
        raise Unusable(why.message) from None


PROTOBUF = Encoding((DESCRIPTORS, MESSAGE, *REACHING), _check, _read, is_text=False)
