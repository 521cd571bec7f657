"""An answer in pieces, so that only a piece of it is in memory as messages at a time, however slowly it is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from sash.serve.postgres.few_rows import few_rows
from sash.serve.postgres.many_rows import many_rows
from sash.serve.postgres.wire_types import WireType

FEW = 256  # rows up to which going value by value is quicker
PIECE = 8192  # rows
PIECE_BYTES = 4 << 20  # of Arrow, so that long values make short pieces


def row_messages(
    table: pa.Table, types: Sequence[WireType], formats: Sequence[int], tag: bytes = b"D"
) -> Iterator[bytes | memoryview]:
    for piece in pieces(table):
        yield (few_rows if piece.num_rows <= FEW else many_rows)(piece, types, formats, tag)


def pieces(table: pa.Table) -> Iterator[pa.Table]:
    """Slices of a table that are bounded in rows and, as far as its rows are alike, in bytes."""
    if table.num_rows <= FEW:
        if table.num_rows:
            yield table
        return
    width = max(1, table.nbytes // table.num_rows)
    rows = max(1, min(PIECE, PIECE_BYTES // width))
    for start in range(0, table.num_rows, rows):
        yield table.slice(start, rows)
