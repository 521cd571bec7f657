"""Spark's part of the host: offsets and commits on record, tasks on machines, tried again when they fail, or run twice."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from sash.errors import SashError
from sash.runtime.packets import Cargo, Packet
from sash.spark.shard_task import Keeper
from simulation.faults import Fault, Faults
from simulation.world import Attempt, Killed, StoreFailed, World, Wrong

sys.path.insert(0, str(Path(__file__).parents[1] / "spark"))
from without_spark import AtOnce as AtOnce  # for who imports from here, so that the folder is on the path
from without_spark import PlayedHost, Query

ATTEMPTS = 4  # of a task, as on a cluster
MOST_LOOKS = 200  # of somebody who waits for a batch

Result = TypeVar("Result")
FOR_SHARDS = (Cargo.DELTA, Cargo.CLOCK, Cargo.NET, Cargo.ROWS)


class SimulatedQuery(Query):
    """A query in a world."""

    world: World
    faults: Faults

    def _read(self, partition: Any) -> list[Packet]:
        read = super()._read
        return self._task("reading", lambda machine: read(partition))

    def processAllAvailable(self) -> None:
        try:
            super().processAllAvailable()
        except StoreFailed as failure:
            self.isActive = False
            raise SashError(f"the query failed: {failure}") from failure

    def exception(self) -> None:
        self._looks = getattr(self, "_looks", 0) + 1
        if self._looks > MOST_LOOKS:
            raise Wrong("somebody waits for a batch that never comes")
        self.processAllAvailable()

    def _answer(self, batch: int, level: int, shard: int, packets: list[Packet]) -> list[Packet]:
        def work(machine: int) -> list[Packet]:
            settings = replace(self._settings, arenas=self.world.arenas(machine))
            return Keeper(self._job, settings, self._host._make_engine, level, shard, self._code).answer(batch, packets)

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
            if fault is Fault.ORPHAN:
                self.world.driver.is_dead = True
                raise Killed("driver")
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
            process = type(self.world.driver)(f"{name} try {attempt}", machine)
            try:
                with self.world.acting(process):
                    return work(machine)
            except Killed:
                self.world.driver.check()
            except (StoreFailed, SashError) as failure:
                last: Exception = failure
        raise last

    def _beside(self, name: str, work: Callable[[int], list[Packet]]) -> Attempt:
        machine = self.world.chance.randrange(self.world.machines)
        return self.world.begin_beside(name, machine, lambda: work(machine))


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
        arenas = self.world.arenas(self.world.driver.machine)
        self._settings = replace(self._settings, arenas=arenas, snapshot_every=self.snapshot_every)

    def _begin(self, trigger: Mapping[str, object]) -> None:
        super()._begin(trigger)
        query = SimulatedQuery(self, "availableNow" in trigger)
        query.world, query.faults = self.world, self.faults
        self._query = query  # type: ignore[assignment]

    def drain(self) -> None:
        assert self._query is not None
        self._query.processAllAvailable()
