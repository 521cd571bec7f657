"""A hundred views over one join that differ in a constant of WHERE: above a common join, below it, and as Sash chooses.

    value      s.v = n: a thousandth of the rows of one side each
    few        s.v > n: one to ten of a hundred rows of one side
    all        s.v > n: from none to all of them
    both       s.v > n AND r.w > n: hardly a pair

Two streams of 10,000 rows a second each, windows of 2 s, 5,000 keys, pushes of 5,000 rows to each stream. Three databases go on
in turns, in CPU time of the process; a ratio is that of one turn. At the end all views must have changed alike in all three.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pyarrow as pa

import sash
from benchmarks.report import Options, Report, span
from sash.errors import SashError
from sash.planner.choose import CommonChoice
from sash.planner.join_sharing import JoinSharing

VIEWS, QUICK_VIEWS = 100, 20
BATCH, KEYS, VALUES = 5_000, 5_000, 1_000
APART = 100  # microseconds from a row to the next
FILLING = 6  # pushes until windows are full, plans have settled and kernels are there
TURNS, QUICK_TURNS = 20, 4
STREAMS = "".join(
    f"CREATE STREAM {name} (ts TIMESTAMP, k BIGINT, {value} BIGINT, {other} BIGINT) TIMESTAMP BY ts;"
    for name, value, other in (("s", "v", "a"), ("r", "w", "b"))
)
CONDITIONS: dict[str, Callable[[float], str]] = {  # by the share of the views that come before
    "value": lambda share: f"s.v = {VALUES * share:.0f}",
    "few": lambda share: f"s.v > {VALUES * (0.99 - 0.09 * share):.0f}",
    "all": lambda share: f"s.v > {VALUES * share:.0f}",
    "both": lambda share: f"s.v > {VALUES * (0.9 - 0.1 * share):.0f} AND r.w > {VALUES * (0.9 - 0.1 * share):.0f}",
}
SYSTEMS = ("chosen", "above", "below")
COLUMNS = (
    "condition", "chosen of below", "above of below", "views above", *(f"{name} ms" for name in SYSTEMS), "above MB", "below MB"
)


@contextmanager
def forced(system: str) -> Iterator[None]:
    """Views that move meanwhile go where this system has them."""
    known = JoinSharing.where
    if system != "chosen":
        JoinSharing.where = lambda self, here: list(here.own.values()) if system == "above" else []  # type: ignore[method-assign]
    try:
        yield
    finally:
        JoinSharing.where = known  # type: ignore[method-assign]


class System:
    """A database with all views."""

    def __init__(self, system: str, condition: Callable[[float], str], views: int) -> None:
        self.db, self._system, self.views = sash.connect(), system, views
        self.db.execute(STREAMS)
        for number in range(views):
            self.db.execute(
                f"CREATE MATERIALIZED VIEW q{number} AS SELECT s.k, s.a, r.b FROM s [RANGE 2 SECONDS], r [RANGE 2 SECONDS] "
                f"WHERE s.k = r.k AND {condition(number / views)}"
            )

    def push(self, batches: dict[str, pa.Table]) -> float:
        """Milliseconds."""
        with forced(self._system):
            started = time.process_time()
            for name, batch in batches.items():
                self.db.push(name, batch)
            return 1e3 * (time.process_time() - started)

    @property
    def above(self) -> int:
        """How many views have their conditions above."""
        return sum(isinstance(self.db._running_choice(f"q{number}")[0], CommonChoice) for number in range(self.views))


def rows(number: int, chance: np.random.Generator) -> dict[str, pa.Table]:
    instants = pa.array(np.arange(number * BATCH, (number + 1) * BATCH) * APART).view(pa.timestamp("us"))
    return {
        name: pa.table({"ts": instants, "k": values(chance, KEYS), value: values(chance, VALUES), other: values(chance, VALUES)})
        for name, value, other in (("s", "v", "a"), ("r", "w", "b"))
    }


def values(chance: np.random.Generator, count: int) -> pa.Array:
    return pa.array(chance.integers(0, count, BATCH))


def run(options: Options) -> list[Report]:
    views, turns = (QUICK_VIEWS, QUICK_TURNS) if options.quick else (options.rows or VIEWS, TURNS)
    turns = options.repeat or turns
    lines, numbers = [], []
    for name, condition in CONDITIONS.items():
        options.say(f"{views} views, condition: {name}")
        spent, state, above = measure(condition, views, turns)
        ratios = [[one / below for one, below in zip(spent[mine], spent["below"], strict=True)] for mine in SYSTEMS[:2]]
        medians = [f"{statistics.median(spent[system]):.1f}" for system in SYSTEMS]
        sizes = [f"{state[system] / 1e6:.1f}" for system in ("above", "below")]
        lines.append([name, *(span(one, ".2f") for one in ratios), str(above), *medians, *sizes])
        numbers.append({"condition": name, "views": views, **spent, "state": state, "above": above})
    title = f"{views} views over one join that differ in a condition, {2 * BATCH:,} rows a push, {turns} turns, CPU time"
    return [Report(title, COLUMNS, lines, numbers)]


def measure(condition: Callable[[float], str], views: int, turns: int) -> tuple[dict[str, list[float]], dict[str, int], int]:
    systems = {name: System(name, condition, views) for name in SYSTEMS}
    spent: dict[str, list[float]] = {name: [] for name in SYSTEMS}
    chance = np.random.default_rng(1)
    for number in range(FILLING + turns):
        batches = rows(number, chance)
        for name, system in systems.items():
            took = system.push(batches)
            if number >= FILLING:
                spent[name].append(took)
    check(systems, views)
    return spent, {name: system.db.state_bytes for name, system in systems.items()}, systems["chosen"].above


def check(systems: dict[str, System], views: int) -> None:
    for number in range(views):
        first, *others = (system.db.changes(f"q{number}") for system in systems.values())
        if not all(first.equals(other) for other in others):
            raise SashError(f"view number {number} changes otherwise above a common join than below")
