"""Values that have a type already, from Parquet, Arrow, pandas or Python, as the declared type.

Only what keeps its meaning is taken: numbers as numbers that hold them, times as times, numbers as seconds since
the epoch for a TIMESTAMP, and text as the text of a file. A value that does not fit fails; a column whose type
makes no sense is an error.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.errors import SashError
from sash.scalar.arrays import Mask, array_of, combined, nulls, numbers, truth
from sash.scalar.cast import kind_of, ordinary, try_cast
from sash.schema import BEGINNING, END, SECOND, Field, Kind, Schema
from sash.sources.result import Letter, TextResult, Values, array_values, good_rows, plain_value, printable, shortened, text_of
from sash.sources.text import is_utf8, parse

_NUMBERS = (Kind.INT, Kind.BIGINT, Kind.DOUBLE, Kind.DECIMAL)
_TIMES = (Kind.TIMESTAMP, Kind.DATE)


def conform(given: pa.Array, field: Field, origin: str) -> Values:
    """A column as its declared type; `origin` is where it comes from, for the error."""
    target = field.type.arrow
    if (pa.types.is_string(given.type) or pa.types.is_large_string(given.type)) and not _is_text(given):
        return _read_texts(given, field, origin)
    if given.type == target:
        return Values(given, np.zeros(len(given), np.bool_), given)
    if pa.types.is_null(given.type):
        return Values(pa.nulls(len(given), target), np.zeros(len(given), np.bool_), given)
    if pa.types.is_list(given.type) or pa.types.is_large_list(given.type) or pa.types.is_fixed_size_list(given.type):
        return _arrays(given, field, origin)
    try:
        plain = ordinary(given)
        kind = kind_of(plain.type)
    except (SashError, pa.ArrowInvalid) as error:
        raise _unfit(given, field, origin) from error
    if kind is Kind.STRING and field.type.element is None:
        return Values(*parse(plain, field.type), given)
    if not _may_become(kind, field.type.kind):
        raise _unfit(given, field, origin)
    read, failed = _seconds(plain) if _is_float_time(kind, field) else try_cast(plain, target)
    return Values(read, truth(failed) | _is_cut(plain, read, field), given)


def is_as_declared(batch: pa.RecordBatch, schema: Schema) -> bool:
    """Whether rows are of the declared types, so that nothing can be wrong with them."""
    texts = schema.texts
    is_typed = texts is not None and batch.schema.equals(schema.arrow, check_metadata=True)
    return is_typed and (not texts or all(_is_text(batch.column(place)) for place in texts))


def _is_text(given: pa.Array) -> bool:
    """Whether what is called text is UTF-8: nobody may have looked at it so far."""
    try:
        given.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _read_texts(given: pa.Array, field: Field, origin: str) -> Values:
    """Texts of which some are not UTF-8."""
    values: list[bytes | None] = given.cast(pa.large_binary()).to_pylist()
    wrong = np.array([value is not None and not is_utf8(value) for value in values], np.bool_)
    texts = pa.array([None if value is None else value.decode("utf-8", "replace") for value in values], pa.string())
    read = conform(pc.if_else(pa.array(wrong), None, texts), field, origin)
    return Values(read.read, read.failed | wrong, texts)


def _arrays(given: pa.Array, field: Field, origin: str) -> Values:
    """Arrays whose elements are as declared."""
    if field.type.element is None:
        raise _unfit(given, field, origin)
    is_list = pa.types.is_list(given.type)  # a cast of [NULL, NULL] to its own type would lose one of them
    arrays = given if is_list else combined(given.cast(pa.list_(given.type.value_type)))
    items = conform(combined(arrays.flatten()), Field(field.name, field.type.element), origin)
    return array_values(arrays, items, field.type, given)


def rows_of(schema: Schema, columns: Sequence[Values]) -> TextResult:
    """The rows of conformed columns; the line of a dead letter is the row as JSON."""
    batch, reasons = good_rows(schema, columns)
    return TextResult(batch, [Letter(reasons[row], _line(schema, columns, row), row) for row in sorted(reasons)])


def _line(schema: Schema, columns: Sequence[Values], row: int) -> str:
    values = [plain_value(column.given[row]) for column in columns]
    parts = [f"{_as_json(name)}: {_as_json(value)}" for name, value in zip(schema.names, values, strict=True)]
    line = printable("{" + ", ".join(parts) + "}")
    return shortened(line, len(line.encode()))


def _as_json(value: object) -> str:
    try:
        return json.dumps(value, default=text_of, ensure_ascii=False)
    except (ValueError, TypeError, RecursionError):  # keys that are no texts, a list within itself, a huge integer
        return json.dumps(text_of(value), ensure_ascii=False)


def _may_become(kind: Kind, wanted: Kind) -> bool:
    if kind in _NUMBERS:
        return wanted in (*_NUMBERS, Kind.TIMESTAMP)
    return kind is wanted or (kind in _TIMES and wanted in _TIMES)


def _is_float_time(kind: Kind, field: Field) -> bool:
    return kind is Kind.DOUBLE and field.type.kind is Kind.TIMESTAMP


def _seconds(seconds: pa.Array) -> tuple[pa.Array, pa.Array]:
    """To the nearest microsecond, for the float nearest to 0.000001 may lie below it."""
    micros = np.rint(numbers(seconds) * SECOND)
    fits = (micros >= BEGINNING) & (micros < END)
    stored = np.where(fits, micros, 0).astype(np.int64)
    return array_of(stored, pa.timestamp("us"), ~fits | nulls(seconds)), pa.array(~fits & ~nulls(seconds))


def _is_cut(given: pa.Array, read: pa.Array, field: Field) -> Mask:
    """Where a whole number or a day is all that is left of a value that was more."""
    if not (field.type.is_integer or field.type.kind is Kind.DATE):
        return np.zeros(len(given), np.bool_)
    back, _ = try_cast(read, given.type)
    return truth(pc.not_equal(back, given))


def _unfit(given: pa.Array, field: Field, origin: str) -> SashError:
    return SashError(f'column "{field.name}" of {origin} has the type {given.type}, which is no {field.type}')
