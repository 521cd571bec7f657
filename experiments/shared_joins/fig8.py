"""Figure 8: response by window, with bursts of five."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.claims import Bound, Claim, pairwise
from experiments.figure import Figure, Line, Panel
from experiments.shared_joins.settings import ALL, MIXES, PAPERS, SharedJoin, measure, tuples
from experiments.tables import Table


def settings(is_quick: bool) -> list[SharedJoin]:
    return [SharedJoin("Small-Large", tuples(is_quick), clock=clock, burst=5) for clock in ("simulated", "real")]


def panels(is_quick: bool) -> list[Panel]:
    return [
        Panel(f"{one.clock} clock", "window, s", "mean response, ms", [
            Line(system, list(zip(MIXES[one.mix], one.per_window(system), strict=True))) for system in PAPERS
        ], is_log=True, is_log_x=True)
        for one in settings(is_quick)
    ]  # fmt: skip


def claims(is_quick: bool) -> list[Claim]:
    found = settings(is_quick)

    def four_times(table: Table) -> Iterator[Bound]:
        return pairwise(
            table, [one.per_window("SWF")[-1] for one in found], [one.per_window("MQT")[-1] for one in found], 2.5, 6)

    def sooner(table: Table) -> Iterator[Bound]:
        for one in found:
            yield from pairwise(table, one.per_window("MQT")[:3], one.per_window("LWO")[:3], high=0.2)

    return [
        Claim("§5.2, Fig. 8", "SWF takes four times as long as MQT for the largest window: 4 s and 1 s", four_times),
        Claim("§5.2, Fig. 8", "4 s and 1 s are the response times",
              cannot="seconds of another machine at a load that is not told; at a load of 0.5 the simulated ones come near"),
        Claim("§5.2, Fig. 8", "efficient schedules matter: MQT answers small windows far sooner than LWO", sooner),
    ]  # fmt: skip


FIGURE = Figure(
    "fig8", "Response by window, bursts of five", "As figure 7.", ALL, settings, measure, panels, claims,
)
