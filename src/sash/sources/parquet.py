"""Parquet: columns by name, rows by row groups.

A split is a range of rows. Where a split is smaller than a row group (few rows a batch), the group decoded last is
kept, so that its next rows need not be decoded again.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa
from pyarrow import parquet

from sash.errors import SashError, choices
from sash.folders.locations import locate
from sash.plan.streams import StreamSpec
from sash.scalar.arrays import combined
from sash.sources.result import TextResult
from sash.sources.values import conform, rows_of


@dataclass(frozen=True)
class Groups:
    """The row groups of a file: where each ends, in rows and in bytes from the beginning."""

    rows: tuple[int, ...]
    bytes: tuple[int, ...]
    names: tuple[str, ...]

    def cut(self, start: int, rows: int | None, limit: int, end: int | None) -> int:
        """The end of a range from `start`: whole groups of about `limit` bytes, but no more than `rows` rows."""
        total = self.rows[-1] if self.rows else 0
        last = total if end is None else min(end, total)
        if start >= last:
            return start
        group = bisect_right(self.rows, start)
        before = self.bytes[group - 1] if group else 0
        final = max(group, bisect_right(self.bytes, before + limit) - 1)
        stop = min(self.rows[final], last)
        return stop if rows is None else min(stop, start + rows)

    def size(self, start: int, stop: int) -> int:
        """About how many bytes a range of rows has."""
        return max(1, self.bytes[-1] * (stop - start) // self.rows[-1])


@contextmanager
def _opened(path: str) -> Iterator[parquet.ParquetFile]:
    """A file; what is wrong with it, wherever that comes out, is told by its name. Pages that have checksums are checked."""
    location = locate(path)
    try:
        with parquet.ParquetFile(location.path, filesystem=location.filesystem, page_checksum_verification=True) as file:
            yield file
    except (OSError, pa.ArrowException) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise SashError(f'cannot read "{path}": {reason}', "it may be cut short or damaged: write it anew") from error


@lru_cache(maxsize=1024)
def groups_of(path: str, modified: int) -> Groups:
    """The row groups of a file; `modified` tells versions of a file apart."""
    with _opened(path) as file:
        rows, sizes = [0], [0]
        for number in range(file.metadata.num_row_groups):
            group = file.metadata.row_group(number)
            rows.append(rows[-1] + group.num_rows)
            sizes.append(sizes[-1] + group.total_byte_size)
        return Groups(tuple(rows[1:]), tuple(sizes[1:]), tuple(file.schema_arrow.names))


def read_parquet(spec: StreamSpec, path: str, modified: int, start: int, stop: int) -> TextResult:
    """A range of rows; dead letters count from 0 at `start`."""
    groups = groups_of(path, modified)
    columns = _columns(spec, path, groups.names)
    first, last = bisect_right(groups.rows, start), bisect_left(groups.rows, stop)
    begin = groups.rows[first - 1] if first else 0
    is_whole = start == begin and stop == groups.rows[last]
    read = _read_groups if is_whole else _kept_groups
    table = read(path, modified, first, last, columns).slice(start - begin, stop - start)
    fields = zip(table.itercolumns(), spec.schema.fields, strict=True)
    return rows_of(spec.schema, [conform(combined(column), field, f'"{path}"') for column, field in fields])


def _columns(spec: StreamSpec, path: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """The file's own spelling of every declared column."""
    known = {name.lower(): name for name in reversed(names)}
    for name in spec.schema.names:
        if name.lower() not in known:
            raise SashError(
                f'stream "{spec.name}": the file "{path}" has no column "{name}"', f"its columns are: {choices(names)}"
            )
    return tuple(known[name.lower()] for name in spec.schema.names)


def _read_groups(path: str, modified: int, first: int, last: int, columns: tuple[str, ...]) -> pa.Table:
    with _opened(path) as file:
        table = file.read_row_groups(list(range(first, last + 1)), columns=list(columns), use_threads=False)
    return table.select(list(columns))


_kept_groups = lru_cache(maxsize=4)(_read_groups)
