"""A picture of the windows benchmark: cost of a row over the size of the window, one panel a query."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

from benchmarks.windows import Measured

COLUMNS = 4
LINES = (("engine", "#1f5fa8", "o"), ("bare", "#9a9a9a", "s"))
NAMES = {"engine": "Sash", "bare": "bare loop"}


def draw(measured: Sequence[Measured], path: Path, label: str = "rows in the window") -> None:
    """Both axes are logarithmic; a bar spans all runs."""
    from matplotlib import pyplot

    queries = list(dict.fromkeys(one.query for one in measured))
    columns = min(COLUMNS, len(queries))
    rows = -(-len(queries) // columns)
    figure, axes = pyplot.subplots(
        rows, columns, figsize=(3.1 * columns, 2.7 * rows), sharex=True, sharey=True, squeeze=False, layout="constrained"
    )
    for axis, query in zip(axes.flat, queries, strict=False):
        _panel(axis, query, [one for one in measured if one.query == query])
    for axis in axes.flat[len(queries) :]:
        axis.set_axis_off()
    handles, labels = axes.flat[0].get_legend_handles_labels()
    has_room = len(queries) < rows * columns
    where = {"loc": "center"} if has_room else {"loc": "upper left", "fontsize": "small"}
    axes.flat[len(queries) if has_room else 0].legend(handles, labels, frameon=False, **where)
    figure.supxlabel(label, fontsize="medium")
    figure.supylabel("nanoseconds of CPU a row", fontsize="medium")
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


def _panel(axis: object, query: str, measured: Sequence[Measured]) -> None:
    sizes = [one.window for one in measured]
    for name, colour, marker in LINES:
        runs = [getattr(one, name) for one in measured]
        medians = [statistics.median(values) for values in runs]
        pairs = list(zip(medians, runs, strict=True))
        spans = [[m - min(v) for m, v in pairs], [max(v) - m for m, v in pairs]]
        axis.errorbar(sizes, medians, yerr=spans, color=colour, marker=marker, markersize=4, capsize=2, label=NAMES[name])  # type: ignore[attr-defined]
    axis.set(xscale="log", yscale="log", title=query, ylim=(5, 2000))  # type: ignore[attr-defined]
    axis.grid(True, which="major", alpha=0.3)  # type: ignore[attr-defined]
