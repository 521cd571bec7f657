"""Figure 9: mean response when most queries want one window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from experiments.claims import Bound, Bounds, Claim, pairwise
from experiments.figure import Figure, Line, Panel
from experiments.shared_joins.settings import PAPERS, SharedJoin, measure, tuples
from experiments.tables import Table

WINDOWS = range(1, 8)


def settings(is_quick: bool, clock: str = "simulated") -> list[SharedJoin]:
    return [SharedJoin("Small-Large", tuples(is_quick), clock=clock, crowd=number) for number in WINDOWS]


def panels(is_quick: bool) -> list[Panel]:
    return [
        Panel(f"{clock} clock", "window that 80 % of the queries want", "mean response, ms", [
            Line(system, [(f"w{one.crowd}", one.cell(system)) for one in settings(is_quick, clock)]) for system in PAPERS
        ], is_log=clock == "real")
        for clock in ("simulated", "real")
    ]  # fmt: skip


def claims(is_quick: bool) -> list[Claim]:
    found = settings(is_quick)

    def below(first: str, others: Sequence[str], some: Sequence[SharedJoin]) -> Bounds:
        def bounds(table: Table) -> Iterator[Bound]:
            for one in some:
                yield from pairwise(table, [one.cell(first)] * len(others), one.cells(others), high=1)

        return bounds

    return [
        Claim("§5.3, Fig. 9", "MQT has the lowest mean response wherever the queries are", below("MQT", ("LWO", "SWF"), found)),
        Claim("§5.3, Fig. 9", "the same on the real clock", below("MQT", ("LWO", "SWF"), settings(is_quick, "real"))),
        Claim("§5.3, Fig. 9", "with the queries at small windows SWF is better than LWO", below("SWF", ("LWO",), found[:3])),
        Claim("§5.3, Fig. 9", "with the queries at large windows LWO is better than SWF", below("LWO", ("SWF",), found[4:])),
    ]


FIGURE = Figure(
    "fig9", "Mean response, most queries at one window", "30 queries over Small-Large, 24 of them at one window; as figure 5.",
    PAPERS, lambda is_quick: [*settings(is_quick), *settings(is_quick, "real")], measure, panels, claims,
)  # fmt: skip
