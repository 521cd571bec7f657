"""COPY … TO STDOUT: rows as text, as CSV, or in PostgreSQL's binary format, one message a row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from sash.errors import choices
from sash.serve.postgres.answers import column_types
from sash.serve.postgres.failures import WireError
from sash.serve.postgres.few_rows import few_rows
from sash.serve.postgres.many_rows import framed
from sash.serve.postgres.row_pieces import pieces, row_messages
from sash.serve.postgres.text_values import text_of
from sash.serve.postgres.wire_types import WireType

_SIGNATURE = b"PGCOPY\n\xff\r\n\0" + bytes(8)  # followed by flags and the length of a header that there is not
_FRAME = 5  # bytes of a message before its body
_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\b": "\\b", "\f": "\\f", "\v": "\\v"})
_WORDS = {"TRUE": True, "ON": True, "1": True, "FALSE": False, "OFF": False, "0": False}
_KNOWN = ("FORMAT", "DELIMITER", "NULL", "HEADER", "QUOTE", "ESCAPE", "ENCODING")

Line = Callable[[list[str | None]], str]


@dataclass(frozen=True)
class CopyFormat:
    is_binary: bool
    is_csv: bool
    delimiter: str
    null: str
    has_header: bool
    quote: str

    @classmethod
    def of(cls, options: dict[str, str]) -> CopyFormat:
        if unknown := sorted(set(options) - set(_KNOWN)):
            raise WireError("42601", f"unknown option of COPY: {unknown[0]}", f"options are: {', '.join(_KNOWN)}")
        kind = options.get("FORMAT", "TEXT").upper()
        if kind not in ("TEXT", "CSV", "BINARY"):
            raise WireError("22023", f"unknown format of COPY: {kind}", "formats are: TEXT, CSV, BINARY")
        is_csv = kind == "CSV"
        header = options.get("HEADER", "FALSE").upper()
        if header not in _WORDS:
            raise WireError("22023", f"HEADER is {choices(_WORDS)}, not {header}")
        found = cls(
            kind == "BINARY", is_csv, options.get("DELIMITER", "," if is_csv else "\t"),
            options.get("NULL", "" if is_csv else "\\N"), _WORDS[header],
            options.get("QUOTE", '"'),
        )
        if len(found.delimiter) != 1 or len(found.quote) != 1 or found.delimiter in "\r\n\\" or found.delimiter == found.quote:
            raise WireError("22023", "the delimiter and the quote of COPY are one character each, and different")
        return found

    def start(self, columns: int) -> bytes:
        """The body of the message that begins a copy."""
        code = int(self.is_binary)
        return bytes([code]) + columns.to_bytes(2, "big") + code.to_bytes(2, "big") * columns

    def head(self, schema: pa.Schema) -> Iterator[bytes]:
        """What comes before the first row. The signature of a binary copy shares a message with what comes first, as clients
        count on."""
        if not self.is_binary and self.has_header:
            yield _message((self._line(list(schema.names)) + "\n").encode())

    def foot(self, *, is_empty: bool) -> Iterator[bytes]:
        if self.is_binary:
            yield _message((_SIGNATURE if is_empty else b"") + b"\xff\xff")

    def rows(self, table: pa.Table, *, is_first: bool) -> Iterator[bytes | memoryview]:
        types = column_types(table.schema)
        if self.is_binary:
            formats = [1] * len(types)
            if is_first and table.num_rows:
                yield _message(_SIGNATURE + few_rows(table.slice(0, 1), types, formats, b"d")[_FRAME:])
                table = table.slice(1)
            yield from row_messages(table, types, formats, b"d")
            return
        for piece in pieces(table):
            columns = [_texts(column, type_) for column, type_ in zip(piece.columns, types, strict=True)]
            yield framed(pa.array([self._line(list(row)) + "\n" for row in zip(*columns, strict=True)], pa.string()))

    def _line(self, values: list[str | None]) -> str:
        return self.delimiter.join(self._written(value) for value in values)

    def _written(self, value: str | None) -> str:
        if value is None:
            return self.null
        if not self.is_csv:
            written = value.translate(_ESCAPES)
            return written.replace(self.delimiter, "\\" + self.delimiter) if self.delimiter != "\t" else written
        if value == self.null or any(one in value for one in (self.delimiter, self.quote, "\n", "\r")):
            return self.quote + value.replace(self.quote, self.quote * 2) + self.quote
        return value


def _texts(column: pa.ChunkedArray, type_: WireType) -> list[str | None]:
    return [None if value is None else text_of(value, type_) for value in column.to_pylist()]


def _message(data: bytes) -> bytes:
    return b"d" + (len(data) + 4).to_bytes(4, "big") + data
