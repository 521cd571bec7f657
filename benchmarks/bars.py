"""Pictures of several systems side by side: a group of bars for every workload, a bar for each system."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

COLOURS = ("#1f5fa8", "#9a9a9a", "#c2571a", "#4a9a5f", "#8a5fa8", "#c2a21a", "#5f9aa8", "#a85f6f")


def draw_bars(
    workloads: Sequence[str], systems: Mapping[str, Sequence[Sequence[float]]], unit: str, path: Path, is_log: bool = False
) -> None:
    """The runs of every system, a list for each workload; a bar is their median, a thin line spans them. No runs, no bar."""
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(8, 3.5), layout="constrained")
    width = 0.8 / len(systems)
    for number, (system, runs) in enumerate(systems.items()):
        found = [(place + (number + 0.5) * width - 0.4, values) for place, values in enumerate(runs) if values]
        medians = [statistics.median(values) for _, values in found]
        pairs = [(median, values) for median, (_, values) in zip(medians, found, strict=True)]
        spans = [[median - min(values) for median, values in pairs], [max(values) - median for median, values in pairs]]
        colour = COLOURS[number % len(COLOURS)]
        axis.bar([place for place, _ in found], medians, 0.95 * width, yerr=spans, color=colour, capsize=2, label=system)
    axis.set_xticks(range(len(workloads)), workloads, fontsize="small")
    axis.set_ylabel(unit)
    if is_log:
        axis.set_yscale("log")
    axis.legend(frameon=False, fontsize="small")
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
