"""Many seeds: `./run fuzz [--statements N] [--seed S] [--jobs J] [--threads] [--bounds]`.

A seed is a statement and rows. Every try ends with an answer or a SashError within two seconds of CPU; at least half of the
statements are valid. `--bounds` checks every index of a compiled kernel, `--threads` pushes and reads from two threads at once.
Kernels are compiled, or loaded, before the first try.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from queue import Empty, Queue
from threading import Thread

from fuzz import signatures
from fuzz.trying import BROKEN, MOST_SECONDS, REFUSED, SLOW, VALID, WRONG, Outcome, attempt, sql_of
from sash.warm import QUERIES, play

HANGS = 120.0  # seconds without a word from a worker: it is ended
BAD = (BROKEN, SLOW, WRONG)


@dataclass
class Summary:
    """What many tries came to."""

    kinds: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    bad: list[Outcome] = field(default_factory=list)
    slowest: list[Outcome] = field(default_factory=list)
    compared: int = 0

    def add(self, outcome: Outcome) -> None:
        self.kinds[outcome.kind] += 1
        self.compared += outcome.compared
        if outcome.kind == REFUSED:
            self.refusals[_general(outcome.told)] += 1
        if outcome.kind in BAD:
            self.bad.append(outcome)
        self.slowest = sorted([*self.slowest, outcome], key=lambda one: -one.seconds)[:5]

    @property
    def count(self) -> int:
        return sum(self.kinds.values())

    @property
    def valid_share(self) -> float:
        return (self.count - self.kinds[REFUSED] - self.kinds[BROKEN]) / max(1, self.count)

    def __str__(self) -> str:
        kinds = ", ".join(f"{self.kinds[kind]} {kind}" for kind in (VALID, REFUSED, *BAD))
        lines = [f"{self.count} statements: {kinds}; {self.valid_share:.0%} are valid, {self.compared} compared with DuckDB"]
        lines += ["refused most often:", *(f"{count:6}  {told}" for told, count in self.refusals.most_common(12))]
        lines += ["slowest:", *(f"{one.seconds:6.2f} s  seed {one.seed}  {one.sql[:90]!r}" for one in self.slowest)]
        for one in self.bad[:20]:
            lines += ["", f"{one.kind}: seed {one.seed}, {one.seconds} s", one.sql[:2000], one.told[-2500:]]
        return "\n".join(lines)


def _general(told: str) -> str:
    """A message without the names and numbers in it."""
    return " ".join("…" if any(mark in word for mark in "\"'0123456789") else word for word in told.split())[:90]


def work(first: int, step: int, count: int, threads: bool) -> None:
    """A worker: tries its seeds and tells of each in a line."""
    for query in QUERIES:  # kernels are compiled, or loaded, before anything is measured
        play(query)
    signatures.of_each()
    for seed in range(first, first + step * count, step):
        print(json.dumps({"begins": seed}), flush=True)
        print(json.dumps(attempt(seed, threads).data()), flush=True)


class Workers:
    """Processes that try every seed once; one that hangs or dies is told of, and another goes on after its seed."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._told: Queue[Outcome | None] = Queue()

    def outcomes(self) -> Iterator[Outcome]:
        jobs = self._options.jobs
        threads = [Thread(target=self._follow, args=(number,), daemon=True) for number in range(jobs)]
        for thread in threads:
            thread.start()
        ended = 0
        while ended < jobs:
            outcome = self._told.get()
            if outcome is None:
                ended += 1
            else:
                yield outcome

    def _follow(self, number: int) -> None:
        jobs, last = self._options.jobs, self._options.seed + self._options.statements
        seed = self._options.seed + number
        while seed < last:
            seed = self._run(seed, (last - seed + jobs - 1) // jobs)
        self._told.put(None)

    def _run(self, seed: int, count: int) -> int:
        """Follow a process until its end; the seed to go on with."""
        jobs = self._options.jobs
        words = [sys.executable, "-X", "faulthandler", "-m", "fuzz.fuzz", "--worker", f"{seed},{jobs},{count}", *["--threads"] * self._options.threads]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ))
        lines: Queue[str] = Queue()
        assert process.stdout is not None
        Thread(target=lambda: ([lines.put(line) for line in process.stdout or ()] and lines.put("")) or lines.put(""), daemon=True).start()
        current, told = seed, 0
        while True:
            try:
                line = lines.get(timeout=HANGS if told else 20 * HANGS)
            except Empty:
                process.kill()
                self._told.put(Outcome(current, SLOW, sql_of(current), "no word for a long time", HANGS))
                return current + jobs
            if not line:
                break
            found = json.loads(line)
            if "begins" in found:
                current, told = found["begins"], told + 1
            else:
                self._told.put(Outcome(**found))
        _, errors = process.communicate()
        if process.returncode:
            self._told.put(Outcome(current, BROKEN, sql_of(current), f"the process ended with {process.returncode}\n{errors[-2000:]}"))
            return current + jobs
        return seed + jobs * count


def main() -> int:
    parser = argparse.ArgumentParser(prog="./run fuzz", description="Random statements and rows, by seed.")
    parser.add_argument("--statements", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--threads", action="store_true")
    parser.add_argument("--bounds", action="store_true")
    parser.add_argument("--show", action="store_true", help="only try one seed, and show it")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        first, step, count = map(int, options.worker.split(","))
        work(first, step, count, options.threads)
        return 0
    if options.bounds:
        os.environ["NUMBA_BOUNDSCHECK"] = "1"
        os.environ.setdefault("NUMBA_CACHE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), ".checked-kernels"))
    if options.show:
        found = attempt(options.seed, options.threads)
        print(found.sql, found.kind, found.told, f"{found.seconds} s", sep="\n")
        return found.kind in BAD
    return _run_all(options)


def _run_all(options: argparse.Namespace) -> int:
    summary, begun = Summary(), time.monotonic()
    for outcome in Workers(options).outcomes():
        summary.add(outcome)
        if outcome.kind in BAD:
            print(f"{outcome.kind}: seed {outcome.seed}: {outcome.told.splitlines()[0] if outcome.told else ''}", flush=True)
        if summary.count % 500 == 0:
            print(f"[{time.monotonic() - begun:5.0f} s] {summary.count} statements, {summary.valid_share:.0%} valid, {len(summary.bad)} bad", flush=True)
    print(summary)
    is_enough = summary.valid_share >= 0.5 or summary.count < 100
    return 0 if not summary.bad and is_enough and summary.slowest[0].seconds <= MOST_SECONDS else 1


if __name__ == "__main__":
    sys.exit(main())
