"""Table 1: what the upkeep of an index costs, as steps that are counted."""

from __future__ import annotations

import math

from experiments.claims import Bound, Bounds, Claim
from experiments.figure import Figure
from experiments.tables import Table
from experiments.window_indexes.panels import panels
from experiments.window_indexes.settings import STEPS, Window, counted, sweep
from experiments.window_indexes.stores import H_INDEX, HASH

SYSTEMS = tuple(f"{index}/{kind}" for index in "LTH" for kind in ("LIST", "AGGR", "HASH"))
FORMULAS = {
    "L/LIST": "D", "T/LIST": "log D", "H/LIST": "D/h",
    "L/AGGR": "d + (d/b) D", "T/AGGR": "d + (d/b) log D", "H/AGGR": "d + (d/b) D/h",
    "L/HASH": "d/h + (d/b) D", "T/HASH": "d/h + (d/b) log D", "H/HASH": "d/h + (d/b) D/h",
}  # fmt: skip


def formula(system: str, all_values: float, values: float, size: int) -> float:
    """Of `values` in a basic window of so many tuples, and in the window."""
    index, kind = system.split("/")
    search = {"L": all_values, "T": math.log2(all_values), "H": all_values / H_INDEX.buckets}[index]
    if kind == "LIST":
        return search
    return values / (HASH.buckets if kind == "HASH" else 1) + values / size * search


def settings(is_quick: bool) -> list[Window]:
    """The full sizes would take the L-index minutes: counts do not depend on the machine, so smaller windows tell as much."""
    return sweep(is_quick=True)


def is_formula(system: str) -> Bounds:
    def bounds(table: Table) -> list[Bound]:
        found = []
        for window in settings(is_quick=True):
            measures = (STEPS, "values of the window", "values of a basic window")
            steps, every, some = (table.series(window.cell(system, measure)) for measure in measures)
            ratios = [a / formula(system, b, c, window.size) for a, b, c in zip(steps, every, some, strict=True)]
            found.append(Bound(f"{window}: steps / formula", ratios, 0.25, 2, is_exact=True))
        return found

    return bounds


FIGURE = Figure(
    "table1", "Costs of upkeep, counted", "Nodes and items looked at for a tuple, over what the table gives: 1/4 to 2 of it.",
    SYSTEMS, settings, counted, lambda is_quick: panels(settings(is_quick), SYSTEMS, STEPS),
    lambda is_quick: [Claim("Table 1", f"{system}: {FORMULAS[system]} a tuple", is_formula(system)) for system in SYSTEMS],
    turns=2, quick_turns=1,
)  # fmt: skip
