"""Figure 6: mean and longest response by window, for two mixes."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.claims import Bound, Bounds, Claim, flat, growth, pairwise
from experiments.figure import Figure, Line, Panel
from experiments.shared_joins.settings import ALL, MIXES, PAPERS, SharedJoin, measure, tuples
from experiments.tables import Table

SHOWN = ("Uniform", "Mostly-Small")


def settings(is_quick: bool) -> list[SharedJoin]:
    return [SharedJoin(mix, tuples(is_quick)) for mix in SHOWN]


def panels(is_quick: bool) -> list[Panel]:
    return [
        Panel(f"{setting.mix}: {measure} response", "window, s", "ms", [
            Line(system, list(zip(MIXES[setting.mix], setting.per_window(system, measure), strict=True))) for system in PAPERS
        ], is_log=True)
        for measure in ("mean", "longest") for setting in settings(is_quick)
    ]  # fmt: skip


def claims(is_quick: bool) -> list[Claim]:
    uniform, small = settings(is_quick)
    both = (uniform, small)

    def stable(measure: str) -> Bounds:
        return lambda table: [flat(table, one.per_window("LWO", measure), f"{one.mix}: greatest / least", 2.0) for one in both]

    def favours(table: Table) -> Iterator[Bound]:
        for one in both:
            for system in ("SWF", "MQT"):
                cells = one.per_window(system)
                yield growth(table, cells[0], cells[-1], f"{one.mix}, {system}: largest / smallest", low=2)

    def alike(table: Table) -> Iterator[Bound]:
        return pairwise(table, uniform.per_window("MQT")[:-1], uniform.per_window("SWF")[:-1], 0.8, 1.25)

    def order_alike(table: Table) -> Iterator[Bound]:
        return pairwise(table, uniform.per_window("MQT"), uniform.per_window("SWF early"), 1, 1, is_exact=True)

    def sooner(measure: str) -> Bounds:
        ours, theirs = ([one.per_window(system, measure)[-1] for one in both] for system in ("MQT", "SWF"))
        return lambda table: pairwise(table, ours, theirs, high=1)

    def half(table: Table) -> Iterator[Bound]:
        return pairwise(table, small.per_window("SWF")[-1:], uniform.per_window("SWF")[-1:], 0.35, 0.65)

    def spread(table: Table) -> Iterator[Bound]:
        for one in both:
            pairs = zip(one.per_window("SWF", "longest"), one.per_window("SWF"), strict=True)
            turns = zip(*(table.ratios(most, mean) for most, mean in pairs), strict=True)
            yield Bound(f"{one.mix}, SWF: longest / mean, where most", [max(ratios) for ratios in turns], low=10)

    return [
        Claim("§5.1, Fig. 6", "under LWO the mean response hardly depends on the window", stable("mean")),
        Claim("§5.1, Fig. 6", "its longest response is the same for all windows", stable("longest")),
        Claim("§5.1, Fig. 6", "SWF and MQT answer small windows sooner than large ones", favours),
        Claim("§5.1, Fig. 6(a)", "Uniform: MQT and SWF are similar for all but the largest window", alike,
              note="Their order is the same (next claim); but MQT releases pairs before a tuple is through, for every window."),
        Claim("§5.1, Fig. 6(a)", "Uniform: they make the same order, so the difference is in the release alone", order_alike,
              note="It holds only if equal throughputs are decided for the smaller window. SWF that releases early is MQT here."),
        Claim("§5.1, Fig. 6", "MQT answers the largest window sooner than SWF", sooner("mean")),
        Claim("§5.1, Fig. 6", "its longest response there is better, too", sooner("longest")),
        Claim("§5.1, Fig. 6(b)", "SWF's response for the largest window is half of that with Uniform", half,
              note="It falls with the load: 0.63 at 0.7, 0.45 at 0.9 in a single run; the paper does not tell its load."),
        Claim("§5.1, Fig. 6", "single tuples wait ten or a hundred times as long as the mean", spread),
    ]  # fmt: skip


FIGURE = Figure(
    "fig6", "Mean and longest response by window", "The runs of figure 5, for two mixes.", ALL, settings, measure, panels, claims,
)
