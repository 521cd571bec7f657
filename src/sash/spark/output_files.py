"""The Parquet files of an output: written with what the manifest must know of them, read only if they are what was written.

A file of many batches says in its footer how many rows it has of each, so that a reader can begin at any of them; its rows are
those of the first batch, then of the next, each batch in the order of time.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sash.errors import SashError
from sash.folders.folder import Folder
from sash.spark.manifest import Part

INDEX = b"sash.batches"  # in the footer of a file of many batches
GROUP_ROWS = 1 << 18
CHANGE = ["_op", "_ts"]  # what the columns of a change begin with
WAY_OUT = "bring it back from a copy, or start again with a new checkpoint and a new output folder"


class MissingPart(SashError):
    """A file of an output is gone; who reads while files are merged looks at the manifest again."""


@dataclass(frozen=True)
class Rows:
    """The rows of a batch."""

    batch: int
    table: pa.Table


def shard_file(batch: int, shard: int) -> str:
    return f"batch-{batch:08d}-shard-{shard:03d}.parquet"


def merged_file(first: int, last: int, mark: str = "") -> str:
    return f"batch-{first:08d}-to-{last:08d}{mark}.parquet"


def put_part(folder: Folder, part: Part, data: pa.Buffer) -> Part:
    folder.put(part.file, [data])
    return replace(part, size=data.size, checksum=zlib.crc32(data))


def put_rows(folder: Folder, file: str, batch: int, table: pa.Table) -> Part:
    """Write the rows of one batch."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    least, greatest = _instants(table)
    return put_part(folder, Part(file, batch, batch, table.num_rows, 0, 0, least, greatest), sink.getvalue())


def encoded(batches: Iterable[Rows]) -> pa.Buffer:
    """A file of many batches, made batch by batch."""
    sink, writer, waiting, counts = pa.BufferOutputStream(), None, [], []
    for rows in batches:
        if writer is None:
            schema = rows.table.schema.remove_metadata()
            writer = pq.ParquetWriter(sink, schema)
        counts.append((rows.batch, rows.table.num_rows))
        waiting.append(rows.table)
        if sum(table.num_rows for table in waiting) >= GROUP_ROWS:
            writer.write_table(pa.concat_tables(waiting))
            waiting = []
    assert writer is not None, "a file of no batches"
    if waiting:
        writer.write_table(pa.concat_tables(waiting))
    writer.add_key_value_metadata({INDEX: base64.b64encode(zlib.compress(json.dumps(counts).encode()))})
    writer.close()
    return sink.getvalue()


def read_part(folder: Folder, part: Part) -> Iterator[Rows]:
    """The rows of every batch in a file, if it is the file that was written."""
    data = folder.read(part.file)
    if data is None:
        raise MissingPart(f"the file {folder.place}/{part.file} is missing", WAY_OUT)
    if data.size != part.size or zlib.crc32(data) != part.checksum:
        raise SashError(f"the file {folder.place}/{part.file} is damaged: it is not what was written", WAY_OUT)
    file = pq.ParquetFile(pa.BufferReader(data))
    index = (file.metadata.metadata or {}).get(INDEX)
    table = file.read().replace_schema_metadata(None)
    if index is None:
        yield Rows(part.first, table)
        return
    start = 0
    for batch, rows in json.loads(zlib.decompress(base64.b64decode(index))):
        yield Rows(batch, table.slice(start, rows))
        start += rows


def read_batches(folder: Folder, parts: Iterable[Part], after: int, last: int) -> Iterator[Rows]:
    """The rows of these batches, one batch after the other, each in the order of time."""
    waiting: list[Rows] = []
    for part in parts:
        for rows in read_part(folder, part):
            if waiting and rows.batch != waiting[0].batch:
                yield _together(waiting)
                waiting = []
            if after < rows.batch <= last:
                waiting.append(rows)
    if waiting:
        yield _together(waiting)


def _together(parts: list[Rows]) -> Rows:
    """The rows of one batch from all shards; those of one instant in the order of shards."""
    if len(parts) == 1:
        return parts[0]
    table = pa.concat_tables([part.table for part in parts])
    if _is_timed(table):
        order = np.argsort(np.asarray(table.column(1).cast(pa.int64())), kind="stable")
        table = table.take(pa.array(order))
    return Rows(parts[0].batch, table)


def _instants(table: pa.Table) -> tuple[int | None, int | None]:
    if not _is_timed(table):
        return None, None
    found = pc.min_max(table.column(1).cast(pa.int64())).as_py()
    return found["min"], found["max"]


def _is_timed(table: pa.Table) -> bool:
    """Whether these are changes of a view; late and dead rows are in the order in which they came."""
    return bool(table.column_names[:2] == CHANGE and pa.types.is_timestamp(table.schema.types[1]))
