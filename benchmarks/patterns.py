"""Expiry strategies against each other: the queries of seeds 000 and 003, over windows of growing size.

One thread, from encoded rows to the changes of the view, in CPU time once the windows are full. What all strategies have in
common is left out: to net the changes of an instant and put them in order. All but the input-triggered one must give the same
net changes. Two readings: with the stores of the papers (lists that are scanned), and with those of the engine; of queries with a
negation a third, with the stores of the papers over windows that are not scanned.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from benchmarks.papers.plans import Stores, with_stores
from benchmarks.patterns_input import UNIT, Input, Query
from benchmarks.windows import checksum
from sash.database.embedded import EmbeddedDatabase
from sash.deltas import Delta, forever
from sash.errors import SashError
from sash.operators.net_changes import NetChanges
from sash.operators.spec import PortSpec, Spec
from sash.plan.rules.prune_columns import prune_columns
from sash.planner.job import Job, plan_job
from sash.runtime.graph import Feed, Graph
from sash.runtime.metrics import OperatorMetrics
from sash.scalar.failures import Failures
from sash.schema import BEGINNING, FOREVER
from sash.stores.arena import Arena
from sash.stores.interner import Interner

STRATEGIES = ("auto", "direct", "negative", "time-message", "piggyback", "input-triggered")
# Rows of each stream that are worked off at once: as many as bring about so many changes, or take about a second, within limits.
LEAST_STEP, STEP, CHANGES = 1 << 6, 1 << 16, 1 << 18
GROWTH = 16  # from one step to the next


@dataclass(frozen=True)
class Measured:
    """A query under a strategy: nanoseconds of a row, each run's, and what its operators did."""

    query: str
    window: int
    stores: Stores
    strategy: str
    nanoseconds: list[float] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def median(self) -> float:
        return statistics.median(self.nanoseconds)

    def over(self, other: Measured) -> float:
        """How many times as long as another one that was played in the same turns; the median of all turns."""
        return statistics.median(mine / theirs for mine, theirs in zip(self.nanoseconds, other.nanoseconds, strict=True))


class TooLong(Exception):
    """The time that was given is over, and not all strategies were played once."""


class Run:
    """A query, played once."""

    def __init__(self, query: Query, input_: Input, window: int, strategy: str, stores: Stores) -> None:
        self._view, self._ports = plan_of(query, input_, window, strategy, stores)
        self._input = input_
        self._arena = Arena.anonymous()
        interner = Interner(self._arena)
        self._graph = Graph([self._view], self._arena, interner, Failures())
        self._net = NetChanges(self._view.layout, interner)
        self._begins: dict[str, int | None] = dict.fromkeys(query.streams, 0)

    def step(self, start: int, stop: int) -> Delta:
        """The net changes that the rows of some units of time bring."""
        return self._net.per_instant(self.work(self.feeds(start, stop)))

    def feeds(self, start: int, stop: int) -> dict[PortSpec, Feed]:
        """The rows of some units of time."""
        return {port: self._feed(port, start, stop, stop * UNIT) for port in self._ports}

    def work(self, feeds: dict[PortSpec, Feed]) -> Delta:
        """The changes as the operators give them."""
        return self._graph.step(feeds, [self._view], self._begins)[self._view].delta

    def _feed(self, port: PortSpec, start: int, stop: int, now: int) -> Feed:
        if port.stream is None:  # it brings the time, and no rows
            return Feed(Delta.empty(port.layout.width), now)
        rows = self._input.rows(port.stream)
        if port.is_table:
            rows = rows if start == 0 else rows[:0]
            ts, now = np.full(len(rows), BEGINNING), FOREVER
        else:
            rows = rows[start:stop]
            ts = np.ascontiguousarray(rows[:, 0])
        return Feed(Delta(rows, ts, forever(len(rows)), np.ones(len(rows), np.int64)), now)

    def play(self, before: int, measured: int, until: float = math.inf) -> tuple[float, int]:
        """CPU nanoseconds of a row of all streams after so many units of time, in so many; a checksum of all changes then."""
        spent, total, start, size = 0.0, 0, 0, LEAST_STEP
        while start < before + measured:
            stop = min(start + size, before if start < before else before + measured)
            feeds = self.feeds(start, stop)
            started = time.process_time()
            changes = self.work(feeds)
            seconds, net = time.process_time() - started, self._net.per_instant(changes)
            if start >= before:
                spent += seconds
                total += checksum(net)
            if stop - start == size:  # and not cut short
                size = _next_size(size, len(net), seconds)
            start = stop
            if time.monotonic() > until:
                raise TooLong
        rows = measured * sum(port.stream is not None and not port.is_table for port in self._ports)
        return 1e9 * spent / rows, total % (1 << 64)

    def close(self) -> None:
        self._arena.close()

    def operators(self) -> list[OperatorMetrics]:
        return list(self._graph.metrics())

    def facts(self) -> dict[str, Any]:
        """What the operators did, from the beginning on."""
        operators = self.operators()
        delays = next((one.delays.summary() for one in operators if one.delays is not None), None)
        return {
            "state_bytes": sum(one.state_bytes for one in operators), "state_rows": sum(one.state_rows for one in operators),
            "probes": sum(one.probes for one in operators), "above_join": _above_join(operators), "delay": delays,
        }


def _next_size(size: int, changes: int, seconds: float) -> int:
    """How large a step is after one of this size that brought so many changes."""
    return max(LEAST_STEP, min(STEP, int(size * min(GROWTH, CHANGES / max(1, changes), 1 / max(1 / GROWTH, seconds)))))


def plan_of(query: Query, input_: Input, window: int, strategy: str, stores: Stores) -> tuple[Spec, list[PortSpec]]:
    """The view and its ports, as the strategy wants them over these stores."""
    database = EmbeddedDatabase(expiry=strategy)
    database.execute(query.statements(window, input_.few, input_.many))
    job = database.planned(1) if stores is Stores.ENGINE else _as_drawn(database)
    return with_stores(job.views[0].spec, strategy, stores, window * UNIT), [port.spec for port in job.ports]


def _as_drawn(database: EmbeddedDatabase) -> Job:
    """The plan as the papers draw it: selections above the windows, operators in the order in which they were written."""
    views = {view.name: prune_columns(view.plan) for view in database.materialized().values()}
    return plan_job(database.catalog.streams, views, 1, database.expiry)


def _above_join(operators: Sequence[OperatorMetrics]) -> dict[str, int] | None:
    """What the last join gave: rows by sign, and messages."""
    joins = [one for one in operators if "Join" in one.name or "Lookup" in one.name]
    return joins[-1].out.figures() if joins else None


@dataclass(frozen=True)
class Turns:
    """How often all strategies are played: so often, and more often while that takes less than some seconds."""

    least: int = 1
    most: int = 1
    enough: float = 0.0
    longest: float = math.inf  # seconds after which no further turn begins, and the first is given up


ONCE = Turns()


def measure(
    query: Query, input_: Input, window: int, rows: int, stores: Stores, turns: Turns = ONCE, warm: int = 0
) -> list[Measured]:
    """So many rows of each link, once the windows are full and some more have warmed up the stores.

    All strategies in turns, each time another one first; of those with one plan only the first is played.
    """
    found = {strategy: Measured(query.name, window, stores, strategy) for strategy in strategies(query, stores)}
    firsts = _firsts(query, input_, window, stores, list(found))
    names, expected, began = list(dict.fromkeys(firsts.values())), None, time.monotonic()
    for turn in range(turns.most):
        for strategy in rotated(names, turn):
            one, run = found[strategy], Run(query, input_, window, strategy, stores)
            try:
                nanoseconds, changes = run.play(window + warm, rows, math.inf if turn else began + turns.longest)
                one.facts.update(run.facts())
            finally:
                run.close()
            one.nanoseconds.append(nanoseconds)
            if strategy != "input-triggered":
                expected = changes if expected is None else expected
                if changes != expected:
                    raise SashError(f'"{query.name}" gives other changes by {strategy} than by {STRATEGIES[0]}')
        spent = time.monotonic() - began
        if spent > turns.longest or (turn + 1 >= turns.least and spent > turns.enough):
            break
    return [replace(found[first], strategy=strategy) for strategy, first in firsts.items()]


def rotated(names: Sequence[str], turn: int) -> list[str]:
    """All of them, in every turn another one first."""
    first = turn % len(names)
    return [*names[first:], *names[:first]]


def _firsts(query: Query, input_: Input, window: int, stores: Stores, names: Sequence[str]) -> dict[str, str]:
    """Of every strategy the first one that has the same plan."""
    plans: dict[Spec, str] = {}
    firsts: dict[str, str] = {}
    for strategy in names:
        view, _ = plan_of(query, input_, window, strategy, stores)
        firsts[strategy] = plans.setdefault(view, strategy)
    return firsts


def strategies(query: Query, stores: Stores) -> Sequence[str]:
    """The papers compared three over their lists, two where there is a negation, which cannot be run directly."""
    if stores is Stores.ENGINE:
        return STRATEGIES
    return ("auto", "negative") if query.has_negation else ("auto", "direct", "negative")
