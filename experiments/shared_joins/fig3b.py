"""Figure 3(b): what a burst of 50 tuples waits for under SWF, and when every query has a join of its own."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.claims import Bound, Claim, pairwise
from experiments.figure import Figure
from experiments.shared_joins.bursts import REAL, SETTINGS, SIMULATED, cells, measure, panels, runs
from experiments.tables import Table

SYSTEMS = ("SWF", "SWF, formula", "isolated", "LWO", "MQT")


def agrees(table: Table) -> Iterator[Bound]:
    return pairwise(table, cells(SIMULATED, "SWF"), cells(SIMULATED, "SWF, formula"), 0.999, 1.001, is_exact=True)


def trade(table: Table) -> Iterator[Bound]:
    for setting in (SIMULATED, REAL):
        swf, lwo, alone = (cells(setting, system) for system in ("SWF", "LWO", "isolated"))
        yield from pairwise(table, swf[:1], lwo[:1], high=0.1)
        yield from pairwise(table, swf[-1:], alone[-1:], low=1.25)


FIGURE = Figure(
    "fig3b", "SWF against isolated execution", "As figure 2(b). LWO and MQT are measured beside it.",
    SYSTEMS, lambda is_quick: SETTINGS, measure, lambda is_quick: panels(SYSTEMS),
    lambda is_quick: (
        Claim("§3.2.1, eq. (2)", "the mean response under SWF is what the formula gives", agrees),
        Claim("§3.2.1, Fig. 3(b)", "SWF answers small windows much sooner, at the expense of large ones", trade),
    ),
    runs=runs,
)  # fmt: skip
