"""Runs a figure: turn by turn, and in each turn the systems of a setting one after the other, in another order every time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.claims import Judged
from experiments.figure import Figure
from experiments.results import Results
from experiments.tables import Measured, Table


@dataclass(frozen=True)
class Finished:
    """A figure that was run."""

    figure: Figure
    table: Table
    judged: Sequence[Judged]
    settings: Sequence[str]
    turns: int
    is_quick: bool


def run_figure(figure: Figure, results: Results, is_quick: bool, turns: int, say: Callable[[str], None]) -> Finished:
    """What is kept is not run again."""
    settings = figure.settings(is_quick)
    names = list(map(str, settings))
    assert len(set(names)) == len(names), f"{figure.number}: settings of one name"
    kept = {(run.setting, run.system, run.turn): run for run in results.kept()}
    found: list[Measured] = []
    for turn in range(turns):
        for setting in settings:
            systems = [system for system in figure.systems if figure.runs(setting, system)]
            wanted = [(str(setting), system, turn) for system in systems]
            if not all(one in kept for one in wanted):
                say(f"{figure.number}, turn {turn + 1} of {turns}: {setting}")
                runs = list(_interleaved(figure, setting, systems, turn))
                results.keep(runs)
                kept.update({(run.setting, run.system, run.turn): run for run in runs})
            found += (kept[one] for one in wanted)
    table = Table(found)
    return Finished(figure, table, [claim.judged(table) for claim in figure.claims(is_quick)], names, turns, is_quick)


def _interleaved(figure: Figure, setting: Any, systems: Sequence[str], turn: int) -> Iterator[Measured]:
    first = turn % len(systems)
    for system in (*systems[first:], *systems[:first]):
        yield Measured(str(setting), system, turn, dict(figure.measure(setting, system, turn)))
