"""Formats of files: a table as bytes, and bytes that more rows are added to.

A file grows by being written again as a whole, and is cut back to what it held before, by a size that is rows of a Parquet file
and bytes of a text.
"""

from __future__ import annotations

import io
from typing import Protocol

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from sash.errors import SashError, choices
from sash.plan.streams import StreamSpec
from sash.scalar.arrays import combined
from sash.schema import Schema
from sash.sinks.json_objects import fragments, objects
from sash.sources.json import read_json
from sash.sources.text import parse


class Format(Protocol):
    """Files of rows with these columns."""

    ending: str

    def __init__(self, schema: Schema) -> None: ...

    def grown(self, data: bytes | None, rows: pa.Table) -> bytes:
        """A file with what another holds, if there is one, and these rows."""

    def size(self, data: bytes | None) -> int:
        """How much a file holds."""

    def cut(self, data: bytes, size: int) -> bytes:
        """The file as it was when it held so much."""

    def read(self, data: bytes) -> pa.Table:
        """All rows, as they were written."""


class Parquet:
    ending = "parquet"

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def grown(self, data: bytes | None, rows: pa.Table) -> bytes:
        whole = rows if data is None else pa.concat_tables([self.read(data), rows])
        written = pa.BufferOutputStream()
        pq.write_table(whole, written)
        return bytes(written.getvalue())

    def size(self, data: bytes | None) -> int:
        return 0 if data is None else int(pq.ParquetFile(pa.BufferReader(data)).metadata.num_rows)

    def cut(self, data: bytes, size: int) -> bytes:
        return self.grown(None, self.read(data).slice(0, size))

    def read(self, data: bytes) -> pa.Table:
        return pq.read_table(pa.BufferReader(data)).cast(self._schema.arrow)


class _Text:
    """Lines, one after the other."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def size(self, data: bytes | None) -> int:
        return len(data or b"")

    def cut(self, data: bytes, size: int) -> bytes:
        return data[:size]


class JsonLines(_Text):
    ending = "json"

    def grown(self, data: bytes | None, rows: pa.Table) -> bytes:
        lines = objects(self._schema.names, fragments(self._schema, rows).columns, len(rows))
        return b"".join([data or b"", *(line + b"\n" for line in lines)])

    def read(self, data: bytes) -> pa.Table:
        found = read_json(StreamSpec("the sink", self._schema, options=(("format", "json"),)), data)
        if found.letters:
            raise SashError(f"a line cannot be read: {found.letters[0].reason}", "let nobody else write to the folder")
        return pa.Table.from_batches([found.batch])


class Csv(_Text):
    """With a header. NULL is nothing at all; texts are in quotes, also an empty one."""

    ending = "csv"

    def __init__(self, schema: Schema) -> None:
        super().__init__(schema)
        for field in schema.fields:
            if field.type.element is not None:
                way_out = "write JSON or Parquet: format = 'json'"
                raise SashError(f'CSV has no arrays, but column "{field.name}" is {field.type}', way_out)

    def grown(self, data: bytes | None, rows: pa.Table) -> bytes:
        written = io.BytesIO()
        csv.write_csv(rows.rename_columns(list(self._schema.names)), written, csv.WriteOptions(include_header=data is None))
        return (data or b"") + written.getvalue()

    def read(self, data: bytes) -> pa.Table:
        names = [str(place) for place in range(len(self._schema))]
        texts = csv.read_csv(
            pa.BufferReader(data),
            csv.ReadOptions(column_names=names, skip_rows_after_names=1, block_size=len(data) + 1, use_threads=False),
            csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
            csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), null_values=[""], strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )  # fmt: skip
        columns = [parse(combined(text), type_)[0] for text, type_ in zip(texts.columns, self._schema.types, strict=True)]
        return pa.table(columns, schema=self._schema.arrow)


FORMATS: dict[str, type[Format]] = {"parquet": Parquet, "json": JsonLines, "csv": Csv}


def make_format(name: str, schema: Schema) -> Format:
    if name.lower() not in FORMATS:
        raise SashError(f"format = '{name}' is unknown", f"it is one of: {choices(FORMATS)}")
    return FORMATS[name.lower()](schema)
