"""Messages, as queues carry them: every one is a record by itself, written as JSON or CSV, with some facts beside it.

    CREATE STREAM orders (id BIGINT, city STRING FROM '$.address.city', at TIMESTAMP METADATA FROM 'timestamp') TIMESTAMP BY at
    WITH (format = 'kafka', …, encoding = 'json')

What cannot be read is a dead letter: also a message without a value, and one with more or less than one record in it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.deltas import Int64s
from sash.errors import SashError, choices
from sash.plan.streams import StreamSpec
from sash.scalar.arrays import Mask
from sash.schema import Schema
from sash.sources.convert import convert
from sash.sources.csv import read_csv
from sash.sources.json import read_json, read_objects
from sash.sources.options import VALID
from sash.sources.result import Letter, ReadResult, TextResult, dead_batch, letters_of

PAYLOAD = "value"  # what Spark's sources call the message itself
OF_MESSAGES = tuple(option for option in VALID if option not in ("format", "path", "header"))


@dataclass(frozen=True)
class _Encoding:
    """How messages are read: many at once, each on a line of its own, or one that has several lines."""

    lines: Callable[[StreamSpec, bytes], TextResult]
    one: Callable[[StreamSpec, bytes], TextResult]
    blanks: str  # the characters, in a pattern, of which a message may consist that has nothing in it


ENCODINGS = {
    "json": _Encoding(read_json, lambda spec, message: read_objects(spec, [(0, message)]), r" \t\r\n"),
    "csv": _Encoding(lambda spec, text: read_csv(spec, (), text), lambda spec, text: read_csv(spec, (), text), r"\r\n"),
}


@lru_cache(maxsize=256)
def message_spec(spec: StreamSpec) -> StreamSpec:
    """The columns that are in the messages of a stream, and how these are written."""
    encoding = (spec.encoding or "").lower()
    if encoding not in ENCODINGS:
        raise SashError(f'stream "{spec.name}": unknown encoding "{spec.encoding}"', f"encodings are: {choices(ENCODINGS)}")
    if encoding == "csv" and spec.paths:
        raise SashError(f'stream "{spec.name}": column "{spec.paths[0][0]}" is FROM a path, and its messages are CSV')
    options = tuple((key, value) for key, value in spec.options if key in OF_MESSAGES)
    beside = {name for name, _ in spec.metadata}
    fields = tuple(field for field in spec.schema.fields if field.name not in beside)
    return replace(spec, schema=Schema(fields), options=(("format", encoding), *options), metadata=(), timestamp=None)


@lru_cache(maxsize=256)
def _metadata_spec(spec: StreamSpec) -> StreamSpec:
    beside = {name for name, _ in spec.metadata}
    fields = tuple(field for field in spec.schema.fields if field.name in beside)
    return replace(spec, schema=Schema(fields), options=(), paths=(), metadata=(), timestamp=None)


def read_messages(spec: StreamSpec, messages: pa.Array, metadata: Sequence[pa.Array]) -> ReadResult:
    """The rows of messages in their order, with the facts beside them, which are in the order of the columns that take them."""
    inner, outer = message_spec(spec), _metadata_spec(spec)
    inside = _read(inner, messages.cast(pa.large_binary()))
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
    also = [(row, messages[row].as_py()) for row in sorted(more.keys() - wrong)]
    letters = letters_of({place: more[row] for place, (row, _) in enumerate(also)}, also)
    return ReadResult(batch, dead_batch(_sorted([*inside.letters, *letters]), ""))


def _columns(batch: pa.RecordBatch, places: Int64s, without: Collection[int]) -> dict[str, pa.Array]:
    """The columns of a batch whose rows have these places, without the rows in some of them."""
    kept = batch.filter(pa.array(~np.isin(places, list(without)))) if without else batch
    return dict(zip(kept.schema.names, kept.columns, strict=True))


def _read(spec: StreamSpec, messages: pa.LargeBinaryArray) -> TextResult:
    """All that are one line together, as nearly all are; the others one after the other."""
    encoding = ENCODINGS[str(spec.option("format"))]
    if pc.any(pc.ends_with(messages, "\n")).as_py():
        messages = pc.replace_substring_regex(messages, r"\r?\n\z", "")
    is_line = _is_line(messages, encoding)
    found = _read_lines(spec, encoding, messages.filter(pa.array(is_line)), np.flatnonzero(is_line))
    if is_line.all():
        return found
    singly = [_read_one(spec, encoding, messages[int(place)].as_py(), int(place)) for place in np.flatnonzero(~is_line)]
    letters = _sorted([*found.letters, *(letter for one in singly for letter in one.letters)])
    places = [np.setdiff1d(np.flatnonzero(is_line), [letter.row for letter in found.letters])]
    places += [np.full(len(one.batch), place) for one, place in zip(singly, np.flatnonzero(~is_line), strict=True)]
    together = pa.concat_batches([found.batch, *(one.batch for one in singly)])
    return TextResult(together.take(pa.array(np.argsort(np.concatenate(places)))), letters)


def _is_line(messages: pa.LargeBinaryArray, encoding: _Encoding) -> Mask:
    """Which messages are one line with something in it."""
    is_blank = pc.match_substring_regex(messages, f"^[{encoding.blanks}]*$")
    is_other = pc.or_(is_blank, pc.match_substring(messages, "\n"))
    return ~np.asarray(pc.fill_null(is_other, True), np.bool_)


def _read_lines(spec: StreamSpec, encoding: _Encoding, lines: pa.LargeBinaryArray, places: Int64s) -> TextResult:
    whole = pa.ListArray.from_arrays(pa.array([0, len(lines)], pa.int32()), lines)
    found = encoding.lines(spec, pc.binary_join(whole, pa.scalar(b"\n", lines.type))[0].as_py())
    return TextResult(found.batch, [replace(letter, row=int(places[letter.row])) for letter in found.letters])


def _read_one(spec: StreamSpec, encoding: _Encoding, message: bytes | None, place: int) -> TextResult:
    """A message that is no line."""
    if message is None:
        return _unread(spec, "the message has no value", b"", place)
    if not message.strip():
        return _unread(spec, "the message is empty", message, place)
    found = encoding.one(spec, message)
    if len(found.batch) + len(found.letters) != 1:
        return _unread(spec, "the message is more than one record", message, place)
    return TextResult(found.batch, [replace(letter, row=place) for letter in found.letters])


def _unread(spec: StreamSpec, reason: str, message: bytes, place: int) -> TextResult:
    nothing = pa.RecordBatch.from_pylist([], schema=spec.schema.arrow)
    return TextResult(nothing, letters_of({0: reason}, [(place, message)]))


def _others(count: int, places: Collection[int]) -> Int64s:
    return np.setdiff1d(np.arange(count), list(places))


def _sorted(letters: Iterable[Letter]) -> list[Letter]:
    return sorted(letters, key=lambda letter: letter.row)
