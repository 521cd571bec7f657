"""Files of Protobuf, as protoc would describe them, without a compiler."""

from __future__ import annotations

from typing import Any

from google.protobuf import message_factory
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
)
from google.protobuf.descriptor_pool import DescriptorPool

KINDS = {name.removeprefix("TYPE_").lower(): number for name, number in FieldDescriptorProto.Type.items()}


def field(number: int, said: str, name: str) -> FieldDescriptorProto:
    """`repeated optional int32`, `.shop.Address`, `enum .shop.State`: what stands before the name of a field."""
    *how, kind = said.split()
    found = FieldDescriptorProto(name=name, number=number, label=3 if "repeated" in how else 1, json_name=name)
    if kind.startswith("."):
        found.type, found.type_name = KINDS["enum" if "enum" in how else "message"], kind
    else:
        found.type = KINDS[kind]
    return found


def message(name: str, /, *nested: DescriptorProto, **fields: str) -> DescriptorProto:
    found = DescriptorProto(name=name, nested_type=nested)
    for number, (field_name, said) in enumerate(fields.items(), 1):
        made = field(number, said, field_name)
        if "optional" in said:
            made.proto3_optional, made.oneof_index = True, len(found.oneof_decl)
            found.oneof_decl.add(name=f"_{field_name}")
        found.field.append(made)
    return found


def map_entry(name: str, key: str, value: str) -> DescriptorProto:
    found = message(name, key=key, value=value)
    found.options.map_entry = True
    return found


def enum(name: str, *symbols: str) -> EnumDescriptorProto:
    found = EnumDescriptorProto(name=name)
    for number, symbol in enumerate(symbols):
        found.value.add(name=symbol, number=number)
    return found


def file(name: str, package: str, *parts: DescriptorProto | EnumDescriptorProto, imports: tuple[str, ...] = (), syntax: str = "proto3") -> FileDescriptorProto:
    return FileDescriptorProto(
        name=name, package=package, syntax=syntax, dependency=imports,
        message_type=[part for part in parts if isinstance(part, DescriptorProto)],
        enum_type=[part for part in parts if isinstance(part, EnumDescriptorProto)],
    )  # fmt: skip


def in_one(*files: FileDescriptorProto) -> bytes:
    return FileDescriptorSet(file=files).SerializeToString()


def classes(*files: FileDescriptorProto) -> Any:
    """Gives the class of a type by its name."""
    from google.protobuf import timestamp_pb2, wrappers_pb2

    pool = DescriptorPool()
    for own in (timestamp_pb2, wrappers_pb2):
        pool.AddSerializedFile(own.DESCRIPTOR.serialized_pb)
    for one in files:
        pool.Add(one)
    return lambda name: message_factory.GetMessageClass(pool.FindMessageTypeByName(name))
