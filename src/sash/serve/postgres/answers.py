"""What statements are answered with."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa

from sash.serve.postgres.wire_types import WireType, wire_type

KNOWN = 256  # schemas: the same questions are asked again and again
_COLUMN = struct.Struct("!ihIhih").pack  # relation and place (of none), type, size, modifier, format


@dataclass(frozen=True)
class Rows:
    """Rows of a query; `tag` is what the client is told at their end, followed by how many there were."""

    table: pa.Table
    tag: str = "SELECT"

    @property
    def types(self) -> Sequence[WireType]:
        return column_types(self.table.schema)


@dataclass(frozen=True)
class Done:
    """Nothing to show but that it is done."""

    tag: str


@dataclass(frozen=True)
class Copied:
    """Batches of rows, which may go on for ever; `options` say how they are written."""

    schema: pa.Schema
    batches: Iterator[pa.Table | None]  # None: nothing has come, is the client still there?
    options: dict[str, str]


Answer = Rows | Done | Copied


@lru_cache(KNOWN)
def column_types(schema: pa.Schema) -> Sequence[WireType]:
    return tuple(wire_type(type_) for type_ in schema.types)


def row_description(schema: pa.Schema, formats: Sequence[int]) -> bytes:
    """The body of the message that names the columns."""
    return _row_description(schema, tuple(formats))


@lru_cache(KNOWN)
def _row_description(schema: pa.Schema, formats: tuple[int, ...]) -> bytes:
    parts = [len(schema).to_bytes(2, "big")]
    for name, type_, format_ in zip(schema.names, column_types(schema), formats, strict=True):
        parts.append(name.replace("\0", "").encode() + b"\0")
        parts.append(_COLUMN(0, 0, type_.oid, type_.size, type_.modifier, format_))
    return b"".join(parts)
