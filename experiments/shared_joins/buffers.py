"""Section 5.4: how much the buffers hold at most, as a share of the join buffer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from experiments.claims import Bound, Bounds, Claim
from experiments.figure import Figure, Line, Panel
from experiments.shared_joins import fig5, fig7
from experiments.shared_joins.settings import ALL, LOAD, PAPERS, SharedJoin, measure
from experiments.tables import Table


def mixes(is_quick: bool) -> list[SharedJoin]:
    return fig5.settings(is_quick, "hash", "simulated")


def bursts(is_quick: bool) -> list[SharedJoin]:
    return fig7.settings(is_quick, "simulated", LOAD)


def settings(is_quick: bool) -> list[SharedJoin]:
    return list(dict.fromkeys([*mixes(is_quick), *bursts(is_quick)]))


def panels(is_quick: bool) -> list[Panel]:
    return [
        *(Panel(f"{buffer}, single tuples", "", "share of the join buffer", [
            Line(system, [(one.mix, one.cell(system, buffer)) for one in mixes(is_quick)]) for system in PAPERS
        ]) for buffer in ("output buffer", "input buffer")),
        *(Panel(f"{buffer}, Small-Large", "expected burst, tuples", "share of the join buffer", [
            Line(system, [(one.burst, one.cell(system, buffer)) for one in bursts(is_quick)])
            for system in PAPERS if buffer == "input buffer" or system != "LWO"
        ], is_log=True) for buffer in ("output buffer", "input buffer")),
    ]  # fmt: skip


def claims(is_quick: bool) -> list[Claim]:
    def at_most(share: float, buffer: str, systems: Sequence[str], some: Sequence[SharedJoin]) -> Bounds:
        def bounds(table: Table) -> Iterator[Bound]:
            for one in some:
                for system in systems:
                    yield Bound(f"{system}, {one}:", table.series(one.cell(system, buffer)), high=share, is_exact=True)

        return bounds

    held = (
        "What SWF holds is all pairs of tuples that are not through with the largest window. A tuple has 120 pairs, so 15 "
        "that wait have 3 % of the join buffer's number. MQT goes on with one tuple where that pays, and holds less."
    )
    return [
        Claim("§5.4", "single tuples: the output buffer of MQT stays below 3 % of the join buffer",
              at_most(0.03, "output buffer", ("MQT",), mixes(is_quick))),
        Claim("§5.4", "single tuples: that of SWF, too", at_most(0.03, "output buffer", ("SWF",), mixes(is_quick)), note=held),
        Claim("§5.4", "bursts up to five: that of both", at_most(0.03, "output buffer", ("SWF", "MQT"), bursts(is_quick)),
              note=held),
        Claim("§5.4", "single tuples: the input buffer of SWF stays below 10 % of the join buffer",
              at_most(0.1, "input buffer", ("SWF",), mixes(is_quick))),
        Claim("§5.4", "bursts up to five: the same", at_most(0.1, "input buffer", ("SWF",), bursts(is_quick))),
        Claim("§3.1", "LWO holds no output back", at_most(0, "output buffer", ("LWO",), settings(is_quick))),
    ]  # fmt: skip


FIGURE = Figure(
    "buffers", "Sizes of the buffers (§5.4)", "The runs of figures 5 and 7. Buffers are counted: tuples or pairs, at most.",
    ALL, settings, measure, panels, claims,
)  # fmt: skip
