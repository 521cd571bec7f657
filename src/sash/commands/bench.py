"""`sash bench`: measure, and tell the ratios first."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from sash.bench import pipeline, windows

QUICK_ROWS = 100_000


@dataclass(frozen=True)
class BenchOptions:
    """What the command was told."""

    rows: int
    repeat: int
    quick: bool
    json: Path | None
    figure: Path | None


def bench(names: Sequence[str], options: BenchOptions) -> None:
    """Run the named benchmarks."""
    console = Console()
    found: dict[str, list[dict[str, object]]] = {}
    if "windows" in names:
        measured = bench_windows(console, options)
        found["windows"] = [{**asdict(one), "ratio": one.ratio} for one in measured]
        if options.figure is not None:
            from sash.bench.figure import draw

            draw(measured, options.figure)
    if "pipeline" in names:
        found["pipeline"] = [{**asdict(one), "ratio": one.ratio} for one in bench_pipeline(console, options)]
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=2) + "\n")


def bench_windows(console: Console, options: BenchOptions) -> list[windows.Measured]:
    sizes = windows.SIZES[:-1] if options.quick else windows.SIZES
    table = Table(title="Engine against bare loop, nanoseconds of CPU a row (least to most)", title_justify="left")
    for column in ("query", "window", "ratio", "engine", "bare loop", "changes/row"):
        table.add_column(column, justify="left" if column == "query" else "right")
    result = []
    for query in windows.QUERIES:
        for size in sizes:
            with console.status(f"{query.name}, {size:,} rows"):
                one = windows.measure(query, size, options.repeat)
            spans = [_span(one.engine, ".0f"), _span(one.bare, ".0f")]
            table.add_row(one.query, f"{size:,}", f"{one.ratio:.2f}", *spans, f"{one.changes / one.rows:.1f}")
            result.append(one)
        table.add_section()
    console.print(table)
    return result


def bench_pipeline(console: Console, options: BenchOptions) -> list[pipeline.Measured]:
    rows = QUICK_ROWS if options.quick else options.rows
    table = Table(title=f"Spark pipeline, {2 * rows:,} rows, {options.repeat} runs each, in turns", title_justify="left")
    for column in ("job", "of identity", "sash rows/s", "identity rows/s", "changes"):
        table.add_column(column, justify="left" if column == "job" else "right")
    result = []
    for name in pipeline.JOBS:
        with console.status(name):
            one = pipeline.measure_ratio(name, rows, options.repeat)
        table.add_row(name, f"{one.ratio:.2f}", _span(one.sash), _span(one.identity), f"{one.changes:,}")
        result.append(one)
    console.print(table)
    with console.status("memory"):
        memory = pipeline.measure_memory(rows)
    console.print(f"windows of {rows:,} rows per side: {memory / 1e9:.2f} GB (PSS) in all Python workers together")
    return result


def _span(values: Sequence[float], form: str = ",.0f") -> str:
    return f"{statistics.median(values):{form}} ({min(values):{form}} to {max(values):{form}})"
