"""What reading gives: rows of the declared types, and dead letters for what could not be one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sash.scalar.arrays import Mask, blank, list_ends, list_offsets
from sash.schema import Field, Kind, Schema, Type

LONGEST_LINE = 1 << 16  # bytes that are kept of a line that could not be read
LONGEST_VALUE = 200  # characters of a value in a reason, which is shown on screens
DEAD_SCHEMA = pa.schema([("reason", pa.string()), ("line", pa.string()), ("file", pa.string()), ("row", pa.int64())])


@dataclass(frozen=True)
class ReadResult:
    """Rows in source order, and the dead letters among them in theirs.

    The `row` of a dead letter counts from 1: lines of text (a header is one), rows of Parquet, or pushed rows.
    """

    batch: pa.RecordBatch
    dead: pa.RecordBatch


@dataclass(frozen=True)
class Letter:
    """A record that could not be read; `row` counts the records of its text from 0."""

    reason: str
    line: str
    row: int


@dataclass(frozen=True)
class TextResult:
    """The rows and dead letters of a piece of text."""

    batch: pa.RecordBatch
    letters: Sequence[Letter]


@dataclass(frozen=True)
class Values:
    """One column: as it was read (NULL where that failed), where it failed, and as it was given."""

    read: pa.Array
    failed: Mask
    given: pa.Array | Sequence[object]


def array_values(arrays: pa.ListArray, items: Values, type_: Type, given: pa.Array | Sequence[object]) -> Values:
    """Arrays of elements that were read by themselves; one bad element fails its array."""
    wrong = np.diff(np.concatenate([[0], np.cumsum(items.failed)])[list_ends(arrays)]) > 0
    read = pa.ListArray.from_arrays(list_offsets(arrays), items.read).cast(type_.arrow)
    return Values(blank(read, wrong), wrong, given)


def good_rows(schema: Schema, columns: Sequence[Values]) -> tuple[pa.RecordBatch, Mapping[int, str]]:
    """The rows of which every value could be read, and the reason for each of the others."""
    batch = pa.RecordBatch.from_arrays([column.read for column in columns], schema=schema.arrow)
    failed = np.zeros(len(batch), np.bool_)
    for column in columns:
        failed |= column.failed
    if not failed.any():
        return batch, {}
    reasons = {int(row): _reason(schema, columns, int(row)) for row in np.flatnonzero(failed)}
    return batch.filter(pa.array(~failed)), reasons


def _reason(schema: Schema, columns: Sequence[Values], row: int) -> str:
    """What is wrong with the first bad value of a row."""
    field, column = next(pair for pair in zip(schema.fields, columns, strict=True) if pair[1].failed[row])
    return not_a(field, plain_value(column.given[row]))


def plain_value(value: object) -> object:
    return value.as_py() if isinstance(value, pa.Scalar) else value


def not_a(field: Field, value: object) -> str:
    shown = f'"{value}"' if type(value) is str else text_of(value)
    if len(shown) > LONGEST_VALUE:
        shown = f"{shown[:LONGEST_VALUE]}… ({len(shown):,} characters)"
    article = "an" if field.type.kind in (Kind.INT, Kind.ARRAY) else "a"
    return f'column "{field.name}": {printable(shown)} is not {article} {field.type}'


def text_of(value: object) -> str:
    """A value for people to see, whatever it is."""
    try:
        return str(value)
    except Exception:  # whatever `__str__` of somebody's class does; of an integer of thousands of digits Python makes no text
        return f"<{type(value).__name__}>"


def printable(text: str) -> str:
    """Text that can be stored as UTF-8, whatever it was."""
    return text.encode("utf-8", "replace").decode()


def letters_of(reasons: Mapping[int, str], records: Sequence[tuple[int, bytes]]) -> list[Letter]:
    """Dead letters of the records at the given places; each record comes with its number among all."""
    chosen = [(reasons[place], *records[place]) for place in sorted(reasons)]
    return [Letter(reason, _shown(record), number) for reason, number, record in chosen]


def _shown(record: bytes) -> str:
    return shortened(record[:LONGEST_LINE].decode("utf-8", "replace"), len(record))


def shortened(text: str, size: int) -> str:
    """A file of garbage may be one line: of a very long one, the beginning tells enough."""
    return text if size <= LONGEST_LINE else f"{text[:LONGEST_LINE]}… ({size:,} bytes)"


def dead_batch(letters: Sequence[Letter], file: str, rows_before: int = 0) -> pa.RecordBatch:
    if not letters:
        return NO_LETTERS
    columns = {
        "reason": [letter.reason for letter in letters],
        "line": [letter.line for letter in letters],
        "file": [file] * len(letters),
        "row": [rows_before + letter.row + 1 for letter in letters],
    }
    return pa.RecordBatch.from_pydict(columns, schema=DEAD_SCHEMA)


NO_LETTERS = pa.RecordBatch.from_pylist([], schema=DEAD_SCHEMA)
