"""Packing: the rows of one split of a stream, on their way to the shards.

    rows in source order ─┬─ no usable timestamp ─▶ DEAD   shard 0
                          ├─ late in this split ──▶ LATE   shard 0
                          └─ the rest ────────────▶ ROWS   to every port of the stream, by the hash of the port's key
                                                    SPLIT  to every shard of every level: how many, least and greatest ts

Lateness against earlier splits is left to the shards, who see the SPLIT facts of all splits in order; where the rows of a batch
are one unit, so is all lateness. Rows that tell partition and position are put into this order, and SPLIT has facts of every
partition. A split too large for one packet goes as several, each with SPLIT facts of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sash.deltas import Int64s
from sash.kernels.positions import is_ascending, mark_late, span_of
from sash.plan.streams import Stamp, StreamSpec
from sash.planner.job import Job
from sash.runtime.losses import late_rows, unreadable_rows
from sash.runtime.packets import AsBytes, Body, Cargo, Packet, Writing
from sash.runtime.partitions import PARTITION, POSITION, facts_of, in_place, partition_codes
from sash.runtime.routing import split_by_shard
from sash.schema import BEGINNING, END

CHANGE = 1 << 20  # changes of tables come after all splits of a batch: order = CHANGE + that of their event
CHUNKS = 1024  # a split has at most so many chunks: order = split * CHUNKS + chunk
FIRST_LEVEL = 1
WEIGHT = "_weight"  # the last column of changes of a table
BYTES = AsBytes()

DEAD_SCHEMA = pa.schema([("reason", pa.string()), ("line", pa.string()), ("file", pa.string()), ("row", pa.int64())])
NO_DEAD = pa.RecordBatch.from_pylist([], schema=DEAD_SCHEMA)


@dataclass(frozen=True)
class Parted:
    """The rows of a split by their fate; `ts` are those of the kept rows, None when they carry none yet."""

    kept: pa.RecordBatch
    ts: Int64s | None
    late: pa.RecordBatch
    dead: pa.RecordBatch
    example: tuple[int, int, str | None] = (0, 0, None)  # of a late row: its ts, the clock, the partition


def pack_split(
    job: Job, stream: StreamSpec, order: int, rows: pa.RecordBatch, dead: pa.RecordBatch, arrival: int | None,
    writing: Writing = BYTES,
) -> Iterator[Packet]:
    """The packets of the split at place `order` of its batch; `arrival`: the first row's instant, if stamped on arrival."""
    parted = part(stream, rows, arrival)
    if parted.late.num_rows:
        yield late_rows(stream.name, parted.late.num_rows, *parted.example)
    for lost in (dead, parted.dead):
        if lost.num_rows:
            yield unreadable_rows(stream.name, lost)
    for place, (cargo, batch) in enumerate(((Cargo.LATE, parted.late), (Cargo.DEAD, dead), (Cargo.DEAD, parted.dead))):
        if batch.num_rows:
            whole = batch.select(range(len(stream.schema))) if cargo is Cargo.LATE else batch
            yield Packet(FIRST_LEVEL, 0, cargo, stream.name, -1, order * CHUNKS + place, writing.rows(whole))
    for chunk, (start, stop) in enumerate(_chunks(parted.kept, writing.most_bytes)):
        ts = None if parted.ts is None else parted.ts[start:stop]
        yield from _pack_chunk(job, stream, order * CHUNKS + chunk, parted.kept.slice(start, stop - start), ts, writing)


def to_everyone(job: Job, cargo: Cargo, name: str, order: int, body: Body) -> Iterator[Packet]:
    for level in range(1, job.levels + 1):
        for shard in range(job.shards):
            yield Packet(level, shard, cargo, name, -1, order, body)


def part(stream: StreamSpec, rows: pa.RecordBatch, arrival: int | None) -> Parted:
    """Late and dead rows apart; arrival stamps put on."""
    nobody = rows.slice(0, 0)
    if stream.stamp is Stamp.EXTERNAL and not stream.is_table:
        return _part_external(stream, rows)
    if arrival is None:
        return Parted(rows, None, nobody, NO_DEAD)
    ts = np.arange(arrival, arrival + rows.num_rows, dtype=np.int64)
    return Parted(rows.append_column("_ts", pa.array(ts).cast(pa.timestamp("us"))), ts, nobody, NO_DEAD)


def late_places(ts: Int64s, delay: int) -> npt.NDArray[np.bool_]:
    """Which rows are below the greatest ts before them, less the delay."""
    late = np.zeros(len(ts), np.bool_)
    if len(ts):
        late[1:] = ts[1:] < np.maximum.accumulate(ts)[:-1] - delay
    return late


def _part_external(stream: StreamSpec, rows: pa.RecordBatch) -> Parted:
    rows, ts, dead = _with_time(stream, rows)
    if stream.position is not None:
        rows, lost = _with_place(stream, rows)
        dead, ts = pa.concat_batches([dead, lost]), _instants(stream, rows)
        order = in_place(rows)
        rows, ts = (rows, ts) if order is None else (rows.take(pa.array(order)), ts[order])
    late = None if _is_orderly(stream, ts) else _late(stream, rows, ts)
    if late is None or not late.any():
        return Parted(rows, ts, rows.slice(0, 0), dead)
    example = _example(stream, rows, ts, int(np.argmax(late)))
    return Parted(rows.filter(pa.array(~late)), ts[~late], rows.filter(pa.array(late)), dead, example)


def _is_orderly(stream: StreamSpec, ts: Int64s) -> bool:
    """Whether no row is late because of another, as can be seen at a glance."""
    return stream.position is None and bool(is_ascending(ts))


def _example(stream: StreamSpec, rows: pa.RecordBatch, ts: Int64s, place: int) -> tuple[int, int, str | None]:
    """Of a late row: its ts, the clock that it came after, its partition."""
    if stream.position is None:
        return int(ts[place]), int(ts[:place].max()) - stream.delay, None
    codes, positions = partition_codes(rows)[:place], np.asarray(rows.column(POSITION))
    before = (codes == partition_codes(rows)[place]) & (positions[:place] < positions[place])
    return int(ts[place]), int(ts[:place][before].max()) - stream.delay, rows.column(PARTITION)[place].as_py()


def _with_time(stream: StreamSpec, rows: pa.RecordBatch) -> tuple[pa.RecordBatch, Int64s, pa.RecordBatch]:
    """The rows that have a timestamp, their timestamps, and dead letters for the others."""
    assert stream.timestamp is not None
    column = rows.column(stream.timestamp).view(pa.int64())
    if not column.null_count:
        ts = np.array(column)
        if not len(ts) or BEGINNING <= span_of(ts)[0] <= span_of(ts)[1] < END:
            return rows, ts, NO_DEAD
    empty = column.is_null().to_numpy(zero_copy_only=False)
    ts = column.fill_null(0).to_numpy()
    usable = ~empty & (ts >= BEGINNING) & (ts < END)
    name, lost = stream.schema.names[stream.timestamp], rows.filter(pa.array(~usable))
    if not empty[~usable].all():
        # Out of the calendar, a timestamp has no text: show its number.
        lost = lost.set_column(stream.timestamp, name, lost.column(stream.timestamp).cast(pa.int64()))
    what = ["NULL" if is_empty else "not in the years 1 to 9999" for is_empty in empty[~usable]]
    dead = _dead_letters(stream, lost, [f'column "{name}": the timestamp is {why}' for why in what])
    return rows.filter(pa.array(usable)), ts[usable], dead


def _with_place(stream: StreamSpec, rows: pa.RecordBatch) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    """The rows that have a partition and a position, and dead letters for the others."""
    nowhere, unplaced = (np.asarray(rows.column(name).is_null()) for name in (PARTITION, POSITION))
    if not (nowhere | unplaced).any():
        return rows, NO_DEAD
    lost = nowhere | unplaced
    reasons = np.where(
        nowhere[lost], f"{_columns(stream.partition)}: the partition is NULL", f'column "{stream.position}": the position is NULL'
    )
    dead = _dead_letters(stream, rows.filter(pa.array(lost)), reasons.tolist())
    return rows.filter(pa.array(~lost)), dead


def _columns(names: tuple[str, ...]) -> str:
    listed = ", ".join(f'"{name}"' for name in names)
    return f"column {listed}" if len(names) == 1 else f"columns {listed}"


def _instants(stream: StreamSpec, rows: pa.RecordBatch) -> Int64s:
    assert stream.timestamp is not None
    return np.array(rows.column(stream.timestamp).view(pa.int64()))


def _late(stream: StreamSpec, rows: pa.RecordBatch, ts: Int64s) -> npt.NDArray[np.bool_]:
    """What is late because of other rows of the split."""
    if stream.is_in_order:
        return late_places(ts, stream.delay)
    late = np.zeros(len(ts), np.bool_)
    if stream.position is not None:
        mark_late(partition_codes(rows), np.asarray(rows.column(POSITION)), ts, stream.delay, late)
    return late


def _dead_letters(stream: StreamSpec, rows: pa.RecordBatch, reasons: list[str]) -> pa.RecordBatch:
    lines = [json.dumps(row, default=str) for row in rows.select(range(len(stream.schema))).to_pylist()]
    nothing = [None] * len(lines)
    columns = zip((reasons, lines, nothing, nothing), DEAD_SCHEMA, strict=True)
    return pa.RecordBatch.from_arrays([pa.array(c, field.type) for c, field in columns], schema=DEAD_SCHEMA)


def _chunks(rows: pa.RecordBatch, most_bytes: int) -> list[tuple[int, int]]:
    """Ranges of rows, each small enough for a packet; an empty split is one empty chunk."""
    parts = min(CHUNKS, max(1, -(-rows.get_total_buffer_size() // most_bytes)))
    if parts > 1:  # a slice of larger arrays counts as all of them so far
        parts = min(CHUNKS, max(1, -(-rows.nbytes // most_bytes)))
    bounds = [rows.num_rows * place // parts for place in range(parts + 1)]
    return list(pairwise(bounds))


def _pack_chunk(
    job: Job, stream: StreamSpec, order: int, rows: pa.RecordBatch, ts: Int64s | None, writing: Writing
) -> Iterator[Packet]:
    first, greatest = (None, None) if ts is None or not len(ts) else span_of(ts)
    facts: dict[str, Any] = {"rows": rows.num_rows, "greatest": greatest, "first": first}
    if stream.position is not None and ts is not None:
        facts |= {"partitions": facts_of(rows, ts), "delay": stream.delay}
    yield from to_everyone(job, Cargo.SPLIT, stream.name, order, writing.facts(facts))
    if rows.num_rows:
        for port in job.ports_of(stream.name):
            for shard, part_ in split_by_shard(rows, port, job.shards):
                yield Packet(port.level, shard, Cargo.ROWS, stream.name, port.number, order, writing.rows(part_))
