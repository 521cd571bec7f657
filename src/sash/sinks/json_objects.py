"""Rows as JSON objects, made column by column: no row is a Python object before it is a message.

    BIGINT 5, DOUBLE 0.5     5, 0.5            DOUBLE NaN, Infinity      "NaN", "Infinity", as JSON has no such numbers
    STRING, BOOLEAN, NULL    "a", true, null   TIMESTAMP, DATE           "2026-01-01 12:00:00.000000", "2026-01-01"
    DECIMAL                  "1.25", exact     ARRAY                     [1, 2]
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from sash.scalar.arrays import combined, per_value
from sash.schema import Kind, Schema, Type
from sash.sinks.texts import escaped, in_quotes, joined

CONTROLS = r"[\x00-\x1f\x7f]"
PLAIN = (Kind.BOOLEAN, Kind.INT, Kind.BIGINT)
QUOTED = (Kind.TIMESTAMP, Kind.DATE, Kind.DECIMAL)


def fragments(schema: Schema, rows: pa.Table) -> pa.Table:
    """Every value as it stands in a JSON text; NULL stays NULL."""
    columns = [_fragment(combined(column), type_) for column, type_ in zip(rows.columns, schema.types, strict=True)]
    return pa.table(columns, names=rows.column_names)


def objects(names: Sequence[str], parts: Sequence[pa.ChunkedArray | pa.Array], rows: int) -> list[bytes]:
    """JSON objects with these keys; `parts` are their values as fragments."""
    if not parts:
        return [b"{}"] * rows
    pieces: list[object] = []
    for place, (name, column) in enumerate(zip(names, parts, strict=True)):
        pieces += [f"{', ' if place else '{'}{json.dumps(name)}: ", pc.fill_null(column, "null")]
    texts = pc.binary_join_element_wise(*pieces, "}", "")
    return [bytes(value) for value in pc.cast(texts, pa.binary()).to_pylist()]


def _fragment(values: pa.Array, type_: Type) -> pa.Array:
    if type_.element is not None:
        return joined(values, pc.fill_null(_fragment(values.flatten(), type_.element), "null"), "[", ", ", "]")
    if type_.kind in PLAIN:
        return pc.cast(values, pa.string())
    if type_.kind in QUOTED:
        return in_quotes(pc.cast(values, pa.string()))
    if type_.kind is Kind.DOUBLE:
        return _doubles(values)
    if type_.kind is Kind.STRING:
        return _strings(values)
    raise AssertionError(f"no JSON of {type_}")


def _doubles(values: pa.Array) -> pa.Array:
    """Keys of a topic are compared by their bytes, so -0.0 is 0.0, as everywhere."""
    texts = pc.cast(pc.add(values, 0.0), pa.string())
    if pc.all(pc.is_finite(values), min_count=0).as_py():
        return texts
    infinite = pc.if_else(pc.less(values, 0.0), '"-Infinity"', '"Infinity"')
    return pc.if_else(pc.is_finite(values), texts, pc.if_else(pc.is_nan(values), '"NaN"', infinite))


def _strings(values: pa.Array) -> pa.Array:
    if pc.any(pc.match_substring_regex(values, CONTROLS), min_count=0).as_py():
        return per_value(values, lambda value: json.dumps(value, ensure_ascii=False), pa.string())
    return in_quotes(escaped(values))
