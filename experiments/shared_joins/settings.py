"""What the experiments of the paper vary: windows, method, bursts, queries; and how a schedule is measured there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from experiments.shared_joins import kernels as kernel
from experiments.shared_joins.join import SCHEDULES, Clock, Outcome, run
from experiments.shared_joins.streams import SECOND, Arrivals, draw
from experiments.tables import Cell, Values
from sash.operators.shared_join.throughput import Windows

MIXES = {  # table 1 of the paper, in seconds
    "Uniform": (1, 100, 200, 300, 400, 500, 600),
    "Mostly-Small": (1, 5, 15, 30, 60, 300, 600),
    "Mostly-Large": (1, 60, 300, 420, 510, 570, 600),
    "Small-Large": (1, 5, 15, 300, 510, 570, 600),
}
KEYS = 500  # selectivity 0.002
RATES = {"hash": 100.0, "nested loops": 15.0}  # tuples a second of each stream
BUCKETS = {"hash": 512, "nested loops": 1}
LOAD = 0.5
QUERIES, CROWD = 30, 0.8  # figure 9: how many there are, and how many of them want one window
KEPT = 4096  # pairs of a window that are written before the first are written over, on the real clock

PAPERS = ("LWO", "SWF", "MQT")
ALL = (*PAPERS, "SWF early", "MQT, oldest first")
MEAN, PER_TUPLE = "mean of queries", "mean of output tuples"


@dataclass(frozen=True)
class SharedJoin:
    """`crowd` is the number of the window that most queries want, from 1; 0 where every window has one query."""

    mix: str
    tuples: int
    method: str = "hash"
    clock: str = "simulated"
    burst: float = 1
    load: float = LOAD
    crowd: int = 0

    def __str__(self) -> str:
        """What is usual is not said."""
        unusual = {
            f"{self.method}": self.method != "hash", f"bursts of {self.burst:g}": self.burst != 1,
            f"load {self.load:g}": self.load != LOAD,
            f"queries at w{self.crowd}": self.crowd, f"{self.clock} clock": self.clock != "simulated",
        }  # fmt: skip
        return ", ".join([self.mix, *(what for what, is_so in unusual.items() if is_so)])

    @property
    def windows(self) -> Windows:
        sizes = MIXES[self.mix]
        return Windows(tuple(size * SECOND for size in sizes), self.queries)

    @property
    def queries(self) -> tuple[int, ...]:
        count = len(MIXES[self.mix])
        if not self.crowd:
            return (1,) * count
        others = round(QUERIES * (1 - CROWD)) // (count - 1)
        return tuple(QUERIES - others * (count - 1) if number == self.crowd else others for number in range(1, count + 1))

    def cell(self, system: str, measure: str = MEAN) -> Cell:
        return Cell(str(self), system, measure)

    def cells(self, systems: Sequence[str], measure: str = MEAN) -> list[Cell]:
        return [self.cell(system, measure) for system in systems]

    def per_window(self, system: str, measure: str = "mean") -> list[Cell]:
        return [self.cell(system, f"{measure} w{number}") for number in range(1, len(MIXES[self.mix]) + 1)]


@lru_cache(maxsize=2)
def arrivals_of(rate: float, burst: float, longest: int, tuples: int, seed: int) -> Arrivals:
    return draw(rate, burst, KEYS, longest, tuples, seed)


@lru_cache(maxsize=2)
def machine_speed(setting: SharedJoin, turn: int) -> int:
    """How fast the streams' time passes on the real clock: so that the busiest of the paper's schedules is as busy as wanted.
    All of them must keep up, and SWF, which holds and orders most pairs, takes the machine about twice as much as LWO."""
    speed = int(setting.load / 2 / _busy(setting, turn, "LWO", 1000) * 1000)
    return max(1, int(setting.load / max(_busy(setting, turn, system, speed) for system in PAPERS) * speed))


def _busy(setting: SharedJoin, turn: int, system: str, speed: int) -> float:
    """The share of the time in which the machine works."""
    arrivals = _arrivals(setting, turn)
    done = run(arrivals, setting.windows, SCHEDULES[system], BUCKETS[setting.method], Clock(speed=speed), kept=KEPT)
    return done.register(kernel.BUSY) / arrivals.span


def _arrivals(setting: SharedJoin, turn: int) -> Arrivals:
    return arrivals_of(RATES[setting.method], setting.burst, max(MIXES[setting.mix]), setting.tuples, turn)


def probe_cost(setting: SharedJoin) -> int:
    """Of a tuple that is looked at, in nanoseconds: what a load of two streams means for the largest window."""
    rate = RATES[setting.method]
    looked_at = rate * max(MIXES[setting.mix]) / (KEYS if setting.method == "hash" else 1)
    return int(setting.load * SECOND / (2 * rate * looked_at))


def measure(setting: SharedJoin, system: str, turn: int) -> Values:
    arrivals, is_real = _arrivals(setting, turn), setting.clock == "real"
    clock = Clock(speed=machine_speed(setting, turn)) if is_real else Clock(cost=probe_cost(setting))
    done = run(arrivals, setting.windows, SCHEDULES[system], BUCKETS[setting.method], clock, KEPT if is_real else 0)
    return values(done, setting, arrivals)


def values(done: Outcome, setting: SharedJoin, arrivals: Arrivals) -> Values:
    """Times in milliseconds, buffers as shares of the join buffer of one stream."""
    queries, means = np.array(setting.queries), np.array(done.means) / 1e6
    weights, buffer = queries * done.counts, arrivals.buffer(setting.windows.sizes[-1])
    return {
        MEAN: float((queries * means).sum() / queries.sum()),
        PER_TUPLE: float((weights * means).sum() / weights.sum()),
        "longest": max(done.longest) / 1e6,
        **{f"mean w{number}": float(mean) for number, mean in enumerate(means, 1)},
        **{f"longest w{number}": most / 1e6 for number, most in enumerate(done.longest, 1)},
        "output buffer": done.register(kernel.MOST_HELD) / buffer,
        "input buffer": done.register(kernel.MOST_WAITING) / 2 / buffer,
        "looked at": done.register(kernel.PROBES),
        "pairs": done.register(kernel.PAIRS),
        "turns": done.register(kernel.TURNS),
        "busy": done.register(kernel.BUSY) / arrivals.span,
        "interrupted": done.register(kernel.INTERRUPTED) / done.register(kernel.TURNS),
    }


def tuples(is_quick: bool) -> int:
    return 10_000 if is_quick else 100_000


def prepare() -> None:
    """Compiles the kernel."""
    small = SharedJoin("Uniform", 100)
    for system in ALL:
        measure(small, system, 0)
