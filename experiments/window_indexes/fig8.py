"""Figure 8: queries over set-valued indexes, after every basic window. (a) a sorted histogram; (b) an intersection of two."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.claims import Bound, Bounds, Claim, pairwise
from experiments.figure import Figure
from experiments.tables import Table
from experiments.window_indexes.fig7 import below
from experiments.window_indexes.panels import panels
from experiments.window_indexes.settings import HISTOGRAM, INTERSECTION, Window, counted, sweep

HISTOGRAMS = ("L/LIST", "T/LIST", "H/LIST", "sort/LIST", "merge/AGGR", "L/AGGR", "T/AGGR")
INTERSECTIONS = ("G10", "G50", "T/LIST", "H/LIST")


def histograms(is_quick: bool) -> list[Window]:
    return sweep(is_quick, asks=HISTOGRAM)


def intersections(is_quick: bool) -> list[Window]:
    return sweep(is_quick, asks=INTERSECTION)


def claims_a(is_quick: bool) -> list[Claim]:
    windows = histograms(is_quick)
    hardest = max(windows, key=lambda one: (one.values, -one.windows))

    def sorts(low: float) -> Bounds:
        def bounds(table: Table) -> Iterator[Bound]:
            for window in windows:
                yield from pairwise(table, window.cells(["sort/LIST"] * 2), window.cells(("T/LIST", "H/LIST")), low=low)

        return bounds

    def close(table: Table) -> Iterator[Bound]:
        for window in windows:
            yield from pairwise(table, [window.cell("H/LIST")], [window.cell("T/LIST")], high=2)

    def merges(table: Table) -> Iterator[Bound]:
        return pairwise(table, [hardest.cell("merge/AGGR")], [hardest.cell("L/AGGR")], high=1)

    def merges_worse(table: Table) -> Iterator[Bound]:
        return pairwise(table, [hardest.cell("merge/AGGR")], [hardest.cell("T/AGGR")], low=1)

    note = "The sort is a merge sort over flat arrays, not over a list of objects."
    return [
        Claim("§6.2, Fig. 8(a)", "T is the overall winner: cheaper than L", below(windows, "T/LIST", ("L/LIST",))),
        Claim("§6.2, Fig. 8(a)", "and cheaper than H", below(windows, "T/LIST", ("H/LIST",))),
        Claim("§6.2, Fig. 8(a)", "H follows closely (within 2)", close),
        Claim("§6.2", "sorting the window again is orders of magnitude worse than T and H (100 or more)", sorts(100), note=note),
        Claim("§6.2", "sorting is one order worse", sorts(10), note=note),
        Claim("§6.2", "few basic windows, many values: merging AGGR without an index beats the L-index over AGGR", merges),
        Claim("§6.2", "but not the T-index over AGGR", merges_worse),
    ]


def claims_b(is_quick: bool) -> list[Claim]:
    windows = intersections(is_quick)
    others = ("T/LIST", "H/LIST")
    return [
        Claim("§6.2, Fig. 8(b)", "G answers roughly at half of the cost or less: 10 groups", below(windows, "G10", others, 0.5)),
        Claim("§6.2, Fig. 8(b)", "and 50 groups", below(windows, "G50", others, 0.5)),
    ]


A = Figure(
    "fig8a", "A sorted histogram", "Upkeep and query, asked after every basic window.",
    HISTOGRAMS, histograms, counted, lambda is_quick: panels(histograms(is_quick), HISTOGRAMS), claims_a, turns=3,
)  # fmt: skip
B = Figure(
    "fig8b", "An intersection of two windows", "One index with two counts, asked after every basic window; G tells ranges.",
    INTERSECTIONS, intersections, counted, lambda is_quick: panels(intersections(is_quick), INTERSECTIONS), claims_b, turns=5,
)  # fmt: skip
