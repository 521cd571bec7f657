"""Pictures of the graph benchmark: both lines of an experiment, one panel a clock."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.graph import Experiment, Measured

COLOURS = ("#1f5fa8", "#c2571a")


def draw(experiment: Experiment, measured: Sequence[Measured], path: Path) -> None:
    """Values are on a logarithmic axis; where the paper has a formula, it is dotted."""
    from matplotlib import pyplot

    clocks = list(dict.fromkeys(one.clock for one in measured))
    figure, axes = pyplot.subplots(1, len(clocks), figsize=(4.2 * len(clocks), 3.2), squeeze=False, layout="constrained")
    for axis, clock in zip(axes.flat, clocks, strict=True):
        for line, colour in zip(experiment.lines, COLOURS, strict=True):
            points = [one for one in measured if one.clock == clock and one.line == line]
            xs = [one.x for one in points]
            axis.plot(xs, [one.value for one in points], color=colour, marker="o", markersize=4, label=line)
            if all(one.expected is not None for one in points):
                axis.plot(xs, [one.expected for one in points], color=colour, linestyle=":", label=f"{line}, expected")
        axis.set(yscale="log", title=f"{clock} clock", xlabel=experiment.x)
        axis.grid(True, which="major", alpha=0.3)
    axes.flat[0].set_ylabel(experiment.unit or "burstiness")
    axes.flat[0].legend(frameon=False, fontsize="small")
    figure.suptitle(experiment.title, fontsize="medium")
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
