"""The files of several streams, read side by side: tables whole, then the streams a batch at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from sash.plan.streams import StreamSpec
from sash.sources.listing import list_files
from sash.sources.splits import START, Split, plan

BATCH_BYTES = 16 << 20  # of all streams together, where no number of rows is asked for


def batches(streams: Sequence[StreamSpec], base: Path, rows: int | None) -> Iterator[list[Split]]:
    """The splits of every batch: at most `rows` rows of each stream, else bytes in proportion to the sizes of the streams."""
    files = {stream.name: list_files(stream, base) for stream in streams if stream.path is not None}
    tables = [stream for stream in streams if stream.is_table and stream.name in files]
    if tables:
        yield [split for table in tables for split in plan(table, files[table.name], max_bytes=1 << 62)[0]]
    sizes = {name: sum(file.size for file in found) for name, found in files.items()}
    total = max(1, sum(sizes.values()))
    places = {stream.name: START for stream in streams if not stream.is_table and stream.name in files}
    while True:
        batch: list[Split] = []
        for stream in streams:
            if stream.name in places:
                share = max(1, BATCH_BYTES * sizes[stream.name] // total) if rows is None else 1 << 62
                splits, places[stream.name] = plan(stream, files[stream.name], places[stream.name], rows, share)
                batch += splits
        if not batch:
            return
        yield batch
