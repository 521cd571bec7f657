"""`sash bench`: measure, and tell the ratios first."""

from __future__ import annotations

import statistics

from rich.console import Console
from rich.table import Table

from sash.bench.pipeline import JOBS, Measured, measure_memory, measure_ratio


def bench_pipeline(rows: int, repeat: int) -> None:
    console = Console()
    table = Table(title=f"Spark pipeline, {2 * rows:,} rows, {repeat} runs each, in turns", title_justify="left")
    for column in ("job", "of identity", "sash rows/s", "identity rows/s", "changes"):
        table.add_column(column, justify="left" if column == "job" else "right")
    for name in JOBS:
        with console.status(name):
            measured = measure_ratio(name, rows, repeat)
        table.add_row(name, f"{measured.ratio:.2f}", *_rates(measured), f"{measured.changes:,}")
    console.print(table)
    with console.status("memory"):
        memory = measure_memory(rows)
    console.print(f"windows of {rows:,} rows per side: {memory / 1e9:.2f} GB (PSS) in all Python workers together")


def _rates(measured: Measured) -> list[str]:
    return [
        f"{statistics.median(rates):,.0f} ({min(rates):,.0f} to {max(rates):,.0f})"
        for rates in (measured.sash, measured.identity)
    ]
