"""Figure 9: attribute-valued indexes. (a) deletion; (b) a query that sorts by one attribute and gives the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from experiments.claims import Bound, Bounds, Claim, flat, pairwise, rising
from experiments.figure import Figure
from experiments.tables import Table
from experiments.window_indexes.panels import panels
from experiments.window_indexes.settings import DELETION, SORTED, TOTAL, UPKEEP, Window, ringed, sweep

FORMS = ("RING/T", "AUX/T", "BW/T", "DB/T", "ROWS/T")
LISTS = ("AUX/L", "BW/L", "DB/L", "ROWS/L", "ROWS/T")


def rings(is_quick: bool) -> list[Window]:
    return sweep(is_quick, asks="rings")


def few_values(windows: list[Window]) -> list[Window]:
    fewest = min(one.values for one in windows)
    return [one for one in windows if one.values == fewest]


def sorted_windows(is_quick: bool) -> list[Window]:
    return few_values(sweep(is_quick, asks=SORTED))


def below(windows: Sequence[Window], first: str, second: str, measure: str, high: float = 1.0) -> Bounds:
    ours, theirs = ([window.cell(system, measure) for window in windows] for system in (first, second))
    return lambda table: pairwise(table, ours, theirs, high=high)


def claims_a(is_quick: bool) -> list[Claim]:
    windows = rings(is_quick)
    few = few_values(windows)
    many = [one for one in windows if one.values != few[0].values]

    def differs(table: Table) -> Iterator[Bound]:
        for one, other in zip(few, many, strict=True):
            pairs = [window.cells(("AUX/T", "DB/T"), DELETION) for window in (one, other)]
            ratios = [table.ratios(*pair) for pair in pairs]
            yield Bound(f"{one}: AUX / DB, over that with more values", [a / b for a, b in zip(*ratios, strict=True)], low=1)

    def oblivious(table: Table) -> list[Bound]:
        return [flat(table, [one.cell("AUX/T", DELETION) for one in some], f"AUX, {some[0].values:,} values: most / least", 1.5)
                for some in (few, many)]  # fmt: skip

    def grows(system: str) -> Bounds:
        return lambda table: rising(table, [one.cell(system, DELETION) for one in few])

    def tenfold(table: Table) -> Iterator[Bound]:
        for window in few:
            ring = [window.cell("RING/T", UPKEEP)] * 3
            yield from pairwise(table, ring, window.cells(("AUX/T", "BW/T", "DB/T"), UPKEEP), low=10)

    return [
        Claim("§6.3, Fig. 9(a)", "deletion with DB is cheaper than with BW", below(windows, "DB/T", "BW/T", DELETION)),
        Claim("§6.3, Fig. 9(a)", "and with BW cheaper than with AUX", below(windows, "BW/T", "AUX/T", DELETION)),
        Claim("§6.3, Fig. 9(a)", "the fewer values there are, the more they differ", differs),
        Claim("§6.3, Fig. 9(a)", "AUX does not depend on the number of basic windows (within 1.5)", oblivious),
        Claim("§6.3, Fig. 9(a)", "BW is better with fewer basic windows", grows("BW/T")),
        Claim("§6.3, Fig. 9(a)", "so is DB", grows("DB/T")),
        Claim("§6.3", "the plain ring costs ten times as much upkeep as the others, or more", tenfold,
              note="AUX deletes as the plain ring does, and that is most of its work here: only BW and DB differ by so much."),
        Claim("ours", "Sash's row numbers delete no slower than DB", below(windows, "ROWS/T", "DB/T", DELETION),
              note="There is nothing to delete: one number moves."),
    ]  # fmt: skip


def claims_b(is_quick: bool) -> list[Claim]:
    few = sorted_windows(is_quick)

    def narrow(table: Table) -> Iterator[Bound]:
        return pairwise(table, [one.cell("DB/L", TOTAL) for one in few], [one.cell("BW/L", TOTAL) for one in few], 0.7, 1)

    def dramatic(table: Table) -> Iterator[Bound]:
        cells = [[one.cell(system, TOTAL) for one in (few[-1], few[0])] for system in ("AUX/L", "BW/L", "DB/L")]
        return pairwise(table, [pair[0] for pair in cells], [pair[1] for pair in cells], low=2)

    return [
        Claim("§6.3, Fig. 9(b)", "upkeep: DB is cheaper than BW", below(few, "DB/L", "BW/L", UPKEEP)),
        Claim("§6.3, Fig. 9(b)", "upkeep: BW is cheaper than AUX", below(few, "BW/L", "AUX/L", UPKEEP)),
        Claim("§6.3, Fig. 9(b)", "with the query DB is ahead of BW by a small margin", narrow),
        Claim("§6.3, Fig. 9(b)", "with many basic windows the query costs dramatically more (twice or more)", dramatic),
        Claim("ours", "Sash's row numbers, over the same list: no slower than DB, query and all",
              below(few, "ROWS/L", "DB/L", TOTAL),
              note="There is no auxiliary index, so every tuple looks for its value in the list: a form for trees and tables."),
        Claim("ours", "over a tree they are ahead of all", below(few, "ROWS/T", "DB/L", TOTAL)),
    ]  # fmt: skip


A = Figure(
    "fig9a", "Deletion from attribute-valued indexes", "Cycles for a tuple, in the quietest basic windows; over the T-index.",
    FORMS, rings, ringed, lambda is_quick: panels(rings(is_quick), FORMS, DELETION), claims_a,
)  # fmt: skip
B = Figure(
    "fig9b", "A query that sorts by an attribute", "Upkeep alone, and with a query after every basic window; over the L-index.",
    LISTS, sorted_windows, ringed,
    lambda is_quick: [one for measure in (UPKEEP, TOTAL) for one in panels(sorted_windows(is_quick), LISTS, measure)], claims_b,
    turns=3,
)  # fmt: skip
