"""The engine against a bare loop, over windows of a minute that move by growing slides.

Measured as `windows` is. The larger the slide, the more rows come and leave at one instant, and the fewer changes a row has: a
group that many of them belong to changes once. Both put the changes of an instant in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.bare.slide import CELLS, bare_group_slide
from benchmarks.engine import MINUTE
from benchmarks.report import Options, Report
from benchmarks.windows import COUNT_AND_SUM, FIGURES, Measured, measure

SLIDES = (1, 10, 100, 1_000, 10_000, 60_000)  # rows
ROWS, QUICK_ROWS = 1_000_000, 300_000

QUERY = replace(COUNT_AND_SUM, loop=bare_group_slide, cells=CELLS)


def run(options: Options) -> list[Report]:
    rows, repeat = options.rows or (QUICK_ROWS if options.quick else ROWS), options.repeat or (2 if options.quick else 5)
    measured: list[tuple[int, Measured]] = []
    for slide in SLIDES:
        options.say(f"{QUERY.name}, a slide of {slide:,} rows")
        measured.append((slide, measure(replace(QUERY, slide=slide), MINUTE, repeat, rows)))
    lines = [[f"{slide:,}", *one.figures] for slide, one in measured]
    title = f"Engine against bare loop over growing slides, windows of 60,000 rows, CPU time, {repeat} runs each, in turns"
    numbers = [{"slide": slide, **one.numbers} for slide, one in measured]
    return [Report(title, ("slide", *FIGURES), lines, numbers, draw=lambda path: draw(measured, path))]


def draw(measured: Sequence[tuple[int, Measured]], path: Path) -> None:
    from benchmarks.figure import draw as draw_panels

    draw_panels([replace(one, window=slide) for slide, one in measured], path, "rows in a slide")
