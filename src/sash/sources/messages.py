"""Messages, as queues carry them: every one is a record by itself, written in some encoding, with some facts beside it.

    CREATE STREAM orders (id BIGINT, city STRING FROM '$.address.city', at TIMESTAMP METADATA FROM 'timestamp') TIMESTAMP BY at
    WITH (format = 'kafka', …, encoding = 'json')

What cannot be read is a dead letter: also a message without a value, and one with more or less than one record in it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pyarrow as pa

from sash.deltas import Int64s
from sash.errors import SashError, choices
from sash.plan.streams import StreamSpec
from sash.schema import Schema
from sash.sources.avro.messages import AVRO
from sash.sources.convert import convert
from sash.sources.message_encoding import Encoding, hexadecimal
from sash.sources.message_texts import CSV, JSON
from sash.sources.protobuf.messages import PROTOBUF
from sash.sources.raw import RAW
from sash.sources.result import ReadResult, dead_batch, letters_of

PAYLOAD = "value"  # what Spark's sources call the message itself
ENCODINGS = {"json": JSON, "csv": CSV, "avro": AVRO, "protobuf": PROTOBUF, "raw": RAW}
OF_MESSAGES = tuple({option: None for encoding in ENCODINGS.values() for option in encoding.options})


@lru_cache(maxsize=256)
def message_spec(spec: StreamSpec) -> StreamSpec:
    """The columns that are in the messages of a stream, and how these are written; an error, if they cannot be."""
    name = (spec.encoding or "").lower()
    if name not in ENCODINGS:
        raise SashError(f'stream "{spec.name}": unknown encoding "{spec.encoding}"', f"encodings are: {choices(ENCODINGS)}")
    encoding = ENCODINGS[name]
    options = tuple((key, value) for key, value in spec.options if key in encoding.options)
    beside = {name for name, _ in spec.metadata}
    fields = tuple(field for field in spec.schema.fields if field.name not in beside)
    inner = replace(spec, schema=Schema(fields), options=(("format", name), *options), metadata=(), timestamp=None)
    encoding.check(inner)
    return inner


def _encoding(inner: StreamSpec) -> Encoding:
    return ENCODINGS[str(inner.option("format"))]


@lru_cache(maxsize=256)
def _metadata_spec(spec: StreamSpec) -> StreamSpec:
    beside = {name for name, _ in spec.metadata}
    fields = tuple(field for field in spec.schema.fields if field.name in beside)
    return replace(spec, schema=Schema(fields), options=(), paths=(), metadata=(), timestamp=None)


def read_messages(spec: StreamSpec, messages: pa.Array, metadata: Sequence[pa.Array]) -> ReadResult:
    """The rows of messages in their order, with the facts beside them, which are in the order of the columns that take them."""
    inner, outer = message_spec(spec), _metadata_spec(spec)
    encoding = _encoding(inner)
    inside = encoding.read(inner, messages.cast(pa.large_binary()))
    if not outer.schema.names:
        return ReadResult(inside.batch, dead_batch(inside.letters, ""))
    beside = convert(outer, pa.Table.from_arrays(list(metadata), names=list(outer.schema.names)))
    more = {letter["row"] - 1: letter["reason"] for letter in beside.dead.to_pylist()}
    wrong = {letter.row for letter in inside.letters}
    columns = {
        **_columns(inside.batch, _others(len(messages), wrong), more),
        **_columns(beside.batch, _others(len(messages), more), wrong),
    }
    batch = pa.RecordBatch.from_arrays([columns[name] for name in spec.schema.names], schema=spec.schema.arrow)
    also = [(row, _shown(encoding, messages[row])) for row in sorted(more.keys() - wrong)]
    letters = [*inside.letters, *letters_of({place: more[row] for place, (row, _) in enumerate(also)}, also)]
    return ReadResult(batch, dead_batch(sorted(letters, key=lambda letter: letter.row), ""))


def _shown(encoding: Encoding, message: pa.Scalar) -> bytes:
    """A message of a dead letter; a text may be the message, or what was made of it by who has told it."""
    value = message.as_py()
    data = value.encode() if isinstance(value, str) else value or b""
    return data if encoding.is_text else hexadecimal(data)


def _columns(batch: pa.RecordBatch, places: Int64s, without: Collection[int]) -> dict[str, pa.Array]:
    """The columns of a batch whose rows have these places, without the rows in some of them."""
    kept = batch.filter(pa.array(~np.isin(places, list(without)))) if without else batch
    return dict(zip(kept.schema.names, kept.columns, strict=True))


def _others(count: int, places: Collection[int]) -> Int64s:
    return np.setdiff1d(np.arange(count), list(places))
