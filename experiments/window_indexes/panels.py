"""Bars for every number of basic windows, one panel for every number of values."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.figure import Line, Panel
from experiments.window_indexes.settings import COST, Window


def panels(windows: Sequence[Window], systems: Sequence[str], measure: str = COST, is_log: bool = True) -> list[Panel]:
    groups = dict.fromkeys((window.values, window.law) for window in windows)
    made = []
    for values, law in groups:
        shown = [one for one in windows if one.values == values and one.law == law]
        lines = [Line(system, [(str(one.windows), one.cell(system, measure)) for one in shown]) for system in systems]
        made.append(Panel(f"{values:,} values, {law}", "basic windows", measure, lines, is_log=is_log))
    return made
