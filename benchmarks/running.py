"""`./run bench`: measure, print tables with the ratios first, keep numbers, tables and figures in a folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.status import Status
from rich.table import Table

from benchmarks.registry import Benchmark
from benchmarks.report import Options, Report
from sash.errors import SashError


def bench(benchmarks: Sequence[Benchmark], options: Options, out: Path) -> None:
    """Run benchmarks one after the other; what is measured is kept as soon as it is there."""
    console = Console()
    out.mkdir(parents=True, exist_ok=True)
    found: dict[str, list[Report]] = {}
    for benchmark in benchmarks:
        with console.status(benchmark.name) as status:
            say = partial(_say, status, benchmark.name)
            for report in benchmark.run(replace(options, say=say)):
                widths = _widths(report)
                console.width = max(console.width, 1 + sum(3 + width for width in widths))
                console.print(_table(report, widths))
                for note in report.notes:
                    console.print(note)
                found.setdefault(benchmark.name, []).append(report)
                _keep(found, out)
                _draw(report, benchmark.name, found[benchmark.name], out)
    console.print(f"numbers, tables and figures: {out}")


def _say(status: Status, name: str, what: str) -> None:
    status.update(f"{name}: {what}")


def _table(report: Report, widths: Sequence[int]) -> Table:
    table = Table(title=report.title, title_justify="left")
    for place, (column, width) in enumerate(zip(report.columns, widths, strict=True)):
        table.add_column(column, justify="right" if place else "left", width=width)
    for line in report.lines:
        table.add_row(*line)
    return table


def _widths(report: Report) -> list[int]:
    """What every column needs for no number to be cut off: where nobody looks at a screen, rich takes it for a narrow one."""
    cells = [(max(column.split(), key=len), *line) for column, *line in zip(report.columns, *report.lines, strict=True)]
    return [max(map(len, column)) for column in cells]


def _keep(found: dict[str, list[Report]], out: Path) -> None:
    numbers = {name: [line for report in reports for line in report.numbers] for name, reports in found.items()}
    (out / "numbers.json").write_text(json.dumps(numbers, indent=2) + "\n")
    (out / "tables.md").write_text("\n".join(report.markdown() for reports in found.values() for report in reports))


def _draw(report: Report, name: str, reports: Sequence[Report], out: Path) -> None:
    """The figures of a benchmark are numbered from its second on."""
    if report.draw is not None:
        _need_matplotlib()
        number = sum(one.draw is not None for one in reports)
        report.draw(out / (f"{name}.png" if number == 1 else f"{name}-{number}.png"))


def _need_matplotlib() -> None:
    try:
        import matplotlib
    except ImportError:
        raise SashError("figures need matplotlib", "install it with: pip install matplotlib") from None
    matplotlib.use("Agg")
