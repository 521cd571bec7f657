"""The rows of a stream as they count: those that are in time, in the order of their timestamps.

A row is late when its timestamp is below the greatest one at earlier positions of its partition, less the stream's delay. Late
rows are no part of any answer. Neither are rows without a timestamp, which cannot be read at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import pyarrow as pa

from sash.errors import SashError, choices
from sash.plan.streams import StreamSpec
from sash.schema import BEGINNING, Schema
from sash.testing.values import Instant, Row, convert, instant, microseconds
from sash.testing.windows import Arrival

Rows: TypeAlias = Iterable[Sequence[object] | Mapping[str, object]] | pa.Table | pa.RecordBatch


def read_rows(data: Rows, columns: Schema) -> list[Row]:
    """Rows in the columns of a stream, from tuples, dictionaries or Arrow."""
    if isinstance(data, pa.Table | pa.RecordBatch):
        data = data.to_pylist()
    return [_row(row, columns) for row in data]


def _row(row: Sequence[object] | Mapping[str, object], columns: Schema) -> Row:
    if isinstance(row, Mapping):
        places = {columns.index(name): value for name, value in row.items()}
        row = [places.get(place) for place in range(len(columns))]
    if len(row) != len(columns):
        raise SashError(f"a row has {len(row)} values", f"columns are: {columns}")
    return tuple(convert(value, type_) for value, type_ in zip(row, columns.types, strict=True))


def split_late(
    spec: StreamSpec, rows: Sequence[Row], stamps: Sequence[Instant] | None, partitions: Sequence[int | str] | None = None
) -> tuple[list[Arrival], list[Row]]:
    """The arrivals of a stream, sorted, and the rows that came too late; without partitions, all are in one."""
    kept: list[tuple[int, int | str, Arrival]] = []
    late: list[Row] = []
    greatest: dict[int | str, int] = {}
    for ts, row, partition in zip(instants_of(spec, rows, stamps), rows, partitions or [0] * len(rows), strict=True):
        if ts is None:
            continue
        if ts < greatest.get(partition, BEGINNING) - spec.delay:
            late.append(row)
        else:
            kept.append((ts, partition, Arrival(ts, row)))
        greatest[partition] = max(greatest.get(partition, BEGINNING), ts)
    return [arrival for _, _, arrival in sorted(kept, key=lambda found: found[:2])], late


def instants_of(spec: StreamSpec, rows: Sequence[Row], stamps: Sequence[Instant] | None) -> list[int | None]:
    """When the rows of a stream happened, in their order."""
    if spec.timestamp is not None:
        return [None if row[spec.timestamp] is None else instant(row[spec.timestamp]) for row in rows]
    if rows and stamps is None:
        raise SashError(f'the rows of "{spec.name}" have no timestamps', f'give stamps={{"{spec.name}": […]}}')
    return [microseconds(stamp) for stamp in stamps or ()]


def check_names(names: Iterable[str], specs: Mapping[str, StreamSpec]) -> None:
    """Fail on rows for a stream that nobody declared."""
    for name in names:
        if name.lower() not in specs:
            there = choices(spec.name for spec in specs.values())
            raise SashError(f'unknown stream or table "{name}"', f"there are: {there}")
