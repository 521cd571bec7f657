"""Rows that arrive at a graph, on a simulated clock or in real time, and how long their effects take.

The same graph runs on both clocks. On the simulated one an operator takes a fixed time for every row, and for every message that
only tells the time; nothing else does, so what is measured is the schedule and nothing of this machine.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

import numpy as np

from sash.deltas import Delta, Int64s
from sash.operators.spec import PortSpec, Spec
from sash.runtime.cycle import Watch
from sash.runtime.graph import Feed, Graph
from sash.runtime.node import Node
from sash.runtime.schedule import AUTO, Schedule
from sash.runtime.time_propagation import Timing
from sash.scalar.failures import Failures
from sash.schema import FOREVER, SECOND
from sash.stores.arena import Arena
from sash.stores.interner import Interner


class Time(Enum):
    """What a source knows of the time when it has no row."""

    OWN_ROWS = "rows alone"
    ON_DEMAND = "on demand"  # arrivals are stamped: nothing before the present will come
    LATENT = "latent"  # nobody waits for it


class BenchClock(Protocol):
    """Microseconds since the beginning."""

    def now(self) -> float: ...

    def wait_until(self, instant: float) -> None: ...

    def work(self, units: int) -> None: ...


class SimulatedClock:
    """Moves by the work that is done, and to the next arrival."""

    def __init__(self, cost: float) -> None:
        self._cost, self._now = cost, 0.0

    def now(self) -> float:
        return self._now

    def wait_until(self, instant: float) -> None:
        self._now = max(self._now, instant)

    def work(self, units: int) -> None:
        self._now += units * self._cost


class WallClock:
    """The real time; work takes what it takes."""

    def __init__(self) -> None:
        self._start = time.perf_counter()

    def now(self) -> float:
        return (time.perf_counter() - self._start) * SECOND

    def wait_until(self, instant: float) -> None:
        while (left := instant - self.now()) > 0:
            time.sleep(max(0.0, left - 500) / SECOND)

    def work(self, units: int) -> None:
        pass


@dataclass
class Effects:
    """What came out: when, and how long after it arrived."""

    times: list[Int64s] = field(default_factory=list)
    delays: list[Int64s] = field(default_factory=list)
    messages: int = 0

    @property
    def count(self) -> int:
        return sum(map(len, self.delays))

    @property
    def mean_delay(self) -> float:
        """Milliseconds."""
        return float(np.concatenate(self.delays).mean()) / 1000 if self.count else float("nan")

    @property
    def median_delay(self) -> float:
        return float(np.median(np.concatenate(self.delays))) / 1000 if self.count else float("nan")

    def burstiness(self, span: float) -> float:
        """Of the counts of rows in spans of so many seconds: most less fewest, over the mean."""
        times = np.concatenate([np.zeros(1, np.int64), *self.times])
        counts = np.bincount((times // int(span * SECOND)).astype(np.int64))[1:-1]
        return float((counts.max() - counts.min()) / counts.mean()) if counts.any() else float("nan")


@dataclass(frozen=True)
class Setting:
    """A graph to be run, and how."""

    sink: Spec
    ports: tuple[PortSpec, ...]  # the streams in the order of the arrivals
    schedule: Schedule = AUTO
    timing: Timing = Timing.DIRECT
    sources: tuple[Time, ...] = ()  # by stream; the last one is that of all others

    def source(self, stream: int) -> Time:
        return self.sources[min(stream, len(self.sources) - 1)]


def play(setting: Setting, arrivals: Sequence[Int64s], clock: BenchClock, patience: int = 0) -> Effects:
    """Let rows arrive at their instants; their values count from 0 to 99, again and again.

    Work begins `patience` microseconds after an arrival: when a burst is there as a whole.
    """
    arena = Arena.anonymous()
    graph = Graph([setting.sink], arena, Interner(arena), Failures(), schedule=setting.schedule)
    graph.move_time(setting.timing)
    effects, sink = Effects(), graph.nodes[-1]
    assert sink.spec == setting.sink
    graph.watch(_watch(graph, sink, clock, effects))
    places = [0] * len(arrivals)
    while True:
        waiting = [int(a[place]) for a, place in zip(arrivals, places, strict=True) if place < len(a)]
        if not waiting:
            break
        clock.wait_until(min(waiting) + patience)
        now, feeds = int(clock.now()), {}
        for stream, (port, instants) in enumerate(zip(setting.ports, arrivals, strict=True)):
            stop = int(np.searchsorted(instants, now, side="right"))
            came = instants[places[stream] : stop]
            feeds[port] = Feed(_rows(came, places[stream], port), _clock(setting.source(stream), instants[:stop], now))
            places[stream] = stop
        graph.step(feeds, [setting.sink], {})
    effects.messages = graph.messages
    arena.close()
    return effects


def _watch(graph: Graph, sink: Node, clock: BenchClock, effects: Effects) -> Watch:
    told = 0

    def watch(node: Node, count: int, delta: Delta) -> None:
        nonlocal told
        clock.work(count + graph.messages - told)
        told = graph.messages
        if node is sink and len(delta):
            now = clock.now()
            effects.times.append(np.full(len(delta), int(now)))
            effects.delays.append(int(now) - delta.ts)

    return watch


def _rows(instants: Int64s, first: int, port: PortSpec) -> Delta:
    rows, ones = np.zeros((len(instants), port.layout.width), np.int64), np.ones(len(instants), np.int64)
    rows[:, 0], rows[:, 1] = instants, np.arange(first, first + len(instants)) % 100
    return Delta(rows, np.ascontiguousarray(instants), ones * FOREVER, ones)


def _clock(source: Time, instants: Int64s, now: int) -> int:
    if source is Time.LATENT:
        return FOREVER
    if source is Time.ON_DEMAND:
        return now + 1
    return int(instants[-1]) + 1 if len(instants) else 0


def poisson(rate: float, seconds: float, seed: int) -> Int64s:
    """Instants of arrivals, so many a second on average."""
    chance = np.random.default_rng(seed)
    gaps = chance.exponential(SECOND / rate, max(1, int(2 * rate * seconds) + 10))
    instants = np.cumsum(gaps).astype(np.int64) + 1
    return instants[instants < seconds * SECOND]


def bursts(size: int, rate: float, seconds: float) -> Int64s:
    """As many rows a second, in bursts of rows that are a microsecond apart."""
    starts = np.arange(1, max(2, int(rate * seconds / size) + 1)) * int(size * SECOND / rate)
    instants: Int64s = (starts[:, None] - np.arange(size)[::-1][None, :]).ravel().astype(np.int64)
    return instants
