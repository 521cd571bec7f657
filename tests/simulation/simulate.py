"""Many seeds: `./run simulate [--runs N] [--seconds S] [--seed K]`.

A seed is a workload and its faults. Every run must end with what the same workload gives without faults, byte for byte; where the
store itself did damage, it may end in a clear refusal.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache

from simulation.faults import CRASHES, DAMAGE, OF_BUCKETS, Fault
from simulation.playing import Outcome, Player, difference
from simulation.workload import Workload, make_workload
from simulation.world import Wrong

SEEDS_A_WORKLOAD = 10


@dataclass
class Summary:
    """What many runs came to."""

    runs: int = 0
    with_faults: int = 0
    exact: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    faults: Counter[Fault] = field(default_factory=Counter)
    restarts: int = 0
    operations: int = 0
    wrong: dict[int, str] = field(default_factory=dict)

    def add(self, seed: int, outcome: Outcome | None, wrong: str | None) -> None:
        self.runs += 1
        if outcome is not None:
            self.with_faults += bool(outcome.faults)
            self.faults += outcome.faults
            self.refusals += outcome.refusals
            self.restarts += outcome.restarts
            self.operations += outcome.operations
        if wrong is not None:
            self.wrong[seed] = wrong
        elif outcome is not None and outcome.refused is not None:
            self.refused[outcome.refused[:100]] += 1
        else:
            self.exact += 1

    def __str__(self) -> str:
        lines = [
            f"{self.runs} runs, {self.with_faults} of them with faults: {self.exact} exact, {sum(self.refused.values())} refused, "
            f"{len(self.wrong)} wrong",
            f"{self.operations} operations of the store, {self.restarts} restarts",
        ]
        for title, counted in (("faults", self.faults), ("refused for good", self.refused), ("refusals on the way", self.refusals)):
            lines += [f"{title}:"] * bool(counted)
            lines += [f"  {count:6d}  {getattr(what, 'value', what)}" for what, count in counted.most_common(20)]
        return "\n".join(lines)


@lru_cache(maxsize=4)
def undisturbed(workload: int) -> Outcome:
    return Player(make_workload(workload), workload, 0, ()).play()


def kinds_of(seed: int, workload: Workload) -> tuple[Fault, ...]:
    """Every third run meets damage too."""
    damage = tuple(kind for kind in DAMAGE if kind not in OF_BUCKETS or not workload.is_on_disk)
    return CRASHES + damage if seed % 3 == 2 else CRASHES


def play(seed: int, kinds: tuple[Fault, ...] | None = None) -> tuple[Outcome | None, str | None]:
    """The outcome of a seed, and what is wrong with it; with faults of these kinds alone if they are told."""
    number = seed // SEEDS_A_WORKLOAD
    expected = undisturbed(number)
    workload = make_workload(number)
    player = Player(workload, seed, expected.operations, kinds or kinds_of(seed, workload))
    try:
        outcome = player.play()
    except (Exception, Wrong) as failure:
        import traceback

        return player.outcome, f"{failure!r}\n{traceback.format_exc()}"
    if outcome.refused is not None:
        return outcome, None if outcome.is_damaged else f"refused though nothing was damaged: {outcome.refused}"
    return outcome, difference(expected, outcome)


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="./run simulate", description=__doc__)
    parser.add_argument("--runs", type=int, default=1000, help="how many seeds")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--seed", type=int, help="one seed alone, told in full")
    parser.add_argument("--from", dest="first", type=int, default=0, help="the first seed")
    asked = parser.parse_args(words)
    if asked.seed is not None:
        return show(asked.seed)
    summary, began, told = Summary(), time.monotonic(), time.monotonic()
    for seed in range(asked.first, asked.first + asked.runs):
        outcome, wrong = play(seed)
        summary.add(seed, outcome, wrong)
        if wrong is not None:
            print(f"seed={seed}: {wrong}", *(outcome.log if outcome is not None else ()), sep="\n  ", flush=True)
        now = time.monotonic()
        if now - told > 10:
            told = now
            print(f"{summary.runs} runs, {len(summary.wrong)} wrong, {1000 * (now - began) / summary.runs:.0f} ms each", flush=True)
        if now - began > asked.seconds:
            break
    print(summary)
    for seed in summary.wrong:
        print(f"again: ./run simulate --seed {seed}")
    return bool(summary.wrong)


def show(seed: int) -> int:
    outcome, wrong = play(seed)
    for action in make_workload(seed // SEEDS_A_WORKLOAD).actions:
        print(action)
    print("\n".join(outcome.log if outcome is not None else ()))
    print(f"seed={seed}: {wrong or ('refused: ' + outcome.refused if outcome is not None and outcome.refused else 'exact')}")
    return wrong is not None


if __name__ == "__main__":
    sys.exit(main())
