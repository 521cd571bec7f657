"""Types of messages in Protobuf, as descriptors tell them: a set that protoc has written, or files of a registry."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from sash.errors import SashError, choices, needing
from sash.sources.message_encoding import Unusable

LARGEST = 4 << 20  # bytes of a set of descriptors
WAY_OUT = "write it by protoc --include_imports --descriptor_set_out=FILE"

Files = Sequence[Any]  # FileDescriptorProto, those that others import before these
Indexes = tuple[int, ...]  # of a type among those of its file, or within another


def files_in(who: str, data: bytes) -> Files:
    """The files of a set."""
    with needing("the encoding protobuf", "protobuf", "protobuf"):
        from google.protobuf.descriptor_pb2 import FileDescriptorSet
    if len(data) > LARGEST:
        raise SashError(f"{who}: the descriptors are larger than {LARGEST:,} bytes", "take those files alone that are needed")
    try:
        found = FileDescriptorSet.FromString(data)
    except Exception as error:  # of whatever the bytes are
        raise SashError(f"{who}: this is no set of descriptors: {error}", WAY_OUT) from None
    return list(found.file)


@lru_cache(maxsize=64)
def type_in_set(who: str, text: str, name: str) -> Any:
    """The type of this name in a set, which comes in the digits of base64."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise SashError(f"{who}: descriptors is not base64", "name the file: descriptor_file = 'orders.desc'") from None
    files = files_in(who, data)
    try:
        return type_of(files, name)
    except Unusable as why:
        raise SashError(f"{who}: {why}", f"types are: {choices(sorted(name for name, _ in types_of(files)))}") from None


def type_of(files: Files, name: str) -> Any:
    """The class of the messages of a type."""
    from google.protobuf import message_factory

    try:
        return message_factory.GetMessageClass(_pool(files).FindMessageTypeByName(name.lstrip(".")))
    except KeyError:
        raise Unusable(f'no type in the descriptors is called "{name}"') from None


def _pool(files: Files) -> Any:
    """All that is in some files, and what they import of Protobuf's own."""
    from google.protobuf.descriptor_pool import DescriptorPool

    pool, there = DescriptorPool(), {file.name for file in files}
    try:
        for file in [*_well_known(files, there), *files]:
            pool.Add(file)
    except Exception as error:  # whatever is wrong with descriptors
        raise Unusable(f"the descriptors do not go together: {error}") from None
    return pool


def _well_known(files: Files, there: set[str]) -> Iterator[Any]:
    """Protobuf's own files that are imported and are not in the set."""
    from google.protobuf import (
        any_pb2,
        api_pb2,
        descriptor_pb2,
        duration_pb2,
        empty_pb2,
        field_mask_pb2,
        source_context_pb2,
        struct_pb2,
        timestamp_pb2,
        type_pb2,
        wrappers_pb2,
    )

    modules = (
        any_pb2, api_pb2, descriptor_pb2, duration_pb2, empty_pb2, field_mask_pb2, source_context_pb2, struct_pb2, timestamp_pb2,
        type_pb2, wrappers_pb2,
    )  # fmt: skip
    known = {module.DESCRIPTOR.name: module.DESCRIPTOR for module in modules}
    for name in [name for file in files for name in file.dependency]:
        if name in known and name not in there:
            there.add(name)
            own = descriptor_pb2.FileDescriptorProto()
            known[name].CopyToProto(own)
            yield from _well_known([own], there)
            yield own


def types_of(files: Files) -> Iterator[tuple[str, Indexes]]:
    """The full names of all types, and where they are in their files."""
    for file in files:
        yield from _types(file.message_type, f"{file.package}." if file.package else "", ())


def _types(types: Iterable[Any], prefix: str, above: Indexes) -> Iterator[tuple[str, Indexes]]:
    for place, one in enumerate(types):
        yield f"{prefix}{one.name}", (*above, place)
        yield from _types(one.nested_type, f"{prefix}{one.name}.", (*above, place))


def needed(files: Files, name: str) -> bytes:
    """The set of what a type needs, without comments, those that are imported first; the same for the same files."""
    from google.protobuf.descriptor_pb2 import FileDescriptorSet

    by_name: dict[str, Any] = {file.name: file for file in files}
    found: dict[str, Any] = {}

    def take(file: Any, above: tuple[str, ...]) -> None:
        for imported in file.dependency:
            if imported in by_name and imported not in found and imported not in above:
                take(by_name[imported], (*above, imported))
        found[file.name] = file

    for file in files:
        if name.lstrip(".") in (known for known, _ in types_of([file])):
            take(file, (file.name,))
    made = FileDescriptorSet(file=found.values() if found else files)
    for file in made.file:
        file.ClearField("source_code_info")
    data: bytes = made.SerializeToString(deterministic=True)
    return data
