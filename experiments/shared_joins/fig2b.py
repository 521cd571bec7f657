"""Figure 2(b): what a burst of 50 tuples waits for under LWO, and when every query has a join of its own."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.claims import Bound, Claim, pairwise
from experiments.figure import Figure
from experiments.shared_joins.bursts import REAL, SETTINGS, SIMULATED, cells, measure, panels, runs
from experiments.tables import Table

SYSTEMS = ("LWO", "LWO, formula", "isolated", "isolated, formula")


def agrees(table: Table) -> Iterator[Bound]:
    for system in ("LWO", "isolated"):
        yield from pairwise(table, cells(SIMULATED, system), cells(SIMULATED, f"{system}, formula"), 0.999, 1.001, is_exact=True)


def penalty(table: Table) -> Iterator[Bound]:
    for setting in (SIMULATED, REAL):
        small, large = ([cells(setting, system)[place] for system in ("LWO", "isolated")] for place in (0, -1))
        yield from pairwise(table, small[:1], small[1:], low=100)
        yield from pairwise(table, large[:1], large[1:], 0.8, 1.25)


FIGURE = Figure(
    "fig2b", "LWO against isolated execution",
    "50 tuples of one stream come at once; the other has 100 tuples/s; t_p = 1 µs; α = 1.",
    SYSTEMS, lambda is_quick: SETTINGS, measure, lambda is_quick: panels(SYSTEMS),
    lambda is_quick: (
        Claim("§3.1.1, eq. (1)", "the mean response under LWO, and of a query alone, are what the formulas give", agrees),
        Claim("§3.1.1, Fig. 2(b)", "LWO makes the smallest window wait far longer than alone, the largest not at all", penalty),
    ),
    runs=runs,
)  # fmt: skip
