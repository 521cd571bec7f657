"""What was measured: values by setting, system and turn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from sash.errors import SashError


class Setting(Protocol):
    """One point of a sweep. Its text names it, and no other."""

    def __str__(self) -> str: ...


Values = Mapping[str, float]  # by measure


@dataclass(frozen=True)
class Cell:
    """One series of values: of a system in a setting, by some measure."""

    setting: str
    system: str
    measure: str

    def of(self, system: str) -> Cell:
        return replace(self, system=system)

    def told_beside(self, other: Cell) -> str:
        """How a ratio of the two is called: what differs, then where."""
        mine = [part for part, its in zip(self._parts, other._parts, strict=True) if part != its]
        its = [part for part, mine_ in zip(other._parts, self._parts, strict=True) if part != mine_]
        both = [part for part, its_ in zip(self._parts, other._parts, strict=True) if part == its_]
        return f"{', '.join(mine)} / {', '.join(its)} ({', '.join(both)})"

    @property
    def _parts(self) -> tuple[str, str, str]:
        return self.system, self.setting, self.measure


@dataclass(frozen=True)
class Measured:
    """One run: a system, once, in one turn."""

    setting: str
    system: str
    turn: int
    values: Values


class Table:
    """All runs of a figure. Turns that lack a system of some setting are not in it."""

    def __init__(self, runs: Iterable[Measured]) -> None:
        self._runs: dict[tuple[str, str], dict[int, Values]] = {}
        for run in runs:
            self._runs.setdefault((run.setting, run.system), {})[run.turn] = run.values

    def has(self, setting: str, system: str) -> bool:
        return (setting, system) in self._runs

    def measures(self, setting: str, system: str) -> Sequence[str]:
        return list(next(iter(self._runs[setting, system].values())))

    def series(self, cell: Cell) -> list[float]:
        """The values of all turns, in their order."""
        return list(self._by_turn(cell).values())

    def ratios(self, first: Cell, second: Cell) -> list[float]:
        """Turn by turn."""
        ours, theirs = self._by_turn(first), self._by_turn(second)
        return [value / theirs[turn] for turn, value in ours.items() if turn in theirs]

    def _by_turn(self, cell: Cell) -> dict[int, float]:
        try:
            runs = self._runs[cell.setting, cell.system]
            return {turn: runs[turn][cell.measure] for turn in sorted(runs)}
        except KeyError:
            raise SashError(f"nothing measured for {cell}", f"there are: {', '.join(map(str, self._runs))}") from None
