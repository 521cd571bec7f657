"""What a figure of a paper is: a sweep, systems, panels to draw, claims to judge; and what a paper is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from experiments.claims import Claim
from experiments.tables import Cell, Values


@dataclass(frozen=True)
class Line:
    """What is drawn as one line, or as bars of one colour: an x and a cell for each of its points."""

    label: str
    points: Sequence[tuple[float | str, Cell]]
    is_expected: bool = False  # a formula: dotted


@dataclass(frozen=True)
class Panel:
    """One part of a figure. With texts for x its lines are bars."""

    title: str
    x: str
    y: str
    lines: Sequence[Line]
    is_log: bool = False
    is_log_x: bool = False


@dataclass(frozen=True)
class Figure:
    """`measure` runs one system in one setting; the turn is the seed of its input. What `settings`, `panels` and `claims` are
    given is whether it is a quick run."""

    number: str  # as in the command: fig7
    title: str
    what: str  # how it is set up
    systems: tuple[str, ...]
    settings: Callable[[bool], Sequence[Any]]
    measure: Callable[[Any, str, int], Values]
    panels: Callable[[bool], Sequence[Panel]]
    claims: Callable[[bool], Sequence[Claim]]
    turns: int = 5
    quick_turns: int = 3
    runs: Callable[[Any, str], bool] = lambda setting, system: True  # whether a system is run in a setting


@dataclass(frozen=True)
class Paper:
    """A paper by the number of its seed. What was measured is kept until one of the sources changes that measure it; claims
    may."""

    number: str
    title: str
    sources: tuple[ModuleType, ...]
    figures: tuple[Figure, ...]
    prepare: Callable[[], None]  # compiles what would else be compiled in the first turn
