"""Fifty medians and percentiles of one column over one window, against one of them: in one view, and each in a view of its own.

Both engines read the same rows, 10,000 a second in pushes of 1,000, over a window of five seconds, in turns; CPU time of a push.
At every row, each push makes a thousand instants at which every figure may change; with SLIDE ten. The column is in order once
for all figures, whether one view asks for them or many.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

import sash
from benchmarks.report import Options, Report, span

CALLS = ("MEDIAN(v)", *(f"PERCENTILE(v, {2 * number + 1}e-2)" for number in range(49)))
GROUPS = 100
RATE, PUSHED, SECONDS = 10_000, 1_000, 5
TURNS, QUICK_TURNS = 20, 5
STREAM = "CREATE STREAM s (ts TIMESTAMP, k BIGINT, v DOUBLE) TIMESTAMP BY ts;"
AT_EVERY_ROW, SLIDING = f"[RANGE {SECONDS} SECONDS]", f"[RANGE {SECONDS} SECONDS SLIDE 100 MILLISECONDS]"


@dataclass(frozen=True)
class Subject:
    """What is asked for: over which window, by a key or not, in one view or in many."""

    name: str
    window: str
    by_key: bool
    in_one_view: bool

    def sql(self, calls: int) -> str:
        asked, views = CALLS[:calls], []
        for number, part in enumerate([asked] if self.in_one_view else [[call] for call in asked]):
            columns = ", ".join([*["k"][: self.by_key], *(f"{call} AS c{place}" for place, call in enumerate(part))])
            group = " GROUP BY k" if self.by_key else ""
            views.append(f"CREATE MATERIALIZED VIEW v{number} AS SELECT {columns} FROM s {self.window}{group};")
        return STREAM + "".join(views)


SUBJECTS = tuple(
    Subject(f"{of}{when}, {where}", window, bool(of), where == "one view")
    for when, window in (("ten times a second", SLIDING), ("at every row", AT_EVERY_ROW))
    for of in ("", f"of each of {GROUPS} groups, ")
    for where in ("one view", "a view each")
)


class Engine:
    def __init__(self, sql: str) -> None:
        self._db, self._came, self._chance = sash.connect(), 0, np.random.default_rng(11)
        self._db.execute(sql)

    def push(self, rows: int) -> float:
        """The processor's seconds that it takes."""
        ts = (self._came + np.arange(rows)) * (1_000_000 // RATE)
        self._came += rows
        keys, values = self._chance.integers(0, GROUPS, rows), self._chance.random(rows)
        table = pa.table({"ts": pa.array(ts, pa.timestamp("us")), "k": keys, "v": values})
        started = time.process_time()
        self._db.push("s", table)
        return time.process_time() - started

    def close(self) -> None:
        self._db.close()


def run(options: Options) -> list[Report]:
    turns, lines, numbers = options.repeat or (QUICK_TURNS if options.quick else TURNS), [], list[dict[str, object]]()
    for subject in SUBJECTS:
        options.say(subject.name)
        one, all_ = measure(subject, turns)
        ratios = [many / few for few, many in zip(one, all_, strict=True)]
        medians = [1e3 * statistics.median(times) for times in (one, all_)]
        lines.append([subject.name, span(ratios, ".1f"), *(f"{took:.2f}" for took in medians)])
        numbers.append({"subject": subject.name, "ratio": statistics.median(ratios), "one": medians[0], "all": medians[1]})
    title = f"{len(CALLS)} medians and percentiles of one column over one window, against one, {turns} turns"
    return [Report(title, ("figures", "of one", "one, ms a push", "all, ms a push"), lines, numbers)]


def measure(subject: Subject, turns: int) -> tuple[list[float], list[float]]:
    """What a push takes with one figure, and with all of them, turn by turn."""
    engines = [Engine(subject.sql(calls)) for calls in (1, len(CALLS))]
    for engine in engines:
        for _ in range(2 * SECONDS * RATE // PUSHED):
            engine.push(PUSHED)
    one, all_ = zip(*([engine.push(PUSHED) for engine in engines] for _ in range(turns)), strict=True)
    for engine in engines:
        engine.close()
    return list(one), list(all_)
