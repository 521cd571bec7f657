"""Rows that a program pushes, in the shapes that programs have them in, as a batch of the declared types.

A list of dicts or of tuples, a dict of columns, an Arrow table or record batch, or a pandas DataFrame. A row of
Python values that are none of the column's type is a dead letter; an Arrow column of a type that makes no sense is
an error, as in Parquet.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.errors import SashError, choices
from sash.plan.streams import StreamSpec
from sash.scalar.arrays import combined
from sash.schema import Field
from sash.sources.result import NO_LETTERS, Letter, ReadResult, TextResult, Values, dead_batch, printable, text_of
from sash.sources.values import conform, is_as_declared, rows_of

Columns = Mapping[int, Any]  # by place: an Arrow array, or a list of Python values


def convert(spec: StreamSpec, data: object) -> ReadResult:
    """The rows in their order, and dead letters, whose `row` counts from 1."""
    if isinstance(data, pa.RecordBatch) and is_as_declared(data, spec.schema):
        return ReadResult(data, NO_LETTERS)
    result = _convert(spec, data)
    return ReadResult(result.batch, dead_batch(result.letters, ""))


def _convert(spec: StreamSpec, data: Any) -> TextResult:
    if isinstance(data, pa.Table | pa.RecordBatch):
        _check_once(spec, data.schema.names)
        columns = {_place(spec, name): combined(data.column(name)) for name in data.schema.names}
        return _from_columns(spec, columns, len(data))
    if isinstance(data, Mapping):
        return _from_mapping(spec, data)
    if _is_frame(data):
        _check_once(spec, list(map(str, data.columns)))
        columns = {_place(spec, str(name)): _series(data[name]) for name in data.columns}
        return _from_columns(spec, columns, len(data))
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        return _from_rows(spec, data)
    raise _wrong_shape(spec, data)


def _wrong_shape(spec: StreamSpec, data: object) -> SashError:
    return SashError(
        f'stream "{spec.name}" cannot take rows from a {type(data).__name__}',
        "push a list of dicts or tuples, a dict of lists, an Arrow table or a pandas DataFrame",
    )


def _place(spec: StreamSpec, name: str) -> int:
    try:
        return spec.schema.index(name)
    except SashError as error:
        raise SashError(
            f'unknown column "{name}" in stream "{spec.name}"', f"columns are: {choices(spec.schema.names)}"
        ) from error


def _check_once(spec: StreamSpec, names: Sequence[str]) -> None:
    """Of two columns for one nobody knows which is meant."""
    places = [_place(spec, name) for name in names]
    if len(set(places)) < len(places):
        twice = next(spec.schema.names[place] for place in places if places.count(place) > 1)
        raise SashError(f'the rows pushed to "{spec.name}" have column "{twice}" twice: {choices(names)}', "push each once")


def _is_frame(data: object) -> bool:
    # Who has a DataFrame has imported pandas; nobody else needs to wait for it.
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(data, pandas.DataFrame)


def _series(series: Any) -> Any:
    """A column of a DataFrame, whose missing values are NULL, as an array or, of mixed values, as a list."""
    try:
        return combined(pa.array(series, from_pandas=True))
    except pa.ArrowException:
        return series.astype(object).where(series.notna(), None).tolist()


def _from_mapping(spec: StreamSpec, data: Mapping[str, Any]) -> TextResult:
    _check_once(spec, list(map(str, data)))
    columns = {_place(spec, name): _listed(spec, values) for name, values in data.items()}
    lengths = {name: len(columns[_place(spec, name)]) for name in data}
    if len(set(lengths.values())) > 1:
        raise SashError(f'columns of different lengths for stream "{spec.name}": {lengths}')
    return _from_columns(spec, columns, next(iter(lengths.values()), 0))


def _listed(spec: StreamSpec, values: Any) -> Any:
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return combined(values)
    if isinstance(values, np.ndarray):
        return pa.array(values)
    if isinstance(values, str | bytes | Mapping) or not hasattr(values, "__len__"):
        raise SashError(
            f'stream "{spec.name}": the values of a dict must be lists, one for each column', "push [row] for one row"
        )
    return list(values)


def _from_rows(spec: StreamSpec, rows: Sequence[Any]) -> TextResult:
    if all(isinstance(row, Mapping) for row in rows):
        return _from_columns(spec, _transposed(spec, rows), len(rows))
    if not all(isinstance(row, Sequence) and not isinstance(row, str | bytes) for row in rows):
        odd = next(row for row in rows if isinstance(row, str | bytes) or not isinstance(row, Sequence))
        raise _wrong_shape(spec, odd)
    width = len(spec.schema)
    places = [place for place, row in enumerate(rows) if len(row) == width]
    columns = {column: [rows[place][column] for place in places] for column in range(width)}
    result = _from_columns(spec, columns, len(places))
    letters = [Letter(letter.reason, letter.line, places[letter.row]) for letter in result.letters]
    wrong = [_wrong_width(row, width, place) for place, row in enumerate(rows) if len(row) != width]
    return TextResult(result.batch, sorted([*letters, *wrong], key=lambda letter: letter.row))


def _wrong_width(row: Sequence[Any], width: int, place: int) -> Letter:
    return Letter(f"{len(row)} values where {width} are expected", printable(text_of(row)), place)


def _transposed(spec: StreamSpec, rows: Sequence[Mapping[str, Any]]) -> Columns:
    """Dicts as columns; a missing key is NULL."""
    columns: dict[int, list[Any]] = {}
    for key in sorted(set().union(*rows), key=str):
        place, values = _place(spec, str(key)), [row.get(key) for row in rows]
        if place in columns:  # another spelling of the same name, in other rows
            values = [old if new is None else new for old, new in zip(columns[place], values, strict=True)]
        columns[place] = values
    return columns


def _from_columns(spec: StreamSpec, columns: Columns, length: int) -> TextResult:
    fields = enumerate(spec.schema.fields)
    values = [_values(columns.get(place, pa.nulls(length)), field, spec) for place, field in fields]
    return rows_of(spec.schema, values)


def _values(given: Any, field: Field, spec: StreamSpec) -> Values:
    if isinstance(given, pa.Array):
        return conform(given, field, f'the rows pushed to "{spec.name}"')
    return python_values(given, field)


def python_values(given: Sequence[Any], field: Field) -> Values:
    """Values of Python, each as it is by itself: what is none of the column's type fails."""
    # Of values of several types pyarrow would make values of one, so that what a row is would depend on its neighbours.
    types = {type(value) for value in given} - {type(None)}
    if len(types) < 2:
        return _of_one_type(given, field)
    parts = [_of_one_type([value if type(value) is type_ else None for value in given], field) for type_ in types]
    read = pc.coalesce(*(part.read for part in parts))
    return Values(read, np.logical_or.reduce([part.failed for part in parts]), given)


def _of_one_type(given: Sequence[Any], field: Field) -> Values:
    try:
        return conform(_array(given), field, "")
    except (pa.ArrowException, SashError):
        return _one_by_one(given, field)


def _array(values: Sequence[Any]) -> pa.Array:
    """Python values as an array, or an Arrow error, whatever looking at them raises: half of a surrogate pair, an infinite
    Decimal and an object whose `__len__` fails each raise something else."""
    try:
        return pa.array(values)
    except pa.ArrowException:
        raise
    except Exception as error:
        raise pa.ArrowInvalid(str(error)) from error


def _one_by_one(given: Sequence[Any], field: Field) -> Values:
    values = [_one(value, field) for value in given]
    read = pa.concat_arrays([value.read for value in values])
    return Values(read, np.concatenate([value.failed for value in values]), given)


def _one(value: Any, field: Field) -> Values:
    is_large = type(value) is int and not -(2**63) <= value < 2**63  # which pyarrow takes for no number at all
    try:
        return conform(_array([Decimal(value) if is_large else value]), field, "")
    except (pa.ArrowException, SashError):
        return Values(pa.nulls(1, field.type.arrow), np.ones(1, np.bool_), [value])
