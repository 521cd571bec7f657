"""Places in the files of a stream, and splits: the pieces in which they are read.

A place is an index into the append-only list of a stream's files, an offset in that file (bytes for text, rows for
Parquet) and the number of lines or rows before it. Planning goes from place to place and looks at line ends only;
it is a function of the files, the place and the limits, so that it can be done again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sash.plan.streams import StreamSpec
from sash.sources import csv, parquet
from sash.sources.lines import cut, end_of, open_text
from sash.sources.listing import SourceFile
from sash.sources.options import options_of

TEXT_SPLIT = 16 << 20
PARQUET_SPLIT = 64 << 20
MAX_BYTES = 256 << 20


@dataclass(frozen=True, order=True)
class Place:
    """Where reading goes on."""

    file: int = 0
    offset: int = 0
    row: int = 0

    def to_json(self) -> list[int]:
        return [self.file, self.offset, self.row]

    @staticmethod
    def from_json(value: Sequence[int]) -> Place:
        return Place(*value)


START = Place()


@dataclass(frozen=True)
class Split:
    """Whole records of one file, read by one task."""

    stream: str
    path: str
    modified: int
    format: str
    start: int  # bytes of (unpacked) text, or rows of Parquet
    stop: int
    row: int  # the lines (a header is one) or rows of the file before `start`
    rows: int  # lines or rows from start to stop; blank lines hold no row
    size: int  # about how many bytes
    header: tuple[str, ...] = ()  # the columns of the file, where a header names them

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "header": list(self.header)}

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> Split:
        return Split(**{**value, "header": tuple(value["header"])})


def plan(
    spec: StreamSpec,
    files: Sequence[SourceFile],
    start: Place = START,
    rows: int | None = None,
    max_bytes: int = MAX_BYTES,
    stop: Place | None = None,
) -> tuple[list[Split], Place]:
    """The next splits in order, of at most `rows` rows and about `max_bytes`, and the place after them.

    No splits: nothing is left. With `stop`, a place that an earlier plan gave, nothing beyond it is planned.
    """
    splits: list[Split] = []
    place, left = start, max_bytes
    while place.file < len(files) and left > 0 and rows != 0 and (stop is None or place < stop):
        end = stop.offset if stop is not None and stop.file == place.file else None
        split = _next(spec, files[place.file], place, rows, left, end)
        if split is None:
            place = Place(place.file + 1)
            continue
        splits.append(split)
        place = Place(place.file, split.stop, split.row + split.rows)
        rows = None if rows is None else rows - split.rows
        left -= split.size
    return splits, place


def _next(
    spec: StreamSpec, file: SourceFile, place: Place, rows: int | None, limit: int, end: int | None
) -> Split | None:
    """The next split of a file, or None at its end (at `end`, where given)."""
    if options_of(spec).format_of(file.path) == "parquet":
        return _next_parquet(spec, file, place, rows, limit, end)
    return _next_text(spec, file, place, rows, limit, end)


def _next_text(
    spec: StreamSpec, file: SourceFile, place: Place, rows: int | None, limit: int, end: int | None
) -> Split | None:
    options = options_of(spec)
    is_whole = options.is_whole(file.path)
    format_ = options.format_of(file.path)
    header = csv.header_of(spec, file) if format_ == "csv" and options.header else csv.NO_HEADER
    offset, row = max(place.offset, header.stop), max(place.row, header.lines)
    # Who reads a part of a whole file unpacks all of it: such a file is not divided for the sake of parallel tasks.
    limit = limit if is_whole else min(limit, TEXT_SPLIT)
    end = end_of(options, file) if end is None else end
    with open_text(options, file.path, file.modified) as read:
        stop, count = cut(options, read, offset, end, rows, limit)
    if count == 0:
        return None
    return Split(
        spec.name, file.path, file.modified, format_, offset, stop, row, count, stop - offset, header.names
    )


def _next_parquet(
    spec: StreamSpec, file: SourceFile, place: Place, rows: int | None, limit: int, end: int | None
) -> Split | None:
    groups = parquet.groups_of(file.path, file.modified)
    stop = groups.cut(place.offset, rows, min(limit, PARQUET_SPLIT), end)
    if stop == place.offset:
        return None
    size = groups.size(place.offset, stop)
    return Split(
        spec.name, file.path, file.modified, "parquet", place.offset, stop, place.offset, stop - place.offset, size
    )
