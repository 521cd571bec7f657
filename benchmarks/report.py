"""What a benchmark is told, and what it gives: a table to print, numbers to keep, a figure to draw."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path


def quiet(what: str) -> None:
    """Nobody is told."""


@dataclass(frozen=True)
class Options:
    """What the command was told. `rows` of a stream and `repeat` are None where the benchmark shall choose."""

    quick: bool = False
    rows: int | None = None
    repeat: int | None = None
    peers: tuple[str, ...] = ()
    connections: Path | None = None  # a log of real connections, for patterns
    say: Callable[[str], None] = quiet  # what is being measured now


@dataclass(frozen=True)
class Report:
    """One table. The first column is text, the others are numbers; ratios come before absolute figures."""

    title: str
    columns: Sequence[str]
    lines: Sequence[Sequence[str]]
    numbers: Sequence[dict[str, object]]  # all that was measured, for the JSON file
    notes: Sequence[str] = ()
    draw: Callable[[Path], None] | None = field(default=None, compare=False)  # writes a PNG

    def markdown(self) -> str:
        head = ["| " + " | ".join(self.columns) + " |", "|---" + "|---:" * (len(self.columns) - 1) + "|"]
        body = ["| " + " | ".join(line) + " |" for line in self.lines]
        return "\n".join([f"## {self.title}", "", *head, *body, *(f"\n{note}" for note in self.notes), ""])


def span(values: Sequence[float], form: str = ",.0f") -> str:
    """The median of some runs, and from where to where they go."""
    return f"{statistics.median(values):{form}} ({min(values):{form}} to {max(values):{form}})"
