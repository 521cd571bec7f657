"""Types in PostgreSQL, and columns on their way there.

Rows go by COPY as CSV, which Arrow writes: no row is a Python object. An array is a text on the way, as PostgreSQL writes arrays.
"""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv

from sash.errors import SashError
from sash.scalar.arrays import combined
from sash.schema import Kind, Schema, Type
from sash.sinks.texts import escaped, in_quotes, joined

LONGEST_NAME = 63  # bytes; PostgreSQL cuts longer names off
NAMES = {
    Kind.BOOLEAN: "boolean", Kind.INT: "integer", Kind.BIGINT: "bigint", Kind.DOUBLE: "double precision", Kind.STRING: "text",
    Kind.TIMESTAMP: "timestamp without time zone", Kind.DATE: "date",
}
ALSO = {"text": ("character varying",), "timestamp without time zone": ("timestamp(6) without time zone",)}


def type_name(type_: Type) -> str:
    """As PostgreSQL itself calls it."""
    if type_.element is not None:
        if type_.element.element is not None:
            raise SashError(f"{type_} has no type in PostgreSQL, whose arrays are rectangles", "leave the column out of the view")
        return f"{type_name(type_.element)}[]"
    return f"numeric({type_.precision},{type_.scale})" if type_.kind is Kind.DECIMAL else NAMES[type_.kind]


def is_type(type_: Type, found: str) -> bool:
    """Whether a column of that type in PostgreSQL holds all values of this one, and nothing else."""
    wanted = type_name(type_)
    return found == wanted or found in ALSO.get(wanted, ()) or (type_.kind is Kind.DECIMAL and found == "numeric")


def check_columns(schema: Schema) -> None:
    for field in schema.fields:
        type_name(field.type)
        check_length(field.name)


def check_length(name: str) -> None:
    if len(name.encode()) > LONGEST_NAME:
        raise SashError(f'"{name}" is longer than the {LONGEST_NAME} bytes that a name has in PostgreSQL', "choose a shorter one")


def sendable(rows: pa.Table) -> pa.Table:
    """The same rows, with arrays as texts."""
    columns = [_literals(column) if pa.types.is_list(column.type) else column for column in rows.columns]
    return pa.table(columns, names=rows.column_names)


def as_csv(rows: pa.Table) -> memoryview:
    """NULL is nothing at all, and texts are in quotes, which is how COPY … (FORMAT csv) reads them."""
    data = io.BytesIO()
    csv.write_csv(rows, data, csv.WriteOptions(include_header=False))
    return data.getbuffer()


def _literals(column: pa.ChunkedArray) -> pa.Array:
    """{1,2,NULL} or {"a","b"}"""
    lists = combined(column)
    flat = lists.flatten()
    if pa.types.is_string(flat.type):
        words = in_quotes(escaped(flat))
    elif pa.types.is_timestamp(flat.type) or pa.types.is_date(flat.type):
        words = in_quotes(pc.cast(flat, pa.string()))
    else:
        words = pc.cast(flat, pa.string())
    return joined(lists, pc.fill_null(words, "NULL"), "{", ",", "}")
