"""Messages that a program pushes, as a consumer of a queue has them: a list of bytes, or columns with what is told beside them.

    db.push("orders", [message.value() for message in consumer.consume(1000)])
    db.push("orders", {"value": values, "offset": offsets})       -- of a stream with a column offset BIGINT METADATA
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from sash.errors import SashError, choices
from sash.plan.streams import StreamSpec
from sash.scalar.arrays import combined
from sash.sources.messages import PAYLOAD, read_messages
from sash.sources.result import ReadResult

BINARY = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_string, pa.types.is_large_string)


def read_pushed(spec: StreamSpec, rows: Any) -> ReadResult | None:
    """The rows of pushed messages; None where rows are none, but have the columns of the stream."""
    if spec.encoding is None:
        return None
    if isinstance(rows, list | tuple) and rows and all(one is None or isinstance(one, bytes) for one in rows):
        return _read(spec, {PAYLOAD: list(rows)})
    if isinstance(rows, pa.Array | pa.ChunkedArray):
        return _read(spec, {PAYLOAD: rows})
    names = rows.schema.names if isinstance(rows, pa.Table | pa.RecordBatch) else rows if isinstance(rows, Mapping) else ()
    wanted = [PAYLOAD, *(name for _, name in spec.metadata)]
    is_column = PAYLOAD in [name.lower() for name in spec.schema.names]
    if PAYLOAD not in names or is_column:
        return None
    if missing := [name for name in wanted if name not in names]:
        raise SashError(f'messages pushed to "{spec.name}" have no "{missing[0]}" beside them', f"there are: {choices(names)}")
    if odd := [name for name in names if name not in wanted]:
        raise SashError(f'"{odd[0]}" beside its messages tells nothing of "{spec.name}"', f"needed are: {choices(wanted)}")
    return _read(spec, {name: rows[name] for name in names})


def _read(spec: StreamSpec, columns: Mapping[str, Any]) -> ReadResult:
    if spec.metadata and len(columns) == 1:
        column, name = spec.metadata[0]
        raise SashError(
            f'column "{column}" of stream "{spec.name}" is told beside its messages, and these are pushed without it',
            f'push columns: {{"{PAYLOAD}": […], "{name}": […]}}',
        )
    given = {name: _array(values) for name, values in columns.items()}
    messages = given[PAYLOAD]
    if pa.types.is_null(messages.type):
        messages = messages.cast(pa.binary())
    if not any(is_one(messages.type) for is_one in BINARY):
        raise SashError(f'messages are bytes or text, and those pushed to "{spec.name}" are {messages.type}', "push their values")
    lengths = {name: len(values) for name, values in given.items()}
    if len(set(lengths.values())) > 1:
        raise SashError(f'columns of different lengths for stream "{spec.name}": {lengths}')
    return read_messages(spec, messages, [given[name] for _, name in spec.metadata])


def _array(values: Any) -> pa.Array:
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return combined(values)
    try:
        return pa.array(values)
    except pa.ArrowException as error:
        raise SashError(f"these are no values of one column: {error}", "push messages as bytes") from None
