"""A small engine in place of a shard, for tests of what is around it: it counts the rows of every key.

The job reads stream "events" (ts, key, value) and has one view, "counts" (key, n). With two levels, the first counts
and the second takes the counts over.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pyarrow as pa

from sash.errors import SashError
from sash.operators.spec import PortSpec
from sash.plan.patterns import Pattern
from sash.plan.streams import Stamp, StreamSpec
from sash.planner.job import Job, Port, View
from sash.runtime.packets import Cargo, Packet, batch_body
from sash.schema import BIGINT, TIMESTAMP, schema
from sash.stores.arena import Arena

EVENTS = schema(("ts", TIMESTAMP), ("key", BIGINT), ("value", BIGINT))
COUNTS = schema(("key", BIGINT), ("n", BIGINT))
KEYS = 100
FAULTS = "SASH_TEST_FAULTS"  # a folder: a file "fail" there makes one step fail, "die" kills one worker, "refuse" stops all


def stream(path: str | None, **facts: object) -> StreamSpec:
    options = () if path is None else (("format", "csv"), ("header", "true"), ("path", path))
    return StreamSpec("events", EVENTS, Stamp.EXTERNAL, 0, options=options, **facts)  # type: ignore[arg-type]


def job(spec: StreamSpec, shards: int = 2, levels: int = 1) -> Job:
    counted = PortSpec(levels, COUNTS, Pattern.STRICT, (0,))
    ports = [Port(0, PortSpec(1, EVENTS, Pattern.MONOTONIC, (1,), "events"))]
    if levels == 2:
        ports.append(Port(1, counted))
    return Job((spec,), (View("counts", counted, levels),), tuple(ports), levels, shards)


class Counting:
    """Counts per key, in the arena."""

    def __init__(self, job: Job, level: int, shard: int, arena: Arena) -> None:
        self.job, self.level, self.shard = job, level, shard
        self.counts = arena.scope("counting").array("counts", KEYS)

    def step(self, packets: list[Packet]) -> list[Packet]:
        before = self.counts.copy()
        for packet in packets:
            if packet.cargo in (Cargo.ROWS, Cargo.DELTA):
                batch = packet.batch()
                weights = 1 if packet.cargo is Cargo.ROWS else batch.column("n").to_numpy()
                np.add.at(self.counts, batch.column("key").to_numpy(), weights)
                fail_if_asked()
        outside = [packet for packet in packets if packet.cargo in (Cargo.LATE, Cargo.DEAD)]
        made = [Packet(0, self.shard, packet.cargo, packet.name, -1, packet.order, packet.body) for packet in outside]
        changed = np.flatnonzero(before != self.counts)
        if not len(changed):
            return made
        if self.level < self.job.levels:
            sums = pa.record_batch({"key": changed, "n": self.counts[changed] - before[changed]})
            below = int(changed[0]) % self.job.shards
            return [*made, Packet(2, below, Cargo.DELTA, "", 1, self.shard, batch_body(sums))]
        return [*made, *self.changes(before, changed)]

    def changes(self, before: np.ndarray, changed: np.ndarray) -> list[Packet]:
        old = changed[before[changed] > 0]
        keys = np.concatenate([old, changed])
        n = np.concatenate([before[old], self.counts[changed]])
        sign = np.concatenate([np.full(len(old), -1), np.ones(len(changed), np.int64)])
        ts = pa.array(np.zeros(len(keys), np.int64)).cast(pa.timestamp("us"))
        log = pa.record_batch({"_op": pa.array(sign.astype(np.int8)), "_ts": ts, "key": keys, "n": n})
        net = pa.record_batch({"key": keys, "n": n, "_weight": sign})
        return [
            Packet(0, self.shard, Cargo.CHANGES, "counts", -1, self.shard, batch_body(log)),
            Packet(0, self.shard, Cargo.NET, "counts", -1, self.shard, batch_body(net)),
        ]


def fail_if_asked() -> None:
    """Fail, or be killed, once, in the middle of a write."""
    faults = Path(os.environ.get(FAULTS, "/nonexistent"))
    if (faults / "refuse").exists():
        raise SashError("the test wants none of it", "ask another one")
    if _taken(faults / "die"):
        os.kill(os.getpid(), signal.SIGKILL)
    if _taken(faults / "fail"):
        raise RuntimeError("a fault of the test")


def _taken(fault: Path) -> bool:
    try:
        fault.unlink()
    except FileNotFoundError:
        return False
    return True


def write_events(path: Path, rows: int, *, seed: int = 0, start: int = 0) -> np.ndarray:
    """A csv file of events; how many of every key."""
    keys = np.random.default_rng(seed).integers(0, KEYS, rows)
    seconds = start + np.arange(rows)
    text = "\n".join(f"{second},{key},{second % 7}" for second, key in zip(seconds, keys, strict=True))
    path.write_text(f"ts,key,value\n{text}\n")
    return np.bincount(keys, minlength=KEYS)
