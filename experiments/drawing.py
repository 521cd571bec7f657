"""Pictures of figures: a panel for each part, medians of the turns, thin lines from the least to the greatest."""

from __future__ import annotations

import io
import math
import re
import statistics
from pathlib import Path
from typing import Any

from benchmarks.bars import COLOURS
from experiments.figure import Figure, Line, Panel
from experiments.running import Finished
from experiments.tables import Table
from sash.errors import SashError

COLUMNS = 2
MARKERS = "osD^vPX*<>"


def need_matplotlib() -> None:
    try:
        import matplotlib
    except ImportError:
        raise SashError("figures need matplotlib", "install it with: pip install matplotlib") from None
    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "sash", "font.size": 9})


def picture(done: Finished) -> Any:
    """A figure of matplotlib."""
    from matplotlib import pyplot

    panels = done.figure.panels(done.is_quick)
    columns = min(COLUMNS, len(panels))
    rows = math.ceil(len(panels) / columns)
    figure, axes = pyplot.subplots(rows, columns, figsize=(4.9 * columns, 3.3 * rows), squeeze=False, layout="constrained")
    for axis, panel in zip(axes.flat, panels, strict=False):
        _draw(axis, panel, done.table, _looks(done.figure))
    for axis in axes.flat[len(panels) :]:
        axis.set_axis_off()
    return figure


def svg(done: Finished) -> str:
    """As text for a page."""
    from matplotlib import pyplot

    figure, text = picture(done), io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    pyplot.close(figure)
    found = text.getvalue()
    return _own_names(found[found.index("<svg") :], done.figure.number)


def _own_names(text: str, prefix: str) -> str:
    """Names in a picture, and what refers to them: several pictures are on one page."""
    text = re.sub(r'\bid="', f'id="{prefix}-', text)
    return re.sub(r'(href="#|url\(#)', rf"\g<1>{prefix}-", text)


def png(done: Finished, path: Path) -> None:
    from matplotlib import pyplot

    figure = picture(done)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def _looks(figure: Figure) -> dict[str, tuple[str, str]]:
    """Colour and marker of every system, the same in all panels. A formula has none."""
    systems = [system for system in figure.systems if not system.endswith(", formula")]
    return {system: (COLOURS[n % len(COLOURS)], MARKERS[n % len(MARKERS)]) for n, system in enumerate(systems)}


def _draw(axis: Any, panel: Panel, table: Table, looks: dict[str, tuple[str, str]]) -> None:
    are_bars = any(isinstance(x, str) for line in panel.lines for x, _ in line.points)
    (_bars if are_bars else _lines)(axis, panel, table, looks)
    axis.set(title=panel.title, xlabel=panel.x, ylabel=panel.y)
    if panel.is_log:
        axis.set_yscale("log")
    if panel.is_log_x:
        axis.set_xscale("log")
    axis.grid(True, which="major", axis="y", alpha=0.3)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=4, columnspacing=1.2)


def _spans(line: Line, table: Table) -> tuple[list[float], list[list[float]]]:
    runs = [table.series(cell) for _, cell in line.points]
    medians = [statistics.median(values) for values in runs]
    pairs = list(zip(medians, runs, strict=True))
    return medians, [[median - min(values) for median, values in pairs], [max(values) - median for median, values in pairs]]


def _lines(axis: Any, panel: Panel, table: Table, looks: dict[str, tuple[str, str]]) -> None:
    for line in panel.lines:
        medians, spans = _spans(line, table)
        xs = [x for x, _ in line.points]
        if line.is_expected:
            axis.plot(xs, medians, color="#222222", linestyle=":", label=line.label, zorder=5)
        else:
            colour, marker = looks[line.label]
            look = {"color": colour, "marker": marker, "markersize": 4, "capsize": 2, "linewidth": 1.2}
            axis.errorbar(xs, medians, yerr=spans, label=line.label, **look)


def _bars(axis: Any, panel: Panel, table: Table, looks: dict[str, tuple[str, str]]) -> None:
    names = list(dict.fromkeys(x for line in panel.lines for x, _ in line.points))
    width = 0.84 / len(panel.lines)
    for number, line in enumerate(panel.lines):
        medians, spans = _spans(line, table)
        places = [names.index(x) + (number + 0.5) * width - 0.42 for x, _ in line.points]
        colour, _ = looks[line.label]
        thin = {"linewidth": 0.8, "capsize": 1.5}
        axis.bar(places, medians, 0.92 * width, yerr=spans, color=colour, label=line.label, error_kw=thin)
    axis.set_xticks(range(len(names)), names, fontsize="small")
