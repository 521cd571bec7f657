"""Packets as rows: the only schema that Spark moves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from sash.runtime.packets import PACKET_SCHEMA, Cargo, Packet

BATCH_BODY_BYTES = 64 << 20  # bodies in one record batch; a binary column ends at 2 GB


def to_batches(packets: Iterable[Packet]) -> Iterator[pa.RecordBatch]:
    """Record batches of packets, each of a bounded size."""
    waiting: list[Packet] = []
    size = 0
    for packet in packets:
        if waiting and size + len(packet.body) > BATCH_BODY_BYTES:
            yield to_batch(waiting)
            waiting, size = [], 0
        waiting.append(packet)
        size += len(packet.body)
    if waiting:
        yield to_batch(waiting)


def to_batch(packets: Sequence[Packet]) -> pa.RecordBatch:
    columns = (
        [packet.shard for packet in packets], [packet.level for packet in packets],
        [int(packet.cargo) for packet in packets], [packet.name for packet in packets],
        [packet.port for packet in packets], [packet.order for packet in packets],
        [packet.body for packet in packets],
    )
    arrays = [pa.array(column, field.type) for column, field in zip(columns, PACKET_SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=PACKET_SCHEMA)


def from_batch(batch: pa.RecordBatch) -> list[Packet]:
    shard, level, cargo, name, port, place, body = (column.to_pylist() for column in batch.columns)
    rows = zip(level, shard, cargo, name, port, place, body, strict=True)
    return [Packet(le, sh, Cargo(ca), na, po, pl, bytes(bo)) for le, sh, ca, na, po, pl, bo in rows]


def to_bytes(packets: Sequence[Packet]) -> list[pa.Buffer]:
    """One Arrow IPC file of packets."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, PACKET_SCHEMA) as writer:
        for batch in to_batches(packets):
            writer.write_batch(batch)
    return [sink.getvalue()]


def from_bytes(data: pa.Buffer) -> list[Packet]:
    with pa.ipc.open_stream(data) as reader:
        return [packet for batch in reader for packet in from_batch(batch)]
