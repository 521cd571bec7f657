"""What goes wrong, and where: a few faults at operations drawn by seed.

Crashes must leave no trace: whatever dies, stalls or runs twice, the run goes on and ends as if nothing had happened.
Damage, where the store itself breaks its word, may also end in a clear refusal.
"""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from simulation.store import Store, is_ours
from simulation.world import Killed, StoreFailed, World


class Fault(Enum):
    """What goes wrong, for the process whose operation it is if nothing else is said."""

    DIES_BEFORE = "dies before an operation"
    DIES_AFTER = "dies after an operation"
    FAILS_BEFORE = "operation fails"
    FAILS_AFTER = "operation is done, but fails"
    TWIN = "next task runs twice at once"
    ZOMBIE = "next task is left behind, and another takes its place"
    ORPHAN = "driver dies, and leaves a task behind"
    POWER = "all machines lose power"
    ARENAS_LOST = "a machine loses its arenas"
    ARENAS_OLDER = "a machine gets older arenas back"
    RIVAL = "another driver begins to run the job"
    OVERTAKEN = "falls asleep, while another driver begins to run the job"
    TORN = "write is cut off, and fails"
    SILENTLY_TORN = "write is cut off, and nobody is told"
    DROPPED = "write is lost, and nobody is told"
    LATE = "write fails, and is done later"
    SLOW = "write is done later, after others, and nobody is told"
    TWICE = "write is done, and once more later"
    ROTTEN = "file has other bytes from now on"
    GARBLED = "read gives other bytes, once"
    UNSEEN = "read does not find a file, once"
    STALE = "read sees what was there before the last writes, once"


CRASHES = tuple(Fault)[:12]
DAMAGE = tuple(Fault)[12:]
OF_TASKS = (Fault.TWIN, Fault.ZOMBIE, Fault.ORPHAN, Fault.ARENAS_LOST, Fault.ARENAS_OLDER)
OF_BUCKETS = (Fault.LATE, Fault.SLOW, Fault.TWICE, Fault.UNSEEN, Fault.STALE)  # a disk does not do that
OF_READS = (Fault.GARBLED, Fault.UNSEEN, Fault.STALE)
WRITES, READS = ("put", "create", "write"), ("read", "list", "look")
MOST = 4  # faults in a run
LONGEST_DELAY = 60  # operations
LONGEST_SLEEP = 400  # operations of another driver


@dataclass(frozen=True)
class Delayed:
    """A write that is still on its way."""

    at: int
    path: str
    data: bytes


class Faults:
    """The faults of one run."""

    store: Store
    rival: Callable[[int], None]  # lets another driver begin, and do so many operations at once

    def __init__(self, seed: int, world: World, operations: int, kinds: tuple[Fault, ...]) -> None:
        chance = self._chance = random.Random(f"faults {seed}")
        count = chance.randint(1, MOST) if kinds else 0
        places = sorted(chance.randrange(max(1, operations)) for _ in range(count))
        self._planned = [(place, chance.choice(kinds)) for place in places]
        self._world = world
        self.number = 0  # of the operation
        self.happened: Counter[Fault] = Counter()
        self._after: BaseException | None = None  # what the operation at hand ends with
        self._delayed: list[Delayed] = []
        self.waiting: list[Fault] = []  # for the next task

    def stop(self) -> None:
        """No more faults."""
        self._planned.clear()
        self.waiting.clear()
        self._after = None

    @property
    def is_damaged(self) -> bool:
        return any(kind in DAMAGE for kind in self.happened)

    def operation(self, kind: str, path: str, data: bytes) -> bytes | None:
        """What is to be stored."""
        self._world.turn()
        self.number += 1
        self._deliver()
        for planned in [planned for planned in self._planned if planned[0] < self.number]:
            if planned[1] in OF_TASKS:
                self.waiting.append(planned[1])
                self._planned.remove(planned)
            elif _is_possible(planned[1], kind, path):
                self._planned.remove(planned)
                return self._happen(planned[1], kind, path, data)
        return data

    def done(self, kind: str, path: str) -> None:
        after, self._after = self._after, None
        if after is not None:
            if isinstance(after, Killed):
                self._world.process.is_dead = True
            raise after

    def note(self, fault: Fault, about: str = "") -> None:
        self.happened[fault] += 1
        self._world.log.append(f"{self.number:5d} {self._world.process.name}: {fault.value} {about}")

    def _happen(self, fault: Fault, kind: str, path: str, data: bytes) -> bytes | None:
        self.note(fault, f"({kind} {path})")
        if fault in DAMAGE:
            return self._damage(fault, kind, path, data)
        match fault:
            case Fault.DIES_BEFORE:
                self._world.process.is_dead = True
                raise Killed(self._world.process.name)
            case Fault.POWER:
                self._power_cut()
            case Fault.FAILS_BEFORE:
                raise StoreFailed(f"{kind} {path}")
            case Fault.DIES_AFTER:
                self._after = Killed(self._world.process.name)
            case Fault.FAILS_AFTER:
                self._after = StoreFailed(f"{kind} {path}")
            case Fault.RIVAL:
                self.rival(0)
            case Fault.OVERTAKEN:
                self.rival(self._chance.randrange(LONGEST_SLEEP))
                self._world.process.check()  # the other may have met a loss of power
        return data

    def _damage(self, fault: Fault, kind: str, path: str, data: bytes) -> bytes | None:
        match fault:
            case Fault.TORN:
                self._after = StoreFailed(f"{kind} {path}")
                return data[: self._chance.randrange(len(data) + 1)]
            case Fault.SILENTLY_TORN:
                return data[: self._chance.randrange(len(data) + 1)]
            case Fault.DROPPED:
                return None
            case Fault.LATE:
                self._delay(path, data)
                raise StoreFailed(f"{kind} {path}")
            case Fault.SLOW:
                self._delay(path, data)
                return None
            case Fault.TWICE:
                self._delay(path, data)
            case Fault.ROTTEN:
                self.store.rot(path, self._flipped)
            case Fault.GARBLED:
                self.store.garble(path, self._flipped)
            case Fault.UNSEEN:
                self.store.hide(path, self._chance)
            case Fault.STALE:
                self.store.go_back(self._chance)
        return data

    def _delay(self, path: str, data: bytes) -> None:
        self._delayed.append(Delayed(self.number + self._chance.randint(1, LONGEST_DELAY), path, data))

    def _deliver(self) -> None:
        for late in [late for late in self._delayed if late.at <= self.number]:
            self._delayed.remove(late)
            self.store.place(late.path, late.data)

    def _flipped(self, data: bytes) -> bytes:
        """With one other bit."""
        if not data:
            return data
        place = self._chance.randrange(len(data))
        return data[:place] + bytes([data[place] ^ (1 << self._chance.randrange(8))]) + data[place + 1 :]

    def _power_cut(self) -> None:
        """Everybody dies; pages of arenas, and what was not brought to the disk, may not have reached it."""
        world = self._world
        for process in (world.process, world.driver, *world.acting_now, *(attempt.process for attempt in world.beside)):
            process.is_dead = True
        for machine in range(world.machines):
            world.boots[machine] += 1
        for path in world.all_arenas():
            path.write_bytes(self._chance.randbytes(self._chance.randrange(4096)))
        self.store.lose_power(self._chance)
        raise Killed("everybody")

    def touch_arenas(self, fault: Fault) -> None:
        """Between two tasks: a machine loses its arenas, or finds those that it kept before."""
        self.note(fault)
        folder = self._world.arenas(self._chance.randrange(self._world.machines))
        kept = folder.with_suffix(".kept")
        if fault is Fault.ARENAS_LOST:
            shutil.rmtree(folder, ignore_errors=True)
        elif kept.exists():
            shutil.rmtree(folder, ignore_errors=True)
            kept.rename(folder)
        elif folder.exists():
            shutil.copytree(folder, kept)
            self.waiting.append(fault)  # to be given back later
            self.happened[fault] -= 1


def _is_possible(fault: Fault, kind: str, path: str) -> bool:
    """Only writes can be torn, and only reads see what is not there."""
    if fault not in DAMAGE:
        return True
    if not is_ours(path):
        return False
    if fault in (Fault.ROTTEN, Fault.GARBLED):
        return kind == "read"
    return kind in (READS if fault in OF_READS else WRITES)
