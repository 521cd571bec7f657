"""What the experiments of the paper vary, and how it is measured: fill the window, then measure as many tuples more."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from experiments.tables import Cell, Values
from experiments.window_indexes.kernels import basic_windows, rings
from experiments.window_indexes.stores import (
    AGGR,
    H_INDEX,
    HASH,
    L_INDEX,
    LIST,
    T_INDEX,
    CountedStore,
    GroupStore,
    RingStore,
    Room,
)
from sash.deltas import Int64s

UNIFORM, POWER = "uniform", "power law"
NOTHING, HISTOGRAM, INTERSECTION, SORTED = "nothing", "histogram", "intersection", "sorted"
QUERIES = {"L": basic_windows.NO_QUERY, "T": basic_windows.HISTOGRAM, "H": basic_windows.HISTOGRAM,  # a list is the answer itself
           "sort": basic_windows.SORT, "merge": basic_windows.MERGE}  # fmt: skip
INDEXES = {"L": L_INDEX, "T": T_INDEX, "H": H_INDEX, "none": None, "sort": None, "merge": None}
WINDOWS = {"LIST": LIST, "AGGR": AGGR, "HASH": HASH}
FORMS = {"RING": rings.RING, "AUX": rings.AUX, "BW": rings.BW, "DB": rings.DB, "ROWS": rings.ROWS}
QUIET = 10  # percent of the basic windows
COST, STEPS = "ns of CPU a tuple", "steps a tuple"
DELETION, UPKEEP, TOTAL = "deletion, cycles a tuple", "upkeep, cycles a tuple", "upkeep and query, cycles a tuple"


@dataclass(frozen=True)
class Window:
    """So many basic windows over so many tuples, whose values are drawn from so many."""

    windows: int
    values: int
    tuples: int
    law: str = UNIFORM
    asks: str = NOTHING  # after every basic window

    def __str__(self) -> str:
        unusual = [what for what in (self.law, self.asks) if what not in (UNIFORM, NOTHING)]
        return ", ".join([f"{self.windows} basic windows", f"{self.values:,} values", *unusual])

    @property
    def size(self) -> int:
        """Of a basic window."""
        return self.tuples // self.windows

    def room(self, sides: int = 1) -> Room:
        return Room(self.windows, self.tuples + self.size, self.values, sides)

    def cell(self, system: str, measure: str = COST) -> Cell:
        return Cell(str(self), system, measure)

    def cells(self, systems: Sequence[str], measure: str = COST) -> list[Cell]:
        return [self.cell(system, measure) for system in systems]


def sweep(is_quick: bool, laws: Sequence[str] = (UNIFORM,), asks: str = NOTHING) -> list[Window]:
    counts, values, tuples = ((20, 50, 100), (200, 2000), 20_000) if is_quick else ((50, 100, 500), (1000, 10_000), 100_000)
    return [Window(count, value, tuples, law, asks) for law in laws for value in values for count in counts]


@lru_cache(maxsize=4)
def drawn(values: int, tuples: int, law: str, sides: int, turn: int) -> Int64s:
    """A line for every side: tuples to fill the window, then as many more."""
    chance = np.random.default_rng([turn, 2])
    if law == UNIFORM:
        return chance.integers(0, values, (sides, 2 * tuples))
    shares = 1 / np.arange(1, values + 1)
    found: Int64s = chance.choice(values, (sides, 2 * tuples), p=shares / shares.sum()).astype(np.int64)
    return found


def _timed(advance: Callable[[Int64s], None], lines: Int64s) -> float:
    """Nanoseconds of CPU for a tuple of the second half."""
    tuples = int(lines.shape[1]) // 2
    advance(np.ascontiguousarray(lines[:, :tuples]))
    second = np.ascontiguousarray(lines[:, tuples:])
    started = time.process_time_ns()
    advance(second)
    return float((time.process_time_ns() - started) / (tuples * len(lines)))


def counted(window: Window, system: str, turn: int) -> Values:
    """A system is an index and a kind of basic window, T/LIST; or a number of groups, G10."""
    sides = 2 if window.asks == INTERSECTION else 1
    query = {NOTHING: basic_windows.NO_QUERY, INTERSECTION: basic_windows.INTERSECT}.get(window.asks)
    if query is None:
        query = QUERIES[system.split("/")[0]]
    lines = drawn(window.values, window.tuples, window.law, sides, turn)
    store: GroupStore | CountedStore
    if system.startswith("G"):
        group = GroupStore(int(system[1:]), window.values, window.room(sides))
        cost = _timed(lambda some: group.advance(some, window.size, query != basic_windows.NO_QUERY), lines)
        store = group
    else:
        index, kind = system.split("/")
        counts = CountedStore(WINDOWS[kind], INDEXES[index], window.room(sides))
        cost = _timed(lambda some: counts.advance(some, window.size, query), lines)
        store = counts
    pieces = lines[0, window.tuples :].reshape(window.windows, window.size)
    return {
        COST: cost, STEPS: store.steps / lines.size, "values of the window": len(np.unique(pieces)),
        "values of a basic window": float(np.mean([len(np.unique(one)) for one in pieces])),
    }  # fmt: skip


def ringed(window: Window, system: str, turn: int) -> Values:
    """A form of a ring over an index: DB/L. Times are those of its quietest basic windows; others were interrupted."""
    form, index = system.split("/")
    shape = INDEXES[index]
    assert shape is not None
    values, payloads = drawn(window.values, window.tuples, window.law, 2, turn)
    store, tuples = RingStore(FORMS[form], shape, window.room()), window.tuples
    store.advance(values[:tuples], payloads[:tuples], window.size, False)
    store.advance(values[tuples:].copy(), payloads[tuples:].copy(), window.size, window.asks == SORTED)
    times = store.times[: window.windows]
    parts = (rings.ALL_WORK, rings.DELETION, rings.QUERY)
    work, deletion, query = (float(np.percentile(times[:, part], QUIET)) / window.size for part in parts)
    return {DELETION: deletion, UPKEEP: work, TOTAL: work + query, STEPS: store.steps / (2 * tuples)}


def prepare() -> None:
    """Compiles the kernels."""
    for system in ("T/LIST", "L/AGGR", "G5"):
        counted(Window(2, 10, 20), system, 0)
    ringed(Window(2, 10, 20, asks=SORTED), "DB/L", 0)
