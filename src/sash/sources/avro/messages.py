"""Messages in Avro: of one schema, which the stream is declared with, or each with the number of its own in a registry.

A column is the field of its name, or where its path leads; a schema that has none gives NULL, so a topic may have messages of
several versions of a schema. With a schema in the declaration that is a mistake, and an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
import pyarrow as pa

from sash.deltas import Int64s
from sash.errors import SashError
from sash.plan.streams import StreamSpec
from sash.sources.avro.columns import check_column, column
from sash.sources.avro.schema import AvroSchema, given, parsed
from sash.sources.json_places import keys_of
from sash.sources.message_encoding import NO_VALUE, Encoding, Part, Unusable, at_once, gathered
from sash.sources.registry.client import Registered
from sash.sources.registry.frames import HEAD, frames_of, no_frame
from sash.sources.registry.place import REACHING, is_lenient, place_of
from sash.sources.registry.schemas import registered
from sash.sources.result import TextResult

SCHEMA = "schema"
KIND = "AVRO"


def _check(spec: StreamSpec) -> None:
    place, schema = place_of(spec), spec.option(SCHEMA)
    is_lenient(spec)
    if (place is None) == (schema is None):
        raise SashError(
            f'stream "{spec.name}" is in Avro, and needs either a schema or a registry',
            "add schema = '{\"type\": \"record\", …}', schema_file = 'orders.avsc' or registry = 'http://host:8081'",
        )
    if schema is None:
        parsed('"string"')  # an error, if fastavro is missing
        return
    known = given(spec.name, schema)
    for field, keys in zip(spec.schema.fields, keys_of(spec), strict=True):
        check_column(known, spec.name, field, keys)


def _read(spec: StreamSpec, messages: pa.LargeBinaryArray) -> TextResult:
    values: list[bytes | None] = messages.to_pylist()
    reasons = {place: NO_VALUE for place, value in enumerate(values) if value is None} if messages.null_count else {}
    schema = spec.option(SCHEMA)
    if schema is not None:
        places = np.flatnonzero(np.asarray(messages.is_valid()))
        return gathered(spec, values, _parts(spec, given(spec.name, schema), values, places, 0, reasons), reasons)
    frames = frames_of(messages)
    reasons |= {int(row): no_frame(value) for row in np.flatnonzero(~frames.is_framed) if (value := values[row]) is not None}
    parts: list[Part] = []
    for number in np.unique(frames.numbers[frames.is_framed]).tolist():
        places = np.flatnonzero(frames.is_framed & (frames.numbers == number))
        try:
            parts += _parts(spec, registered_schema(spec, number), values, places, HEAD, reasons)
        except Unusable as why:
            reasons |= dict.fromkeys(places.tolist(), str(why))
    return gathered(spec, values, parts, reasons)


def _parts(
    spec: StreamSpec, schema: AvroSchema, values: Sequence[bytes | None], places: Int64s, head: int, reasons: dict[int, str]
) -> list[Part]:
    return [_part(spec, schema, values, places[some], head, reasons) for some in at_once(len(places))]


def _part(
    spec: StreamSpec, schema: AvroSchema, values: Sequence[bytes | None], places: Int64s, head: int, reasons: dict[int, str]
) -> Part:
    """The messages of one schema; those that are none get a reason."""
    read, records = [], []
    for place in places.tolist():
        try:
            record = schema.read((values[place] or b"")[head:])
        except Unusable as why:
            reasons[place] = str(why)
            continue
        if isinstance(record, Mapping):
            read.append(place)
            records.append(record)
        else:
            reasons[place] = "the message is no record"
    columns = [column(schema, field, keys, records) for field, keys in zip(spec.schema.fields, keys_of(spec), strict=True)]
    return Part(np.array(read, np.int64), columns)


def registered_schema(spec: StreamSpec, number: int) -> AvroSchema:
    """That of a number in the registry of a stream."""
    found = registered(spec, number)
    try:
        return _understood(found)
    except Unusable as why:
        raise Unusable(f"schema {number} of the registry: {why}") from None


@lru_cache(maxsize=256)
def _understood(found: Registered) -> AvroSchema:
    if found.kind != KIND:
        raise Unusable(f"it is of the type {found.kind}, and not {KIND}")
    return parsed(found.text, found.references)


AVRO = Encoding((SCHEMA, *REACHING), _check, _read, is_text=False)
