"""What the messages of an answer say of a key: its row, or, in envelopes as Debezium writes them, what has become of its row.

    format = 'json'        {"k": "a", "n": 2}, and nothing where the row has gone
    format = 'debezium'    {"before": {"k": "a", "n": 1}, "after": {"k": "a", "n": 2}, "op": "u", "ts_ms": …, "source": {…}}

    op   c  a row has come        u  it has become another      before: as it was
         r  it is there when a run begins to write              d  it has gone; after it a tombstone, a message without a value

In envelopes a TIMESTAMP is microseconds and a DATE days since the epoch, as Debezium has them if nobody says otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from sash.schema import BIGINT, INT, Field, Kind, Schema, Type, array
from sash.sinks.options import SinkSpec
from sash.sinks.sink import Taken

FORMATS = ("json", "debezium")


class Form(Protocol):
    """How messages say it; rows are JSON objects."""

    def came(self, row: bytes) -> bytes: ...

    def became(self, before: bytes, after: bytes) -> bytes: ...

    def went(self, row: bytes) -> Iterator[bytes | None]:
        """Of a row that nobody knows any more, its key."""


class Rows:
    """The row itself."""

    def came(self, row: bytes) -> bytes:
        return row

    def became(self, before: bytes, after: bytes) -> bytes:
        return after

    def went(self, row: bytes) -> Iterator[bytes | None]:
        yield None


class Envelopes:
    """Of a batch."""

    def __init__(self, spec: SinkSpec, taken: Taken, *, is_first: bool) -> None:
        newest = pc.max(taken.changes.column(1)).cast(pa.int64()).as_py()
        millis = None if newest is None else newest // 1000
        source = {"connector": "sash", "name": spec.name, "table": spec.view, "ts_ms": millis, "position": taken.position}
        self._end = f', "ts_ms": {json.dumps(millis)}, "source": {json.dumps(source)}}}'.encode()
        self._op_of_new = b"r" if is_first else b"c"

    def came(self, row: bytes) -> bytes:
        return self._envelope(b"null", row, self._op_of_new)

    def became(self, before: bytes, after: bytes) -> bytes:
        return self._envelope(before, after, b"u")

    def went(self, row: bytes) -> Iterator[bytes | None]:
        yield self._envelope(row, b"null", b"d")
        yield None

    def _envelope(self, before: bytes, after: bytes, op: bytes) -> bytes:
        return b'{"before": %s, "after": %s, "op": "%s"%s' % (before, after, op, self._end)


def in_numbers(schema: Schema, rows: pa.Table) -> tuple[Schema, pa.Table]:
    """Rows whose times are the numbers that Debezium has for them."""
    fields = tuple(Field(field.name, _number(field.type)) for field in schema.fields)
    columns = [column.cast(field.type.arrow) for column, field in zip(rows.columns, fields, strict=True)]
    return Schema(fields), pa.table(columns, names=rows.column_names)


def _number(type_: Type) -> Type:
    if type_.element is not None:
        return array(_number(type_.element))
    return {Kind.TIMESTAMP: BIGINT, Kind.DATE: INT}.get(type_.kind, type_)
