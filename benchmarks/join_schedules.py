"""Schedules of a shared join after a burst: when answers over each window are there, and what that costs.

Eight joins over 1 to 600 s, windows full, then a burst in one push of each stream. Schedules go on in turns, each in a database
of its own; milliseconds of CPU of the pushes of a burst, and the mean response of the rows of a window, from when the join took
the burst to when it gave them, on the clock of the wall. A ratio is that of one turn.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

from benchmarks.engine import SECONDS
from benchmarks.public import FILLING, Public, Step, steps, strict_input
from benchmarks.report import Options, Report, span
from benchmarks.shared_joins import LONGEST, workload
from sash.operators.shared_join.operator import SharedJoin
from sash.operators.shared_join.schedules import ONE_PASS, SCHEDULES

WAYS = (ONE_PASS, *SCHEDULES)
BURST = 40_000  # rows of a stream
TURNS, QUICK_TURNS = 7, 3
USUAL = 2_000  # rows of a stream in a push between two bursts
BETWEEN = 8  # so many of these


class Joins(Public):
    """All views, by one schedule."""

    def __init__(self, schedule: str) -> None:
        super().__init__(workload(SECONDS))
        if schedule != ONE_PASS:
            self.db.schedule(join=schedule)
            return
        for node in self.db._running().graph.nodes:
            if isinstance(node.operator, SharedJoin):
                node.operator._schedule = ONE_PASS

    def responses(self) -> list[tuple[int, float]]:
        """Of every window, the shortest first: rows so far, and the sum of their responses in seconds."""
        found = [one["response"] for one in self.db.metrics()["operators"] if "response" in one]
        told = [(one["count"], one["count"] * one["average"]) for one in found]
        return sorted(told)  # a longer window gives more


def run(options: Options) -> Iterator[Report]:
    turns = options.repeat or (QUICK_TURNS if options.quick else TURNS)
    joins, warm = {schedule: Joins(schedule) for schedule in WAYS}, LONGEST + 2 * FILLING
    each = BURST + BETWEEN * USUAL
    input_ = strict_input(workload(SECONDS), warm + turns * each)
    for step in steps(input_, 0, warm, FILLING):
        for one in joins.values():
            one.step(step)
    spent: dict[str, list[float]] = {schedule: [] for schedule in WAYS}
    response: dict[str, list[list[float]]] = {schedule: [] for schedule in WAYS}
    for turn in range(turns):
        options.say(f"turn {turn + 1} of {turns}")
        begin = warm + turn * each
        for step in steps(input_, begin, begin + BETWEEN * USUAL, USUAL):
            for one in joins.values():
                one.step(step)
        for step in steps(input_, begin + BETWEEN * USUAL, begin + each, BURST):
            for schedule, one in joins.items():
                before = one.responses()
                spent[schedule].append(milliseconds(one, step))
                response[schedule].append([
                    1000 * (total - was) / (count - had)
                    for (count, total), (had, was) in zip(one.responses(), before, strict=True)
                ])
    yield _report(spent, response, turns)


def milliseconds(one: Joins, step: Step) -> float:
    started = time.process_time()
    one.step(step)
    return 1000 * (time.process_time() - started)


def _report(spent: dict[str, list[float]], response: dict[str, list[list[float]]], turns: int) -> Report:
    means = {schedule: [statistics.mean(windows) for windows in found] for schedule, found in response.items()}
    lines = []
    for schedule in WAYS:
        cost = [one / lwo for one, lwo in zip(spent[schedule], spent[ONE_PASS], strict=True)]
        sooner = [one / lwo for one, lwo in zip(means[schedule], means[ONE_PASS], strict=True)]
        windows = [statistics.median(found) for found in zip(*response[schedule], strict=True)]
        lines.append([
            schedule, span(cost, ".2f"), span(sooner, ".2f"), f"{statistics.median(spent[schedule]):.0f}",
            *(f"{windows[place]:.0f}" for place in (0, len(windows) // 2, -1)),
        ])
    columns = ("schedule", "CPU of one pass", "mean response of it", "CPU ms", *(f"{SECONDS[place]} s" for place in (0, 4, -1)))
    numbers: list[dict[str, object]] = [
        {"schedule": name, "spent": spent[name], "response": response[name]} for name in WAYS
    ]
    title = f"Bursts of {BURST:,} rows a stream over {len(SECONDS)} windows of 1 to 600 s, {turns} turns, response in ms"
    note = "The mean is that of the windows."
    return Report(title, columns, lines, numbers, [note])
