"""Processes, machines, and whose turn it is.

One process runs at a time. The driver, and the tasks that it waits for, run in the thread of the test; an attempt of a task that
is left behind, or runs twice, has a thread of its own, which goes on by one operation whenever it is told to. So a seed is played
the same way every time.
"""

from __future__ import annotations

import fcntl
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class Killed(BaseException):
    """A process that is no more: nothing that it still tries has an effect."""


class StoreFailed(OSError):
    """The store did not do what it was asked for, or did not say so."""


class Wrong(AssertionError):
    """What must never be."""


class Process:
    """The driver, or an attempt of a task."""

    def __init__(self, name: str, machine: int) -> None:
        self.name = name
        self.machine = machine
        self.is_dead = False
        self.attempt: Attempt | None = None  # of a task that runs beside others

    def check(self) -> None:
        if self.is_dead:
            raise Killed(self.name)


class Attempt:
    """A task in a thread of its own, which stands still before each of its operations."""

    def __init__(self, world: World, process: Process, work: Callable[[], Any]) -> None:
        self.process, self._work = process, work
        self.result: Any = None
        self.failure: BaseException | None = None
        self.is_over = False
        self._go, self._came = threading.Semaphore(0), threading.Semaphore(0)
        self._world = world
        process.attempt = self
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def step(self) -> None:
        """Let it do one operation."""
        if not self.is_over:
            self._go.release()
            self._came.acquire()

    def pause(self) -> None:
        self._came.release()
        self._go.acquire()
        self.process.check()

    def kill(self) -> None:
        self.process.is_dead = True
        while not self.is_over:
            self.step()

    def _run(self) -> None:
        self._go.acquire()
        self._world.local.process = self.process
        try:
            self.process.check()
            self.result = self._work()
        except BaseException as failure:
            self.failure = failure
        self.is_over = True
        self._came.release()


class World:
    """Everything outside of Sash: who runs, on which machine, and what the faults do to it."""

    def __init__(self, seed: int, folder: Path, machines: int) -> None:
        self.chance = random.Random(f"world {seed}")
        self.folder = folder
        self.machines = machines
        self.boots = [0] * machines
        self.local = threading.local()
        self.driver = Process("driver", 0)
        self.beside: list[Attempt] = []  # attempts that run beside the process at hand
        self.log: list[str] = []

    @property
    def process(self) -> Process:
        return getattr(self.local, "process", None) or self.driver

    @contextmanager
    def acting(self, process: Process) -> Iterator[None]:
        """This thread is now that process."""
        before = self.process
        self.local.process = process
        try:
            yield
        finally:
            self.local.process = before

    def turn(self) -> None:
        """The process at hand is about to do something: others may come first."""
        process = self.process
        process.check()
        if process.attempt is not None:
            process.attempt.pause()
            return
        for attempt in list(self.beside):
            for _ in range(self.chance.choice((0, 0, 1, 1, 2, 5))):
                attempt.step()
        self._tidy()

    def begin_beside(self, name: str, machine: int, work: Callable[[], Any]) -> Attempt:
        attempt = Attempt(self, Process(name, machine), work)
        self.beside.append(attempt)
        return attempt

    def _tidy(self) -> None:
        for attempt in [attempt for attempt in self.beside if attempt.is_over]:
            self.beside.remove(attempt)
            if attempt.failure is not None:
                self.log.append(f"{attempt.process.name} ended with {attempt.failure!r}")

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
        return self.folder / f"machine-{machine}"

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
