"""Seed 000, figures 7 to 10: what a join has to do and sends up, what it and all above it manage, and how late answers are.

The streams of the figures are small: windows of 1,500 rows. Of a row that joins, `multiplicity` rows are in the other window; the
more these are, the fewer rows join, so that there are always as many pairs.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.papers.plans import Stores
from benchmarks.patterns import STRATEGIES, Run, rotated
from benchmarks.patterns_input import DST, LINKS, QUERIES, SRC, TS, UNIT, WIDTH, Input, Query, favorites, generated
from benchmarks.report import Options, Report

WINDOW = 1_500
ROWS, QUICK_ROWS = 60_000, 6_000  # of each stream, once the windows are full
QUEUE = 4_096  # rows of each stream that wait where there is more to do than can be done
TURNS = 5
MULTIPLICITIES = (1, 2, 3, 4, 5)
ITEMS = 1_200
SHARES = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0)
LATE = (10_000, 20_000)  # window, and rows of each stream after it, where delays are taken


@dataclass(frozen=True)
class Worked:
    """One run: the changes that the join gave, its probes, and rows a second, of the join alone and of everything."""

    positive: int
    leaving: int
    probes: int
    join: float
    everything: float


def join_work(options: Options) -> Report:
    """Figures 8, 9 and 10."""
    rows = options.rows or (QUICK_ROWS if options.quick else ROWS)
    lines: list[list[str]] = []
    numbers: list[dict[str, object]] = []
    for multiplicity in MULTIPLICITIES:
        options.say(f"join work, {multiplicity} rows for each that joins")
        runs = _turns(_joining(multiplicity, WINDOW + rows), rows, 1 if options.quick else TURNS)
        slowest = statistics.median(run.everything for run in runs["negative"])
        for strategy, played in runs.items():
            one, join = played[0], statistics.median(run.join for run in played)
            everything = statistics.median(run.everything for run in played)
            lines.append([
                f"{multiplicity}, {strategy}", f"{one.leaving / one.positive:.3f}", f"{one.probes / (2 * (WINDOW + rows)):.2f}",
                f"{everything / slowest:.2f}", f"{join:,.0f}", f"{everything:,.0f}",
            ])  # fmt: skip
            numbers.append({
                "multiplicity": multiplicity, "strategy": strategy, "positive": one.positive, "leaving": one.leaving,
                "probes": one.probes, "join": [run.join for run in played], "everything": [run.everything for run in played],
            })  # fmt: skip
    columns = (
        "rows in the other window, strategy", "leaving/positive", "probes a row", "over negative", "join, rows/s", "all, rows/s",
    )  # fmt: skip
    notes = (f"Windows of {WINDOW:,} rows; {QUEUE} rows of each stream wait whenever the operators have their turn.",)
    return Report("What a join does, sends up, and manages (seed 000, figures 8 to 10)", columns, lines, numbers, notes)


def _turns(input_: Input, rows: int, turns: int) -> dict[str, list[Worked]]:
    """What every strategy did, turn by turn."""
    found: dict[str, list[Worked]] = {strategy: [] for strategy in STRATEGIES}
    for turn in range(turns):
        for strategy in rotated(STRATEGIES, turn):
            found[strategy].append(_worked(input_, rows, strategy))
    return found


def _worked(input_: Input, rows: int, strategy: str) -> Worked:
    run = Run(_query("Q2 of seed 000"), input_, WINDOW, strategy, Stores.ENGINE)
    run.work(run.feeds(0, WINDOW))
    spent = 0.0
    for start in range(WINDOW, WINDOW + rows, QUEUE):
        feeds = run.feeds(start, min(start + QUEUE, WINDOW + rows))
        started = time.process_time()
        run.work(feeds)
        spent += time.process_time() - started
    facts = run.facts()
    (join,) = (one for one in run.operators() if one.name.endswith("Join"))
    run.close()
    sent = facts["above_join"]
    came = 2 * (WINDOW + rows)
    return Worked(sent["positive"], sent["negative"] + sent["messages"], facts["probes"], came / join.seconds, 2 * rows / spent)


def _joining(multiplicity: int, rows: int) -> Input:
    """One row in so many joins, with so many: on average, as values are drawn at random. All others have values of their own."""
    chance, links = np.random.default_rng(multiplicity), []
    for link in range(LINKS):
        lanes = np.zeros((rows, WIDTH), np.int64)
        lanes[:, TS] = np.arange(rows) * UNIT + link
        shared = chance.integers(0, WINDOW // multiplicity**2, rows)
        lanes[:, SRC] = np.where(chance.random(rows) * multiplicity < 1, shared, WINDOW + LINKS * np.arange(rows) + link)
        lanes[:, DST] = chance.integers(0, ITEMS, rows)
        links.append(lanes)
    return Input("made for a join", tuple(links), favorites(links[0], 0.1), few=0, many=0, round=rows)


def delays(options: Options) -> Report:
    """Figure 7: how late input-triggered answers are, by the share of rows that join."""
    lines: list[list[str]] = []
    numbers: list[dict[str, object]] = []
    input_ = generated(sum(LATE))
    for share in SHARES:
        options.say(f"delay, {share:.0%} of the rows join")
        some = replace(input_, table=favorites(input_.links[0], share))
        delay = _delay(some) or {"average": 0.0, "p99": 0.0, "maximum": 0.0}
        lines.append([f"{share:.0%}", *(f"{1000 * delay[name]:.2f}" for name in ("average", "p99", "maximum")), "0.00"])
        numbers.append({"share": share, **delay})
    columns = ("share of rows that join", "average ms", "p99 ms", "maximum ms", "all other strategies")
    notes = ("In the time of the stream, which has one row in a millisecond.",)
    return Report("Delay of input-triggered answers (seed 000, figure 7)", columns, lines, numbers, notes)


def _delay(input_: Input) -> dict[str, Any] | None:
    run = Run(_query("Q1 of seed 000"), input_, LATE[0], "input-triggered", Stores.ENGINE)
    run.play(*LATE)
    found: dict[str, Any] | None = run.facts()["delay"]
    run.close()
    return found


def _query(name: str) -> Query:
    return next(query for query in QUERIES if query.name == name)
