"""Seed 002."""

from __future__ import annotations

from experiments.figure import Paper
from experiments.window_indexes import fig7, fig8, fig9, settings, stores, table1
from experiments.window_indexes.kernels import basic_windows, groups, index, rings, sorting

PAPER = Paper(
    "002", "On indexing sliding windows over on-line data streams (EDBT 2004)",
    (index, basic_windows, groups, rings, sorting, stores, settings),
    (table1.FIGURE, fig7.A, fig7.B, fig8.A, fig8.B, fig9.A, fig9.B), settings.prepare,
)  # fmt: skip
