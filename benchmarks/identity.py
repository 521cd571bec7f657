"""The limit of the Spark pipeline: the same source, packing, exchanges, outputs and sink, with no engine in between.

A recording run notes how many rows every shard gave in every step, to whom; an identity engine then gives as many rows of the
same schemas, made of nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from sash.planner.job import Job
from sash.runtime.packets import Cargo, Packet, batch_body, told_body
from sash.runtime.shard import Shard
from sash.stores.arena import Arena

OF_ROWS = (Cargo.CHANGES, Cargo.NET, Cargo.DELTA, Cargo.LATE)


class Recording:
    """Makes shards that note what they give."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, job: Job, level: int, shard: int, arena: Arena) -> RecordingShard:
        return RecordingShard(job, level, shard, arena, self._folder / f"{level}-{shard}")


class RecordingShard:
    def __init__(self, job: Job, level: int, shard: int, arena: Arena, notes: Path) -> None:
        self._shard = Shard(job, level, shard, arena)
        self._steps = arena.array("recorded steps", (1,))
        self._notes = notes

    def step(self, packets: Sequence[Packet]) -> list[Packet]:
        made = self._shard.step(packets)
        note = [_note(packet) for packet in made]
        Path(f"{self._notes}-{self._steps[0]}.json").write_text(json.dumps(note))
        self._steps[0] += 1
        return made


class Identity:
    """Makes engines that give what was noted, and do nothing else."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, job: Job, level: int, shard: int, arena: Arena) -> IdentityShard:
        return IdentityShard(self._folder / f"{level}-{shard}", arena)


class IdentityShard:
    def __init__(self, notes: Path, arena: Arena) -> None:
        self._steps = arena.array("recorded steps", (1,))
        self._notes = notes

    def step(self, packets: Sequence[Packet]) -> list[Packet]:
        for packet in packets:
            if packet.cargo in (Cargo.ROWS, Cargo.DELTA):
                packet.batch()
        noted = json.loads(Path(f"{self._notes}-{self._steps[0]}.json").read_text())
        self._steps[0] += 1
        return [_made(*note) for note in noted]


def _note(packet: Packet) -> list[object]:
    address = [packet.level, packet.shard, int(packet.cargo), packet.name, packet.port, packet.order]
    if packet.cargo not in OF_ROWS:
        return [*address, told_body(packet.told()).decode(), None]
    batch = packet.batch()
    return [*address, batch.num_rows, [[field.name, str(field.type)] for field in batch.schema]]


def _made(
    level: int, shard: int, cargo: int, name: str, port: int, order: int, content: str | int, columns: list[list[str]] | None
) -> Packet:
    body: bytes | pa.RecordBatch
    if columns is None:
        body = str(content).encode()
    else:
        arrays = [_array(type_, int(content), column) for column, type_ in columns]
        batch = pa.RecordBatch.from_arrays(arrays, names=[column for column, _ in columns])
        body = batch if cargo == Cargo.CHANGES else batch_body(batch)
    return Packet(level, shard, Cargo(cargo), name, port, order, body)


def _array(type_: str, count: int, column: str) -> pa.Array:
    if type_ == "string":
        return pa.DictionaryArray.from_arrays(pa.array(np.arange(count) % 997), [f"value {i}" for i in range(997)]).cast("string")
    numbers = np.arange(count) if column != "_op" else np.ones(count, np.int8)
    if type_.startswith("timestamp"):
        return pa.array(numbers).cast(pa.timestamp("us"))
    return pa.array(numbers).cast(getattr(pa, {"double": "float64", "bool": "bool_"}.get(type_, type_))(), safe=False)
