"""Seed 001."""

from __future__ import annotations

from experiments.figure import Paper
from experiments.shared_joins import (
    buffers,
    bursts,
    fig2b,
    fig3b,
    fig5,
    fig6,
    fig7,
    fig8,
    fig9,
    join,
    kernels,
    settings,
    streams,
)
from sash.operators.shared_join import throughput


def prepare() -> None:
    settings.prepare()
    bursts.prepare()


PAPER = Paper(
    "001", "Scheduling for shared window joins over data streams (VLDB 2003)",
    (kernels, throughput, streams, join, settings, bursts),
    tuple(module.FIGURE for module in (fig2b, fig3b, fig5, fig6, fig7, fig8, fig9, buffers)), prepare,
)  # fmt: skip
