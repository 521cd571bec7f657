"""Types in MySQL and MariaDB, and rows on their way there.

Rows go as JSON arrays, made column by column, which JSON_TABLE reads on the other side: no row is a Python object, and no value
is text of a statement.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.errors import SashError
from sash.scalar.arrays import combined
from sash.schema import Kind, Schema, Type
from sash.sinks.json_objects import fragments
from sash.sinks.sink import SinkRefused
from sash.sinks.texts import in_quotes

LONGEST_NAME = 64  # characters
NAMES = {
    Kind.BOOLEAN: "tinyint", Kind.INT: "int", Kind.BIGINT: "bigint", Kind.DOUBLE: "double", Kind.STRING: "longtext",
    Kind.TIMESTAMP: "datetime(6)", Kind.DATE: "date",
}
TEXTS = re.compile(r"(varchar|char)\(\d+\)|text|mediumtext|longtext")
WIDTH = re.compile(r"^(tinyint|int|bigint)\(\d+\)$")  # of which MariaDB tells, and which says nothing about values
ROWS, ROOM = 1 << 16, 128 << 20  # rows and bytes of which texts are made at once: a text array of Arrow ends at 2 GB
BYTES = 4 << 20  # of one statement: a server takes 16 MB at least, unless somebody has said otherwise


def type_name(type_: Type) -> str:
    """As MySQL itself calls it."""
    if type_.element is not None:
        raise SashError(f"{type_} has no type in MySQL", "leave the column out of the view, or write ARRAY_JOIN(a, ',')")
    return f"decimal({type_.precision},{type_.scale})" if type_.kind is Kind.DECIMAL else NAMES[type_.kind]


def plain_name(found: str) -> str:
    """A type as the server tells of it, without what does not matter."""
    return WIDTH.sub(r"\1", found.lower())


def is_type(type_: Type, found: str) -> bool:
    """Whether a column of that type in MySQL holds values of this one; a text that is too long is an error of the server's."""
    name = plain_name(found)
    return name == type_name(type_) or (type_.kind is Kind.STRING and TEXTS.fullmatch(name) is not None)


def check_columns(schema: Schema) -> None:
    for field in schema.fields:
        type_name(field.type)
        check_length(field.name)


def check_length(name: str) -> None:
    if len(name) > LONGEST_NAME:
        raise SashError(f'"{name}" is longer than the {LONGEST_NAME} characters that a name has in MySQL', "choose a shorter one")


def parts_as_json(schema: Schema, rows: pa.Table) -> Iterator[str]:
    """The rows as JSON, `[[1, "a"], [2, null]]`, in parts that a statement can carry."""
    for field, column in zip(schema.fields, rows.columns, strict=True):
        if field.type.kind is Kind.DOUBLE and not pc.all(pc.is_finite(column), min_count=0).as_py():
            raise SinkRefused(
                f'column "{field.name}" of the view is NaN or infinite in a row, which a DOUBLE of MySQL cannot be',
                "let the view give NULL for it, CASE WHEN ISNAN(x) …, drop the sink and create it again",
            )
    for piece in _pieces(rows):
        yield from _joined_parts(_row_texts(schema, piece))


def _pieces(rows: pa.Table) -> Iterator[pa.Table]:
    """In halves, until one is small enough; a text can become six times as long, where it has only control characters."""
    if len(rows) > 1 and (len(rows) > ROWS or rows.nbytes > ROOM):
        half = len(rows) // 2
        yield from _pieces(rows.slice(0, half))
        yield from _pieces(rows.slice(half))
    elif len(rows):
        yield rows


def _row_texts(schema: Schema, rows: pa.Table) -> pa.Array:
    """Every row as a JSON array."""
    columns = []
    for type_, column in zip(schema.types, fragments(schema, rows).columns, strict=True):
        texts = combined(column)
        # The JSON of MySQL reads numbers fast, and at times wrong in the last bit; its DOUBLE of a text is the nearest one.
        columns.append(pc.fill_null(in_quotes(texts) if type_.kind is Kind.DOUBLE else texts, "null"))
    return pc.binary_join_element_wise("[", pc.binary_join_element_wise(*columns, ","), "]", "")


def _joined_parts(texts: pa.Array) -> Iterator[str]:
    """As many in a part as BYTES allows, and one at least."""
    ends = np.cumsum(np.asarray(pc.binary_length(texts)).astype(np.int64) + 1)
    first = 0
    while first < len(texts):
        begun = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, begun + BYTES, side="right")))
        part = texts.slice(first, last - first)
        whole = pa.ListArray.from_arrays(pa.array([0, len(part)], pa.int32()), part)
        yield f"[{pc.binary_join(whole, ',')[0].as_py()}]"
        first = last
