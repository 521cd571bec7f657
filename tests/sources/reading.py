"""Streams over files in a temporary folder, read in pieces of any size."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from sash.plan.streams import StreamSpec
from sash.schema import BIGINT, DOUBLE, STRING, TIMESTAMP, Schema, schema
from sash.sources import START, ReadResult, Split, list_files, plan, read

CONNECTIONS = schema(("ts", TIMESTAMP), ("host", STRING), ("bytes", BIGINT), ("took", DOUBLE))


class Files:
    """A folder, and what a stream over it reads."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._age = 0

    def write(self, name: str, content: str | bytes) -> Path:
        """Write a file, younger than all before."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        self._age += 1
        os.utime(path, ns=(self._age * 10**9, self._age * 10**9))
        return path

    def spec(self, path: str, columns: Schema = CONNECTIONS, options: Mapping[str, str] | None = None) -> StreamSpec:
        return StreamSpec("conn", columns, options=tuple({"path": path, **(options or {})}.items()))

    def splits(self, spec: StreamSpec, rows: int | None = None, max_bytes: int = 1 << 30) -> list[Split]:
        """All splits of the stream, planned step by step."""
        files, place, found = list_files(spec, self.folder), START, []
        while True:
            splits, place = plan(spec, files, place, rows, max_bytes)
            if not splits:
                return found
            assert rows is None or sum(split.rows for split in splits) <= rows
            found.extend(splits)

    def read(self, spec: StreamSpec, rows: int | None = None, max_bytes: int = 1 << 30) -> ReadResult:
        """The whole stream."""
        return together([read(spec, split) for split in self.splits(spec, rows, max_bytes)], spec)


def together(results: list[ReadResult], spec: StreamSpec) -> ReadResult:
    assert all(result.batch.schema == spec.schema.arrow for result in results)
    return ReadResult(_one([result.batch for result in results]), _one([result.dead for result in results]))


def _one(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    if not batches:
        return pa.RecordBatch.from_pylist([])
    return pa.concat_batches(batches)


def values(result: ReadResult) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in result.batch.to_pylist()]


def letters(result: ReadResult) -> list[tuple[int, str, str]]:
    return [(row["row"], row["line"], row["reason"]) for row in result.dead.to_pylist()]
