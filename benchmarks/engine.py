"""The engine, on one core, against bare loops: the workloads of a usual stream.

Two streams of (ts, k, v) at 1,000 rows a second of event time; windows of a minute hold 60,000 rows a side. From encoded rows to
the net changes of every instant, as for `windows`, in CPU time.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.bare import loops as bare
from benchmarks.bare import two_inputs as bare_two
from benchmarks.bars import draw_bars
from benchmarks.report import Options, Report, span
from benchmarks.windows import COUNT_AND_SUM, EXTREMES, BareRunner, Input, Measured, Query, checksum, make_input, measure
from sash.database.embedded import EmbeddedDatabase
from sash.deltas import Delta, Int64s
from sash.errors import SashError
from sash.operators.net_changes import NetChanges
from sash.operators.spec import PortSpec
from sash.runtime.graph import Feed, Graph
from sash.scalar.failures import Failures
from sash.schema import FOREVER
from sash.stores.arena import Arena
from sash.stores.interner import Interner

MINUTE = 60_000  # rows
ROWS, QUICK_ROWS = 2_000_000, 400_000  # of all streams together
SECONDS = (1, 5, 10, 30, 60, 120, 300, 600)  # of the joins at once
KEYS = 100_000

JOIN = "SELECT a.k, a.v, b.v AS w FROM a [] JOIN b [] ON a.k = b.k"
JOIN_GROUP = "SELECT a.k, COUNT(*) AS n, SUM(b.v) AS s FROM a [] JOIN b [] ON a.k = b.k GROUP BY a.k"
WORKLOADS = (
    COUNT_AND_SUM,
    EXTREMES,
    Query("join", JOIN, bare_two.bare_join, 2, KEYS),
    Query("distinct", "SELECT DISTINCT k FROM a []", bare.bare_distinct, 1, KEYS),
    Query("except all", "SELECT k FROM a [] EXCEPT ALL SELECT k FROM b []", bare_two.bare_except, 2, KEYS),
    Query("join under group-by", JOIN_GROUP, bare_two.bare_join_group, 2, KEYS),
)


def run(options: Options) -> list[Report]:
    rows, repeat = options.rows or (QUICK_ROWS if options.quick else ROWS), options.repeat or (3 if options.quick else 5)
    measured = []
    for query in WORKLOADS:
        options.say(query.name)
        measured.append(measure(query, MINUTE, repeat, rows))
    options.say("8 joins at once")
    joins, shared = measure_joins(rows, max(1, repeat - 2))
    measured.append(joins)
    columns = ("workload", "of bare loop", "engine M rows/s", "bare loop M rows/s", "changes/row")
    lines = [
        [one.query, f"{one.ratio:.2f}", _rate(one.engine), _rate(one.bare), f"{one.changes / one.rows:.1f}"] for one in measured
    ]
    title = f"Engine against bare loops on one core, windows of 60 s, {rows:,} rows, {repeat} runs each, in turns"
    numbers = [one.numbers for one in measured]
    return [Report(title, columns, lines, numbers, [shared], draw=lambda path: draw(measured, path))]


def measure_joins(rows: int, repeat: int) -> tuple[Measured, str]:
    """Joins over windows of many sizes in one graph, against as many bare loops one after the other."""
    base = make_input(Query("8 joins at once", JOIN, bare_two.bare_join, 2, KEYS), SECONDS[-1] * 1000, rows // 2)
    inputs = [Input(base.query, seconds * 1000, base.rows) for seconds in SECONDS]
    steps = list(base.steps())
    changes = _check(inputs, steps)
    engine, loops = [], []
    for _ in range(repeat):
        engine.append(_nanoseconds([Joins(inputs)], steps))
        loops.append(_nanoseconds([BareRunner(one, steps) for one in inputs], steps))
    runner = Joins(inputs)
    return Measured("8 joins at once", SECONDS[-1] * 1000, rows, changes, engine, loops), runner.sharing


class Joins:
    """All joins as views of one graph."""

    def __init__(self, inputs: Sequence[Input]) -> None:
        database, interner = EmbeddedDatabase(), Interner(arena := Arena.anonymous())
        for number, one in enumerate(inputs):
            streams, view = one.query.statements(one.window).split("CREATE MATERIALIZED VIEW answer AS ")
            database.execute((streams if number == 0 else "") + f"CREATE MATERIALIZED VIEW answer{number} AS {view}")
        job = database.planned(1)
        self._ports = [port.spec for port in sorted(job.ports, key=lambda port: str(port.stream))]
        self._views = [view.spec for view in job.views]
        self._graph = Graph(self._views, arena, interner, Failures())
        self._net = NetChanges(self._views[0].layout, interner)
        alone = [Graph([view], Arena.anonymous(), interner, Failures()) for view in self._views]
        self.sharing = (
            f"{len(inputs)} joins over windows of {', '.join(map(str, SECONDS))} s: {len(self._graph.specs)} operators run, "
            f"{sum(len(graph.specs) for graph in alone)} if each query ran by itself"
        )

    def step(self, rows: list[Int64s], now: int) -> list[Delta]:
        feeds: dict[PortSpec, Feed] = {}
        for port, lines in zip(self._ports, rows, strict=True):
            ts, ones = np.ascontiguousarray(lines[:, 0]), np.ones(len(lines), np.int64)
            feeds[port] = Feed(Delta(lines, ts, np.full(len(lines), FOREVER), ones), now)
        made = self._graph.step(feeds, self._views, {})
        return [self._net.per_instant(made[view].delta) for view in self._views]


def _nanoseconds(runners: Sequence[Joins | BareRunner], steps: Sequence[tuple[int, list[Int64s]]]) -> float:
    started = time.process_time()
    for runner in runners:
        for now, rows in steps:
            runner.step(rows, now)
    return 1e9 * (time.process_time() - started) / sum(len(lines) for _, rows in steps for lines in rows)


def _check(inputs: Sequence[Input], steps: Sequence[tuple[int, list[Int64s]]]) -> int:
    engine, loops, changes = Joins(inputs), [BareRunner(one, steps) for one in inputs], 0
    for now, rows in steps:
        for mine, loop in zip(engine.step(rows, now), loops, strict=True):
            theirs = loop.step(rows, now)
            if len(mine) != len(theirs) or checksum(mine) != checksum(theirs):
                raise SashError(f"one of the joins at once gives other changes than its bare loop before instant {now}")
            changes += len(mine)
    return changes


def _rate(nanoseconds: Sequence[float]) -> str:
    return span([1e3 / value for value in nanoseconds], ".2f")


def draw(measured: Sequence[Measured], path: Path) -> None:
    systems = {
        label: [[1e3 / value for value in getattr(one, name)] for one in measured]
        for name, label in (("engine", "Sash"), ("bare", "bare loop"))
    }
    draw_bars([one.query for one in measured], systems, "million rows a second, one core", path)
