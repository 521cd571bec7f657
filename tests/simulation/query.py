"""Spark's part of the host: offsets and commits on record, tasks on machines, tried again when they fail, or run twice."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from sash.errors import SashError
from sash.plan.streams import StreamSpec
from sash.runtime.packets import Cargo, Packet
from sash.spark.shard_task import ShardTask
from simulation.faults import Fault, Faults
from simulation.world import Attempt, Killed, Process, StoreFailed, World, Wrong

sys.path.insert(0, str(Path(__file__).parents[1] / "spark"))
from without_spark import AtOnce as AtOnce  # for who imports from here, so that the folder is on the path
from without_spark import PlayedFrame as PlayedFrame
from without_spark import PlayedHost, Query

ATTEMPTS = 4  # of a task, as on a cluster
MOST_TASKS = 3  # that read a batch of a DataFrame
MOST_LOOKS = 200  # of somebody who waits for a batch

FOR_SHARDS = (Cargo.DELTA, Cargo.CLOCK, Cargo.NET, Cargo.ROWS)


class SimulatedQuery(Query):
    """A query in a world."""

    def __init__(self, host: SimulatedHost, is_bounded: bool) -> None:
        super().__init__(host, is_bounded)
        self.world, self.faults = host.world, host.faults
        self.driver = host.world.process
        self._looks = 0

    def _read(self, partition: Any) -> list[Packet]:
        read = super()._read
        return self._task("reading", lambda machine: read(partition))

    def _at_once(self, stream: str) -> int:
        """Where rows have positions it makes no difference; else a batch is a unit, which Spark has on record."""
        is_unit = self._newest.stream(stream).is_unit
        return 1 if is_unit else self.world.chance.randint(1, 3)

    def _cut(self, stream: StreamSpec, came: list[pa.Table]) -> list[pa.Table]:
        """Every time otherwise; a partition's rows come together where there are partitions."""
        if not came:
            return []
        rows, chance = pa.concat_tables(came), self.world.chance
        order, tasks = chance.sample(range(rows.num_rows), rows.num_rows), chance.randint(1, MOST_TASKS)
        if stream.is_unit:
            groups = [order[task::tasks] for task in range(tasks)]
        else:
            partitions = rows.column(stream.partition[0]).to_pylist()
            groups = [[row for row in order if partitions[row] % tasks == task] for task in range(tasks)]
        return [rows.take(pa.array(group, pa.int64())) for group in groups]

    def _pack(self, stream: StreamSpec, task: int, rows: pa.Table) -> list[Packet]:
        pack = super()._pack
        return self._task("packing", lambda machine: pack(stream, task, rows))

    def processAllAvailable(self) -> None:
        try:
            super().processAllAvailable()
        except StoreFailed as failure:
            self.isActive = False
            raise SashError(f"the query failed: {failure}") from failure

    def exception(self) -> None:
        self._looks += 1
        if self._looks > MOST_LOOKS:
            raise Wrong("somebody waits for a batch that never comes")
        self.processAllAvailable()

    def _answer(self, batch: int, level: int, shard: int, packets: list[Packet], marked: list[Packet]) -> list[Packet]:
        def work(machine: int) -> list[Packet]:
            settings = replace(self._settings, arenas=self.world.arenas(machine))
            return ShardTask(self._job, settings, self._host._make_engine, level, shard, self._code).answer(batch, packets, marked)

        return self._task(f"task {batch}/{level}/{shard}", work)

    def _task(self, name: str, work: Callable[[int], list[Packet]]) -> list[Packet]:
        """Run a task to its end, whatever happens to attempts of it."""
        fault = self._fault_of_task()
        first: Attempt | None = None
        if fault is not None:
            first = self._beside(f"{name} (first)", work)
            if fault is not Fault.TWIN:
                for _ in range(self.world.chance.randrange(12)):
                    first.step()
                self.driver.check()  # nobody goes on where the power is gone
            if fault is Fault.ORPHAN:
                self.driver.is_dead = True
                raise Killed(self.driver.name)
        result = self._tried(name, work)
        if first is not None and first.is_over and first.failure is None and _told(first.result) != _told(result):
            raise Wrong(f"{name}: two attempts gave different answers")
        return result

    def _fault_of_task(self) -> Fault | None:
        waiting, self.faults.waiting = self.faults.waiting, []
        found = None
        for fault in waiting:
            if fault in (Fault.ARENAS_LOST, Fault.ARENAS_OLDER):
                if not self.world.beside:
                    self.faults.touch_arenas(fault)
            else:
                self.faults.note(fault)
                found = fault
        return found

    def _tried(self, name: str, work: Callable[[int], list[Packet]]) -> list[Packet]:
        for attempt in range(ATTEMPTS):
            machine = self.world.chance.randrange(self.world.machines)
            try:
                with self.world.acting(self.driver.task(f"{name} try {attempt}", machine)):
                    return work(machine)
            except Killed:
                self.driver.check()
            except (StoreFailed, SashError) as failure:
                last: Exception = failure
        raise last

    def _beside(self, name: str, work: Callable[[int], list[Packet]]) -> Attempt:
        machine = self.world.chance.randrange(self.world.machines)
        return self.world.begin_beside(Process(name, machine, self.driver.arenas), lambda: work(machine))


def _told(packets: list[Packet]) -> list[Packet]:
    """What others build on; how long something took may differ."""
    return [packet for packet in packets if packet.cargo in FOR_SHARDS]


class SimulatedHost(PlayedHost):
    """The host with such a query; snapshots come often."""

    world: World
    faults: Faults
    snapshot_every: int

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        arenas = self.world.arenas(self.world.process.machine)
        self._settings = replace(self._settings, arenas=arenas, snapshot_every=self.snapshot_every)

    def _played(self, is_bounded: bool) -> SimulatedQuery:
        return SimulatedQuery(self, is_bounded)

    def drain(self) -> None:
        self._take_all()
