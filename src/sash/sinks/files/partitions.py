"""Rows by the values of some columns, each kind in a folder of its own: day=2026-01-01/city=Ulm, as Hive and Spark name them.

These columns are in the names of the folders and not in the files. Signs that a path cannot have, and those that Spark escapes,
are % and two hexadecimal digits, and so are a dot and a line at the beginning, as readers pass over folders that begin with them;
NULL is __HIVE_DEFAULT_PARTITION__.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.errors import SashError
from sash.scalar.arrays import combined, per_value
from sash.schema import Kind, Schema
from sash.sinks.sink import SinkRefused

NULL = "__HIVE_DEFAULT_PARTITION__"
_ESCAPED = re.compile(r"""[\x00-\x1f"#%'*/:=?\\\x7f{}\[\]^]""")


def partition_columns(text: str | None, schema: Schema) -> tuple[int, ...]:
    """What partition_by = 'a, b' names."""
    if text is None:
        return ()
    found = tuple(dict.fromkeys(schema.index(name.strip().strip("`")) for name in text.split(",")))
    for place in found:
        if schema.types[place].kind is Kind.DOUBLE or schema.types[place].element is not None:
            raise SashError(
                f'files cannot be spread by column "{schema.names[place]}", which is {schema.types[place]}',
                "name columns of integers, texts, dates or times",
            )
    return found


def spread(rows: pa.Table, columns: tuple[int, ...], first: int) -> Iterator[tuple[str, pa.Table]]:
    """The path below the folder, and the rows that go there, in their order and without these columns; they are counted from
    column `first` on."""
    if not columns:
        yield "", rows
        return
    places = [first + column for column in columns]
    check_values(rows, [rows.column_names[place] for place in places], (NULL,))
    paths = pc.binary_join_element_wise(*(_named(rows, place) for place in places), "/").dictionary_encode()
    order = np.argsort(np.asarray(paths.indices), kind="stable")
    counts = np.bincount(np.asarray(paths.indices), minlength=len(paths.dictionary))
    kept = rows.select([place for place in range(rows.num_columns) if place not in places]).take(pa.array(order))
    start = 0
    for path, count in zip(paths.dictionary.to_pylist(), counts.tolist(), strict=True):
        yield path, kept.slice(start, count)
        start += count


def check_values(rows: pa.Table, columns: Sequence[str], texts: Sequence[str]) -> None:
    """Refuse rows with one of these texts in one of these columns."""
    for name in columns:
        if pa.types.is_string(rows.column(name).type):
            found = pc.is_in(rows.column(name), pa.array(texts, pa.string()))
            if pc.any(found, min_count=0).as_py():
                text = rows.column(name).filter(found)[0].as_py()
                raise SinkRefused(
                    f'rows have the text {text!r} in column "{name}", which no partition has: readers take it for NULL',
                    f"leave {name} out of partition_by, or let the view give another text in its place",
                )


def _named(rows: pa.Table, place: int) -> pa.Array:
    texts = per_value(combined(rows.column(place).cast(pa.string())), escaped, pa.string())
    return pc.binary_join_element_wise(f"{_folder(rows.column_names[place])}=", pc.fill_null(texts, NULL), "")


def _folder(column: str) -> str:
    first = f"%{ord(column[0]):02X}" if column[0] in "._" else str(escaped(column[0]))
    return first + str(escaped(column[1:]))


def escaped(text: str | None) -> str | None:
    return None if text is None else _ESCAPED.sub(lambda sign: f"%{ord(sign.group()):02X}", text)
