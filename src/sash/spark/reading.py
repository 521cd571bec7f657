"""Readers of live answers, on the driver.

    a batch brings what is not yet final    while somebody reads: the file `reading` of the checkpoint says so to the shards
    it did not, or no query runs            the state is asked in this process: in its arenas, if they are on this machine;
                                            else it is made again from the checkpoint

So nobody who reads starts a job of Spark, and a job that nobody reads pays nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from sash.planner.job import Job
from sash.planner.read_plan import Code
from sash.runtime.packets import Cargo, Packet
from sash.spark.looking import READING
from sash.spark.sealed import SealedFolder
from sash.spark.settings import Settings
from sash.spark.shard_task import ARENAS, LOOKED, MakeEngine, ShardTask
from sash.spark.stage import sorted_out

FOR = 30.0  # seconds after which somebody who has read is taken for gone

Ahead = dict[str, list[pa.Table]]  # net changes of views


class Readers:
    """Who reads, and what the last batch told of what is not yet final."""

    def __init__(self, checkpoint: SealedFolder) -> None:
        self._checkpoint = checkpoint
        self._is_told: bool | None = None  # whether the shards know of a reader; None: nobody has said anything yet
        self._last = float("-inf")
        self._ahead: tuple[int, Ahead] | None = None  # and after which batch
        self.arenas: Path | None = None  # where the first shard keeps its state, by what it told last

    def before_batch(self) -> None:
        """Between two batches: let the shards know."""
        is_read = time.monotonic() - self._last < FOR
        if is_read is not self._is_told:
            if is_read:
                self._checkpoint.put(READING, [], durable=False)
            else:
                self._checkpoint.delete(READING)  # a driver that died may have left it
            self._is_told = is_read

    def take(self, batch: int, job: Job, told: Sequence[Packet], facts: Sequence[Mapping[str, int | None]], arenas: Path) -> None:
        """What a batch told, if every shard did. An answer of an earlier driver's tells of arenas of another name."""
        is_whole = sum(fact.get(LOOKED) or 0 for fact in facts) == job.levels * job.shards
        self._ahead = (batch, ahead_of(job, told)) if is_whole else None
        places = (packet.told()[ARENAS] for packet in told if packet.cargo is Cargo.FACTS and packet.name == ARENAS)
        self.arenas = next((place for place in map(Path, places) if place.name == arenas.name), self.arenas)

    def forget(self) -> None:
        self._ahead = None

    def ahead(self, batch: int, name: str, look: Callable[[], Ahead]) -> list[pa.Table]:
        """The net changes of a view that rows already in would make, were time to go on to the last of them."""
        self._last = time.monotonic()
        if self._ahead is None or self._ahead[0] != batch:
            self._ahead = batch, look()
        return self._ahead[1].get(name, [])


def ahead_of(job: Job, told: Iterable[Packet]) -> Ahead:
    """By view; views of the same query are told of once."""
    found: Ahead = {}
    for packet in told:
        if packet.cargo is Cargo.AHEAD:
            for name in job.names_like(packet.name):
                found.setdefault(name, []).append(pa.Table.from_batches([packet.batch()]))
    return found


def look_here(
    job: Job, first: Job, settings: Settings, arenas: Path | None, make_engine: MakeEngine, code: Code, version: int
) -> Ahead:
    """Ask every shard in this process, as it is after a batch."""
    if arenas is not None and arenas.exists():  # they are on this machine
        settings = replace(settings, arenas=arenas)
    packets: list[Packet] = []
    for level in range(1, job.levels + 1):
        for shard in range(job.shards):
            keeper = ShardTask(first, settings, make_engine, level, shard, code)
            _, marked, _ = sorted_out([packet for packet in packets if packet.shard == shard], level)
            packets += keeper.look(version, marked)
    return ahead_of(job, packets)
