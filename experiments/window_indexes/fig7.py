"""Figure 7: upkeep of set-valued indexes. (a) L, T, H over LIST and AGGR; (b) by groups, and without an index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from experiments.claims import Bound, Bounds, Claim, pairwise
from experiments.figure import Figure
from experiments.tables import Table
from experiments.window_indexes.panels import panels
from experiments.window_indexes.settings import POWER, UNIFORM, Window, counted, sweep

EXACT = ("L/LIST", "T/LIST", "H/LIST", "L/AGGR", "T/AGGR", "H/AGGR", "T/HASH")
ROUGH = ("G10", "G50", "none/LIST", "T/LIST")


def both_laws(is_quick: bool) -> list[Window]:
    return sweep(is_quick, (UNIFORM, POWER))


def runs(window: Window, system: str) -> bool:
    """Lists of many values take minutes: once is enough."""
    return window.law == UNIFORM or not system.startswith("L/")


def below(windows: Sequence[Window], first: str, others: Sequence[str], high: float = 1.0) -> Bounds:
    def bounds(table: Table) -> Iterator[Bound]:
        for window in windows:
            yield from pairwise(table, [window.cell(first)] * len(others), window.cells(others), high=high)

    return bounds


def claims_a(is_quick: bool) -> list[Claim]:
    uniform, power = sweep(is_quick), sweep(is_quick, (POWER,))
    few, many = (sorted({one.values for one in uniform})[place] for place in (0, -1))
    fewest = min(one.windows for one in uniform)

    def slowest(table: Table) -> Iterator[Bound]:
        for window in uniform:
            yield from pairwise(table, window.cells(("L/LIST", "L/LIST")), window.cells(("T/LIST", "H/LIST")), low=1)

    def scales(table: Table) -> Iterator[Bound]:
        pairs = [(one, other) for one in uniform for other in uniform if (one.values, other.values) == (many, few)]
        for one, other in pairs:
            if one.windows == other.windows:
                yield from pairwise(table, [one.cell("L/LIST")], [other.cell("L/LIST")], low=5)
                yield from pairwise(table, [one.cell("T/LIST")], [other.cell("T/LIST")], high=5)

    def similar(table: Table) -> Iterator[Bound]:
        for window in uniform:
            yield from pairwise(table, [window.cell("T/LIST")], [window.cell("H/LIST")], 0.4, 2.5)

    def decisive(table: Table) -> Iterator[Bound]:
        for window, other in zip(power, uniform, strict=True):
            ratios = (table.ratios(one.cell("T/LIST"), one.cell("H/LIST")) for one in (window, other))
            yield Bound(f"{window}: T / H, over that of uniform values", [a / b for a, b in zip(*ratios, strict=True)], high=1)

    def fails(table: Table) -> Iterator[Bound]:
        (window,) = (one for one in uniform if (one.windows, one.values) == (fewest, many))
        return pairwise(table, [window.cell("T/AGGR")], [window.cell("T/LIST")], low=2)

    return [
        Claim("§6.2, Fig. 7(a)", "the L-index is slowest", slowest),
        Claim("§6.2, Fig. 7(a)", "it scales worst: ten times the values make it five times slower or more, and T not", scales),
        Claim("§6.2, Fig. 7(a)", "T and H are similar (within 2.5)", similar),
        Claim("§6.2", "with a power law T is further ahead of H", decisive,
              note="Popular values are small here, so they are first in their sorted buckets; the paper does not tell its own."),
        Claim("§6.2, Fig. 7(a)", "AGGR fails where basic windows are few and values many: twice the cost of LIST", fails),
        Claim("§6.2", "HASH is cheaper than AGGR",
              below([one for one in uniform if one.windows == fewest], "T/HASH", ("T/AGGR",))),
    ]  # fmt: skip


def claims_b(is_quick: bool) -> list[Claim]:
    windows = sweep(is_quick)
    few, many = (sorted({one.values for one in windows})[place] for place in (0, -1))
    return [
        Claim("§6.2, Fig. 7(b)", "few values: G with 10 groups is cheaper than T", below(
            [one for one in windows if one.values == few], "G10", ("T/LIST",))),
        Claim("§6.2, Fig. 7(b)", "few values: and cheaper than LIST without an index", below(
            [one for one in windows if one.values == few], "G10", ("none/LIST",))),
        Claim("§6.2, Fig. 7(b)", "many values: G with 50 groups is cheaper than T", below(
            [one for one in windows if one.values == many], "G50", ("T/LIST",))),
        Claim("§6.2, Fig. 7(b)", "many values: and cheaper than LIST without an index", below(
            [one for one in windows if one.values == many], "G50", ("none/LIST",))),
    ]  # fmt: skip


A = Figure(
    "fig7a", "Upkeep of set-valued indexes",
    "A window of 100,000 tuples is filled, then 100,000 more are measured (quick: 20,000).",
    EXACT, both_laws, counted, lambda is_quick: [*panels(sweep(is_quick), EXACT), *panels(sweep(is_quick, (POWER,)), EXACT[1:3])],
    claims_a, turns=3, runs=runs,
)  # fmt: skip
B = Figure(
    "fig7b", "Upkeep by groups", "G10 and G50 over GROUP, LIST without an index, T over LIST.",
    ROUGH, sweep, counted, lambda is_quick: panels(sweep(is_quick), ROUGH), claims_b, turns=5,
)  # fmt: skip
