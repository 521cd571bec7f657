"""Packets: what travels between sources, shards and sinks.

A packet is addressed to a shard of a level; level 0 is the outside world. A shard hands packets for higher levels on, unopened.
Bodies are Arrow IPC streams for rows, JSON for facts, so a packet is a row of five plain columns for Spark, whatever is in it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Protocol, TypeAlias

import pyarrow as pa

from sash.schema import Schema

OUTSIDE = 0


class Cargo(IntEnum):
    """What is in a packet. The numbers are on disk: never reorder."""

    ROWS = 0  # to a port of a stream: its rows, in source order; name = stream
    SPLIT = 1  # to every shard: {"rows", "greatest", "first"} of a split, "partitions" if it has some; name = stream
    CONTROL = 2  # to every shard: {"advance": T}; {"tell": T}, where no stream does; {"until": T}; {"end": 1}; {"look": 1};
    # {"known": [partition, …], "delay"} of a stream
    LATE = 3  # to shard 0, or outside: whole rows that came too late; name = stream
    DEAD = 4  # to shard 0, or outside: rows that could not be read: columns reason, line; name = stream
    DELTA = 5  # to a port behind an exchange: changes
    CLOCK = 6  # to a port behind an exchange, from every shard below: {"clock": C}
    CHANGES = 7  # outside: changes of a view: _op, _ts, columns; name = view
    NET = 8  # outside: net change of a view in this step: columns, then _weight; name = view
    FACTS = 9  # outside: metrics of a step, {"rows": …, "clock": …, …}
    AHEAD = 10  # outside: as NET, what would change if time went on to the last row that is in


# Bytes travel. What stays in this process is never written: rows for the outside, and all that the embedded host gives its shard.
Body: TypeAlias = bytes | pa.RecordBatch | dict[str, Any]


@dataclass(frozen=True, slots=True)
class Packet:
    """A body and its address."""

    level: int
    shard: int
    cargo: Cargo
    name: str  # the stream or view; for DELTA and CLOCK empty
    port: int  # -1 where no port is meant
    order: int  # the place among packets of its kind: splits in source order, shards below an exchange by number
    body: Body

    def batch(self) -> pa.RecordBatch:
        if isinstance(self.body, pa.RecordBatch):
            return self.body
        with pa.ipc.open_stream(self.body) as reader:
            return reader.read_next_batch()

    def told(self) -> dict[str, Any]:
        """What is in JSON, and more than numbers."""
        return self.body if isinstance(self.body, dict) else dict(json.loads(self.body))

    def facts(self) -> dict[str, int | None]:
        return self.told()


class Writing(Protocol):
    """What becomes of the contents of packets."""

    most_bytes: int  # of the rows in one

    def rows(self, batch: pa.RecordBatch) -> Body: ...

    def facts(self, told: dict[str, Any]) -> Body: ...


class AsBytes:
    """They travel."""

    most_bytes = 16 << 20

    def rows(self, batch: pa.RecordBatch) -> bytes:
        return batch_body(batch)

    def facts(self, told: dict[str, Any]) -> bytes:
        return told_body(told)


class AsTheyAre:
    """A shard in this process reads them at once."""

    most_bytes = 1 << 62

    def rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        return batch

    def facts(self, told: dict[str, Any]) -> dict[str, Any]:
        return told


def told_body(told: dict[str, Any]) -> bytes:
    return json.dumps(told).encode()


def batch_body(batch: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


def facts_body(facts: dict[str, int | None]) -> bytes:
    return json.dumps(facts).encode()


def changes_schema(schema: Schema) -> pa.Schema:
    """Of the changelog of a view with these columns."""
    return pa.schema([("_op", pa.int8()), ("_ts", pa.timestamp("us")), *schema.arrow])


# The schema of a packet as a row; `spark/` moves nothing else.
PACKET_SCHEMA = pa.schema(
    [
        ("shard", pa.int32()), ("level", pa.int32()), ("cargo", pa.int32()), ("name", pa.string()), ("port", pa.int32()),
        ("place", pa.int64()), ("body", pa.binary()),
    ]
)
