"""Rows as messages, value by value: quick for a few rows, and what `many_rows.py` is compared with."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from sash.serve.postgres.binary_values import NULL, bytes_of
from sash.serve.postgres.text_values import text_of
from sash.serve.postgres.wire_types import WireType

_LENGTH = struct.Struct("!i").pack
_HEAD = struct.Struct("!cih").pack


def few_rows(table: pa.Table, types: Sequence[WireType], formats: Sequence[int], tag: bytes = b"D") -> bytes:
    """One message a row: DataRow, or CopyData of a binary copy, which are alike but for their tag."""
    columns = [
        [_value(value, type_, format_) for value in column.to_pylist()]
        for column, type_, format_ in zip(table.columns, types, formats, strict=True)
    ]
    if not columns:
        return bytes(_HEAD(tag, 6, 0) * table.num_rows)
    rows = []
    for values in zip(*columns, strict=True):
        body = b"".join(values)
        rows.append(_HEAD(tag, len(body) + 6, len(columns)) + body)
    return b"".join(rows)


def _value(value: Any, type_: WireType, format_: int) -> bytes:
    if value is None:
        return NULL
    data = bytes_of(value, type_) if format_ else text_of(value, type_).encode()
    return _LENGTH(len(data)) + data
