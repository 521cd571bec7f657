"""Processes, machines, and whose turn it is.

One process runs at a time. The driver, and the tasks that it waits for, run as the test does; another driver, or an attempt of a
task that is left behind or runs twice, has a stack of its own, which goes on by one operation whenever it is told to. So a seed is
played the same way every time.
"""

from __future__ import annotations

import fcntl
import random
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from greenlet import getcurrent, greenlet

from sash.errors import SashError


class Killed(BaseException):
    """A process that is no more: nothing that it still tries has an effect."""


class StoreFailed(OSError):
    """The store did not do what it was asked for, or did not say so."""


class Wrong(AssertionError):
    """What must never be."""


SLEEPY = 0.01  # how often somebody who runs beside falls asleep
LONGEST_SLEEP = 300  # turns
EXPECTED = (type(None), Killed, StoreFailed, SashError)  # how one may end who runs beside


class Process:
    """A driver, or an attempt of a task."""

    def __init__(self, name: str, machine: int, arenas: str = "", attempt: Attempt | None = None) -> None:
        self.name = name
        self.machine = machine
        self.arenas = arenas  # of the driver that it is, or works for: no other has a folder of this name
        self.is_dead = False
        self.attempt = attempt  # of a process that runs beside others

    def task(self, name: str, machine: int) -> Process:
        """A process that runs a task for this driver, on the driver's stack."""
        return Process(name, machine, self.arenas, self.attempt)

    def check(self) -> None:
        if self.is_dead:
            raise Killed(self.name)


class Attempt:
    """A task, or a second driver, that runs beside others and stands still before each of its operations."""

    def __init__(self, world: World, process: Process, work: Callable[[], Any]) -> None:
        self.process, self._work = process, work
        self.result: Any = None
        self.failure: BaseException | None = None
        self.is_over = False
        self.asleep = 0  # turns for which it does nothing
        self._world = world
        process.attempt = self
        self._own = greenlet(self._run)

    def step(self) -> None:
        """Let it do one operation."""
        if not self.is_over:
            before, self._own.parent = self._world.process, getcurrent()
            self._own.switch()
            self._world.process = before

    def pause(self) -> None:
        process = self._world.process
        self._own.parent.switch()
        self._world.process = process
        self.process.check()

    def kill(self) -> None:
        self.process.is_dead = True
        while not self.is_over:
            self.step()

    def _run(self) -> None:
        self._world.process = self.process
        try:
            self.process.check()
            self.result = self._work()
        except BaseException as failure:
            self.failure = failure
        self.is_over = True


class World:
    """Everything outside of Sash: who runs, on which machine, and what the faults do to it."""

    def __init__(self, seed: int, folder: Path, machines: int) -> None:
        self.chance = random.Random(f"world {seed}")
        self.folder = folder
        self.machines = machines
        self.boots = [0] * machines
        self.driver = self.process = Process("driver", 0)
        self.acting_now: list[Process] = []  # those that somebody waits for
        self.beside: list[Attempt] = []  # attempts that run beside the process at hand
        self.log: list[str] = []
        self.wrong: str | None = None  # what happened beside that must never be

    @contextmanager
    def acting(self, process: Process) -> Iterator[None]:
        """What is done now, that process does."""
        before, self.process = self.process, process
        self.acting_now.append(process)
        try:
            yield
        finally:
            self.acting_now.remove(process)
            self.process = before

    def turn(self) -> None:
        """The process at hand is about to do something: others may come first."""
        process = self.process
        process.check()
        if process.attempt is not None:
            process.attempt.pause()
            return
        for attempt in list(self.beside):
            for _ in range(self._steps(attempt)):
                attempt.step()
        self._tidy()
        process.check()  # the others may have met a loss of power

    def _steps(self, attempt: Attempt) -> int:
        """How much it does while another does one thing; now and then it falls asleep."""
        if attempt.asleep:
            attempt.asleep -= 1
            return 0
        if self.chance.random() < SLEEPY:
            attempt.asleep = self.chance.randrange(LONGEST_SLEEP)
        return self.chance.choice((0, 0, 1, 1, 2, 5))

    def begin_beside(self, process: Process, work: Callable[[], Any]) -> Attempt:
        attempt = Attempt(self, process, work)
        self.beside.append(attempt)
        return attempt

    def _tidy(self) -> None:
        for attempt in [attempt for attempt in self.beside if attempt.is_over]:
            self.beside.remove(attempt)
            if attempt.failure is not None:
                self.log.append(f"{attempt.process.name} ended with {attempt.failure!r}")
            if not isinstance(attempt.failure, EXPECTED):
                told = "".join(traceback.format_exception(attempt.failure))
                self.wrong = self.wrong or f"{attempt.process.name} ended with {attempt.failure!r}\n{told}"

    def finish_others(self) -> None:
        """Those that were left behind come to their ends, one way or another."""
        while self.beside:
            attempt = self.chance.choice(self.beside)
            if self.chance.random() < 0.02:
                attempt.kill()
            attempt.step()
            self._tidy()

    def kill_others(self) -> None:
        for attempt in self.beside:
            attempt.kill()
        self.beside.clear()

    def arenas(self, machine: int) -> Path:
        """Of the driver that the process at hand is, or works for."""
        return self.folder / f"machine-{machine}{self.process.arenas}"

    def all_arenas(self) -> Iterator[Path]:
        yield from sorted(self.folder.glob("machine-*/*.arena"))

    # Locks and the number of the boot are those of a machine.

    LOCK_EX, LOCK_NB, LOCK_SH, LOCK_UN = fcntl.LOCK_EX, fcntl.LOCK_NB, fcntl.LOCK_SH, fcntl.LOCK_UN

    def flock(self, file: Any, how: int) -> None:
        """Who waits for a lock lets the others go on."""
        for _ in range(100_000):
            try:
                return fcntl.flock(file, how | fcntl.LOCK_NB)
            except BlockingIOError:
                if how & fcntl.LOCK_NB:
                    raise
            if self.process.attempt is not None:
                self.process.attempt.pause()
            elif not self.beside:
                raise Wrong("a lock is held by nobody")
            else:
                self.chance.choice(self.beside).step()
                self._tidy()
        raise Wrong("a lock is never given back")

    def boot(self) -> str:
        return f"boot {self.boots[self.process.machine]}"
