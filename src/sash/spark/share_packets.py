"""The packets of a share: what a task reads of a batch, packed for the shards."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from sash.planner.job import Job
from sash.runtime.observing import StreamObserver
from sash.runtime.packets import OUTSIDE, Cargo, Packet, facts_body, told_body
from sash.runtime.packing import CHANGE, NO_DEAD, pack_split, to_everyone
from sash.sources.read import read
from sash.spark.offsets import TABLES, Share
from sash.spark.sealed import SealedFolder

NOT_FACTS = ("stream", "tables", "followed")  # of an event, what is told in other ways
SAMPLE = "sample"  # the name of what tasks tell of the rows that they read


def packets_of(job: Job, share: Share, checkpoint: SealedFolder) -> Iterator[Packet]:
    """Read and pack."""
    observers: dict[str, StreamObserver] = {}
    for order, event in enumerate(share.events):
        facts = {key: value for key, value in event.items() if key not in NOT_FACTS}
        yield from to_everyone(job, Cargo.CONTROL, event.get("stream", ""), order, facts_body(facts))
        for table, file in event.get("tables", {}).items():
            yield from _table_change(job, table, order, checkpoint.child(TABLES).demand(file))
    for placed in share.splits:
        stream = job.stream(placed.split.stream)
        result = read(stream, placed.split)
        observers.setdefault(stream.name, StreamObserver(stream)).observe(result.batch)
        yield from pack_split(job, stream, placed.order, result.batch, result.dead, placed.arrival)
    yield from map(sample, observers.values())


def sample(seen: StreamObserver) -> Packet:
    """What the rows of a stream look like, for the driver."""
    return Packet(OUTSIDE, 0, Cargo.FACTS, SAMPLE, -1, 0, told_body({"stream": seen.spec.name, **seen.packed()}))


def _table_change(job: Job, table: str, order: int, data: pa.Buffer) -> Iterator[Packet]:
    """A change of a table, or all its rows; of one that nobody reads, nothing."""
    stream = next((stream for stream in job.streams if stream.name == table), None)
    if stream is not None:
        with pa.ipc.open_stream(data) as reader:
            yield from pack_split(job, stream, CHANGE + order, reader.read_next_batch(), NO_DEAD, None)
