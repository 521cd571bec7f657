"""What counts as growth.

What is measured after the warm-up is cut into three parts of equal length. A measure grows if the median of the last part is above
that of the first by more than it may vary, and it rose on the whole way: a tenth of the rise at least from the first part to the
second, a quarter at least from there to the last. So neither a single spike nor an array that doubled once is taken for a leak, and
a slow leak is found by running longer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Room:
    """By how much a measure may vary: a share of what it is, and so much anyway."""

    share: float
    least: float

    def of(self, value: float) -> float:
        return max(self.share * value, self.least)


@dataclass(frozen=True)
class Trend:
    """The medians of the three parts of a run."""

    name: str
    parts: tuple[float, float, float]
    room: Room

    @property
    def rise(self) -> float:
        return self.parts[2] - self.parts[0]

    @property
    def grows(self) -> bool:
        first, second, third = self.parts
        is_steady = second - first >= self.rise / 10 and third - second >= self.rise / 4
        return self.rise > self.room.of(first) and is_steady


def trend(name: str, values: Sequence[float], room: Room) -> Trend:
    third = len(values) // 3
    if third == 0:
        raise ValueError(f"{name}: three values at least make a trend, and there are {len(values)}")
    parts = values[:third], values[third : 2 * third], values[2 * third :]
    first, second, last = (float(median(part)) for part in parts)
    return Trend(name, (first, second, last), room)


def table(trends: Sequence[Trend]) -> str:
    lines = [f"{'':28s}{'first third':>14s}{'second':>14s}{'last':>14s}{'may rise by':>14s}"]
    for each in trends:
        numbers = "".join(f"{part:14.2f}" for part in each.parts)
        lines.append(f"{each.name:28s}{numbers}{each.room.of(each.parts[0]):14.2f}{'   GROWS' if each.grows else ''}")
    return "\n".join(lines)


def trends(samples: Sequence[Mapping[str, float]], rooms: Mapping[str, Room]) -> list[Trend]:
    """Of every measure that may not grow."""
    return [trend(name, [sample[name] for sample in samples], room) for name, room in rooms.items() if name in samples[0]]
