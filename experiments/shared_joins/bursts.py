"""One burst of tuples that come at once, which the paper has formulas for: figures 2(b) and 3(b)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from experiments.figure import Line, Panel
from experiments.shared_joins.join import LWO, SCHEDULES, Clock, run
from experiments.shared_joins.settings import MIXES
from experiments.shared_joins.streams import SECOND, one_burst
from experiments.tables import Cell, Values
from sash.operators.shared_join.throughput import Windows

RATE, SIZE, COST = 100, 50, 1000  # tuples a second, tuples of the burst, nanoseconds of a probe
SIZES = MIXES["Uniform"]


@dataclass(frozen=True)
class OneBurst:
    """A burst that meets windows of nested loops; every tuple finds all others."""

    clock: str

    def __str__(self) -> str:
        return f"one burst of {SIZE}, {self.clock} clock"


SETTINGS = (OneBurst("simulated"), OneBurst("real"))
SIMULATED, REAL = map(str, SETTINGS)


def formula(system: str, window: int) -> float:
    """Microseconds: equations (1) and (2) of the paper, and its footnote 2. Windows count from 0."""
    tuples = [RATE * size for size in SIZES]
    if system == "LWO":
        return COST / 2000 * (tuples[window] + 1 + (SIZE - 1) * tuples[-1])
    if system == "isolated":
        return COST / 2000 * (SIZE * tuples[window] + 1)
    assert system == "SWF", system
    before = tuples[window - 1] if window else 0
    return COST / 1000 * (SIZE * before + (SIZE + 1) / 2 * (tuples[window] - before))


def measure(setting: OneBurst, system: str, turn: int) -> Values:
    if system.endswith(", formula"):
        return {f"w{number + 1}": formula(system.removesuffix(", formula"), number) for number in range(len(SIZES))}
    if system == "isolated":
        return {f"w{number}": _mean(setting, (size,), "LWO")[-1] for number, size in enumerate(SIZES, 1)}
    return {f"w{number}": mean for number, mean in enumerate(_mean(setting, SIZES, system), 1)}


def _mean(setting: OneBurst, sizes: Sequence[int], system: str) -> list[float]:
    """Microseconds; on the real clock thousands of cycles."""
    clock = Clock(cost=COST) if setting.clock == "simulated" else Clock(speed=1000)
    windows = Windows(tuple(size * SECOND for size in sizes), (1,) * len(sizes))
    done = run(one_burst(RATE, max(sizes), SIZE), windows, SCHEDULES[system], 1, clock, kept=4096)
    return [mean / 1000 for mean in done.means]


def runs(setting: OneBurst, system: str) -> bool:
    """A formula is for the simulated clock."""
    return setting.clock == "simulated" or not system.endswith(", formula")


def cells(setting: str, system: str) -> list[Cell]:
    return [Cell(setting, system, f"w{number}") for number in range(1, len(SIZES) + 1)]


def panels(systems: Sequence[str]) -> list[Panel]:
    made = []
    for setting, unit in ((SIMULATED, "mean response, µs"), (REAL, "mean response, 1,000 cycles")):
        lines = [
            Line(system, list(zip(SIZES, cells(setting, system), strict=True)), system.endswith(", formula"))
            for system in systems if setting == SIMULATED or not system.endswith(", formula")
        ]  # fmt: skip
        made.append(Panel(setting, "window, s", unit, lines, is_log=True))
    return made


def prepare() -> None:
    run(one_burst(RATE, 1, 1), Windows((SECOND,), (1,)), LWO, 1, Clock(cost=1))
