"""`./run soak [--host embedded|spark] [--minutes M] [--history H]`: a steady load; fails if anything grows, or an answer is wrong.

The first five minutes, or the first sixth of a shorter run, are for warming up. What counts as growth is said in `trend.py`.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from soak.load import VIEWS, Load, Tick
from soak.trend import Room, Trend, table, trends

WARM_UP = 300.0  # seconds, at most
SAMPLES = 900  # about, in a run
CHECKS = 60  # about, in a run; at least one every 30 seconds


class Host(Protocol):
    """Where the load runs."""

    rooms: Mapping[str, Room]
    pause: float

    def tick(self, tick: Tick) -> None: ...

    def measure(self) -> dict[str, float]: ...

    def check(self, load: Load, view: str) -> None: ...

    def close(self) -> None: ...


@dataclass
class Soaked:
    """What came of it."""

    samples: list[dict[str, float]] = field(default_factory=list)
    trends: list[Trend] = field(default_factory=list)
    ticks: int = 0
    checks: int = 0

    @property
    def grows(self) -> list[str]:
        return [each.name for each in self.trends if each.grows]


def soak(host: Host, seconds: float, tell: Callable[[str], None], also: Callable[[], None] = lambda: None) -> Soaked:
    """Run the load for so long; `also` is called at every tick."""
    load, soaked, chance = Load(), Soaked(), random.Random(1)
    began = time.monotonic()
    warm, every = began + min(WARM_UP, seconds / 6), seconds / SAMPLES
    sampled, checked, told = began, began, began
    while (now := time.monotonic()) < began + seconds:
        host.tick(load.tick())
        also()
        soaked.ticks += 1
        if now >= warm and now - sampled >= every:
            sampled = now
            soaked.samples.append(host.measure())
        if now - checked >= min(30.0, seconds / CHECKS * 10):
            checked = now
            host.check(load, chance.choice(list(VIEWS)))
            soaked.checks += 1
        if now - told >= 10 and soaked.samples:
            told = now
            tell(f"{now - began:6.0f} s  " + ", ".join(f"{name} {value:.1f}" for name, value in soaked.samples[-1].items()))
        time.sleep(max(0.0, host.pause - (time.monotonic() - now)))
    soaked.trends = trends(soaked.samples, host.rooms)
    return soaked


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="./run soak", description=__doc__)
    parser.add_argument("--host", choices=("embedded", "spark"), default="embedded")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--history", default="2 MINUTES", help="how much of the changes is kept: all, none, a time, a size")
    asked = parser.parse_args(words)
    host = _host(asked.host, asked.history)
    try:
        soaked = soak(host, 60 * asked.minutes, lambda line: print(line, flush=True))
    finally:
        host.close()
    print(f"{soaked.ticks} ticks, {len(soaked.samples)} samples, {soaked.checks} answers as DuckDB's")
    print(table(soaked.trends))
    print("nothing grows" if not soaked.grows else f"grows: {', '.join(soaked.grows)}")
    return bool(soaked.grows)


def _host(name: str, history: str) -> Host:
    if name == "embedded":
        from soak.embedded import Embedded

        return Embedded(history)
    from soak.on_spark import OnSpark

    return OnSpark(history)


if __name__ == "__main__":
    sys.exit(main())
