"""The outputs of an embedded run beside its answers: one Parquet file a view for its changes, and late and dead rows."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType

import pyarrow as pa
import pyarrow.parquet as pq

from sash.cli.lost import Unreadable
from sash.file_names import file_name, writing
from sash.runtime.packets import changes_schema
from sash.runtime.taking_host import Changes
from sash.schema import Schema


class ChangeFiles:
    """Writes changes after every batch, so that they are never all in memory."""

    def __init__(self, folder: Path | None, schemas: Mapping[str, Schema]) -> None:
        """The schemas are those of the views."""
        self._folder = folder
        self._schemas = schemas
        self._writers: dict[str, pq.ParquetWriter] = {}
        self.unreadable = Unreadable()

    def __enter__(self) -> ChangeFiles:
        if self._folder is not None:
            with writing(self._folder):
                self._folder.mkdir(parents=True, exist_ok=True)
            for name, schema in self._schemas.items():
                self._writer(f"{file_name(name)}.changes.parquet", changes_schema(schema))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for file, writer in self._writers.items():
            with self._writing(file):
                writer.close()

    def write(self, taken: Mapping[str, Changes]) -> None:
        """All that has come since the last time."""
        for stream, letters in taken["dead"].items():
            self.unreadable.add(stream, letters)
        for kind, batches in taken.items():
            self._drain(kind, batches)

    def _drain(self, kind: str, batches: Changes) -> None:
        for name, waiting in batches.items():
            file = f"{file_name(name)}.{kind}.parquet"
            for batch in waiting if self._folder is not None else ():
                writer = self._writer(file, batch.schema)
                with self._writing(file):
                    writer.write_batch(batch)

    def _writer(self, file: str, schema: pa.Schema) -> pq.ParquetWriter:
        assert self._folder is not None
        if file not in self._writers:
            with self._writing(file):
                self._writers[file] = pq.ParquetWriter(self._folder / file, schema)
        return self._writers[file]

    def _writing(self, file: str) -> AbstractContextManager[None]:
        return writing(f"{self._folder}/{file}")
