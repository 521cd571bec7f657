"""Rows by the values of some columns, each kind in a folder of its own: day=2026-01-01/city=Ulm, as Hive and Spark name them.

These columns are in the names of the folders and not in the files. Signs that a path cannot have, and those that Spark escapes,
are % and two hexadecimal digits; NULL is __HIVE_DEFAULT_PARTITION__.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.errors import SashError
from sash.scalar.arrays import combined, per_value
from sash.schema import Kind, Schema

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
    paths = pc.binary_join_element_wise(*(_named(rows, place) for place in places), "/").dictionary_encode()
    order = np.argsort(np.asarray(paths.indices), kind="stable")
    counts = np.bincount(np.asarray(paths.indices), minlength=len(paths.dictionary))
    kept = rows.select([place for place in range(rows.num_columns) if place not in places]).take(pa.array(order))
    start = 0
    for path, count in zip(paths.dictionary.to_pylist(), counts.tolist(), strict=True):
        yield path, kept.slice(start, count)
        start += count


def _named(rows: pa.Table, place: int) -> pa.Array:
    texts = per_value(combined(rows.column(place).cast(pa.string())), escaped, pa.string())
    return pc.binary_join_element_wise(f"{escaped(rows.column_names[place])}=", pc.fill_null(texts, NULL), "")


def escaped(text: str | None) -> str | None:
    return None if text is None else _ESCAPED.sub(lambda sign: f"%{ord(sign.group()):02X}", text)
