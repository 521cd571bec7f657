"""The engine against bare loops, over windows of growing size.

One thread, from encoded rows to the net changes of every instant. Both are given the same rows in the same steps; only the steps
after the window has filled, and state has its size, are timed, in CPU time, so other work on the machine counts as little as can
be. Both must give the same changes: their number and a checksum over rows, instants and weights.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Protocol

import numpy as np

from benchmarks.bare import extremes as bare_extremes
from benchmarks.bare import loops as bare
from benchmarks.bare import two_inputs as bare_two
from benchmarks.report import Options, Report, span
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

GAP = 1000  # microseconds from row to row, on average
STEP = 1 << 15  # rows of each stream that are worked off at once
SIZES = (1_000, 10_000, 100_000, 1_000_000)
LEAST_ROWS = 1_000_000
TURNS = 3  # windows of rows that are played, one to fill them
ROOM = 8  # changes a row at most, on average over a step
FIGURES = ("of bare loop", "engine ns/row", "bare loop ns/row", "changes/row")

STREAMS = """
    CREATE STREAM a (ts TIMESTAMP, k BIGINT, v BIGINT) TIMESTAMP BY ts;
    CREATE STREAM b (ts TIMESTAMP, k BIGINT, v BIGINT) TIMESTAMP BY ts;
    CREATE MATERIALIZED VIEW answer AS """


@dataclass(frozen=True)
class Query:
    """SQL with a window to fill in, the loop that does the same, and how many streams and keys it has."""

    name: str
    sql: str
    loop: Callable[..., int]
    streams: int
    keys: int | None = None  # None: as many as the window has rows
    is_keyed: bool = True  # whether the loop must know which rows belong together
    lanes: int = bare.RING_LANES  # that the loop keeps of a row
    cells: int = 4  # and of a key
    slide: int = 0  # rows; 0: at every instant

    def statements(self, window: int) -> str:
        slide = f" SLIDE {self.slide * GAP} MICROSECONDS" if self.slide else ""
        return STREAMS + self.sql.replace("[]", f"[RANGE {window * GAP} MICROSECONDS{slide}]")


COUNT_AND_SUM = Query(
    "count and sum", "SELECT k, COUNT(*) AS n, SUM(v) AS s FROM a [] GROUP BY k", bare.bare_group, 1, keys=10_000
)
EXTREMES = Query(
    "min and max", "SELECT k, MIN(v) AS lo, MAX(v) AS hi FROM a [] GROUP BY k", bare_extremes.bare_extremes, 1, keys=10_000,
    lanes=bare_extremes.LANES, cells=bare_extremes.CELLS,
)
QUERIES = (
    Query("select", "SELECT k, v FROM a [] WHERE v < 500", bare.bare_select, 1, is_keyed=False),
    COUNT_AND_SUM,
    EXTREMES,
    Query("distinct", "SELECT DISTINCT k FROM a []", bare.bare_distinct, 1),
    Query("join", "SELECT a.k, a.v, b.v AS w FROM a [] JOIN b [] ON a.k = b.k", bare_two.bare_join, 2),
    Query("union all", "SELECT k, v FROM a [] UNION ALL SELECT k, v FROM b []", bare_two.bare_union, 2, is_keyed=False),
    Query("except all", "SELECT k FROM a [] EXCEPT ALL SELECT k FROM b []", bare_two.bare_except, 2),
    Query("intersect", "SELECT k FROM a [] INTERSECT SELECT k FROM b []", bare_two.bare_intersect, 2),
)


@dataclass(frozen=True)
class Measured:
    """Nanoseconds of a row, each run's."""

    query: str
    window: int
    rows: int
    changes: int
    engine: list[float]
    bare: list[float]

    @property
    def ratio(self) -> float:
        """1 is as fast as the bare loop."""
        return statistics.median(self.bare) / statistics.median(self.engine)

    @property
    def numbers(self) -> dict[str, object]:
        return {**asdict(self), "ratio": self.ratio}

    @property
    def figures(self) -> list[str]:
        """Below `FIGURES`."""
        return [f"{self.ratio:.2f}", span(self.engine, ".0f"), span(self.bare, ".0f"), f"{self.changes / self.rows:.1f}"]


@dataclass(frozen=True)
class Input:
    """Rows of one or two streams, their lanes being ts, k, v and the mask, cut at the same instants."""

    query: Query
    window: int
    rows: tuple[Int64s, ...]

    @property
    def fill(self) -> int:
        """The instant at which the windows have filled."""
        return self.window * GAP

    @property
    def steady(self) -> int:
        """The instant from which on nothing grows: some whole steps, and slides, were worked off over full windows. The last step
        is after it.
        """
        last = int(max(rows[-1, 0] for rows in self.rows))
        return min(self.fill + (2 * STEP + 3 * self.query.slide) * GAP, last)

    def steps(self) -> Iterator[tuple[int, list[Int64s]]]:
        """An instant and the rows before it, again and again."""
        end = int(max(rows[-1, 0] for rows in self.rows)) + 1
        cuts = sorted({*range(STEP * GAP, end, STEP * GAP), self.fill, end})
        starts = [0] * len(self.rows)
        for cut in cuts:
            stops = [int(np.searchsorted(rows[:, 0], cut)) for rows in self.rows]
            yield cut, [rows[start:stop] for rows, start, stop in zip(self.rows, starts, stops, strict=True)]
            starts = stops


class Runner(Protocol):
    """Works off a step."""

    def step(self, rows: list[Int64s], now: int) -> Delta: ...


class EngineRunner:
    """The operators of the query, as a shard runs them."""

    def __init__(self, input_: Input) -> None:
        database = EmbeddedDatabase()
        database.execute(input_.query.statements(input_.window))
        job, interner = database.planned(1), Interner(arena := Arena.anonymous())
        self._ports = [port.spec for port in sorted(job.ports, key=lambda port: str(port.stream))]
        self._view = job.views[0].spec
        self._graph = Graph([self._view], arena, interner, Failures())
        self._net = NetChanges(self._view.layout, interner)

    def step(self, rows: list[Int64s], now: int) -> Delta:
        feeds: dict[PortSpec, Feed] = {}
        for port, lines in zip(self._ports, rows, strict=True):
            ts, ones = np.ascontiguousarray(lines[:, 0]), np.ones(len(lines), np.int64)
            feeds[port] = Feed(Delta(lines, ts, np.full(len(lines), FOREVER), ones), now)
        return self._net.per_instant(self._graph.step(feeds, [self._view], {})[self._view].delta)


class BareRunner:
    """The loop that can do nothing but this query. Its arrays are made before, its output is written over at every step."""

    def __init__(self, input_: Input, steps: Sequence[tuple[int, list[Int64s]]] | None = None) -> None:
        steps = list(input_.steps()) if steps is None else steps
        self._loop, self._size, self._is_keyed = input_.query.loop, input_.window * GAP, input_.query.is_keyed
        longest = max(max(map(len, rows)) for _, rows in steps)
        ring = 1 << (2 * input_.window + longest).bit_length()
        keys = input_.query.keys or input_.window
        self._registers, self._rings = _zeros(bare.REGISTERS), _zeros((2 * ring, input_.query.lanes))
        self._registers[bare.SLIDE] = input_.query.slide * GAP
        self._known, self._counts = _zeros((1 + (2 << keys.bit_length()), 2)), _zeros((keys, input_.query.cells))
        self._numbers = [_zeros(longest) for _ in range(2)]
        room = max(ROOM, 4 * input_.window // keys) * len(input_.rows) * longest + 1024
        width = EngineRunner(input_)._view.layout.width
        self._out = Delta.room(room, width)

    def step(self, rows: list[Int64s], now: int) -> Delta:
        out, numbers = self._out, [known[: len(lines)] for known, lines in zip(self._numbers, (rows[0], rows[-1]), strict=True)]
        for lines, of_lines in zip(rows, numbers, strict=False) if self._is_keyed else ():
            bare.number_keys(lines, self._known, of_lines)
        count = self._loop(
            rows[0], rows[-1], *numbers, self._size, now, self._registers, self._rings, self._counts, out.rows, out.ts, out.weight
        )
        return out.slice(0, count)


def _zeros(shape: int | tuple[int, ...]) -> Int64s:
    """Written, so that the system has handed out the memory before it is needed, as it has that of the engine's state."""
    return np.full(shape, 0, np.int64)


def run(options: Options) -> list[Report]:
    from benchmarks.figure import draw

    repeat, sizes = options.repeat or (2 if options.quick else 5), SIZES[:-1] if options.quick else SIZES
    measured = []
    for query in QUERIES:
        for size in sizes:
            options.say(f"{query.name}, {size:,} rows")
            measured.append(measure(query, size, repeat, options.rows))
    lines = [[one.query, f"{one.window:,}", *one.figures] for one in measured]
    numbers = [one.numbers for one in measured]
    title = f"Engine against bare loop over growing windows, CPU time, {repeat} runs each, in turns"
    return [Report(title, ("query", "window", *FIGURES), lines, numbers, draw=lambda path: draw(measured, path))]


def make_input(query: Query, window: int, rows: int, seed: int = 1) -> Input:
    """`rows` of each stream at random instants; keys and values are uniform."""
    chance = np.random.default_rng(seed)
    streams = []
    for _ in range(query.streams):
        lanes = np.zeros((rows, 4), np.int64)
        lanes[:, 0] = np.cumsum(chance.integers(0, 2 * GAP, rows, endpoint=True))
        lanes[:, bare.KEY] = scattered(chance.integers(0, query.keys or window, rows))
        lanes[:, bare.VALUE] = chance.integers(0, 2 * bare.LIMIT, rows)
        streams.append(lanes)
    return Input(query, window, tuple(streams))


def scattered(numbers: Int64s) -> Int64s:
    """Keys as they are in life: any integers, not 0, 1, 2; each number has one of its own."""
    return (numbers + 1) * np.int64(0x9E3779B97F4A7C15 - 2**64)


def measure(query: Query, window: int, repeat: int = 5, least_rows: int | None = None) -> Measured:
    """Engine and bare loop in turns."""
    input_ = make_input(query, window, max(TURNS * window, (LEAST_ROWS if least_rows is None else least_rows) // query.streams))
    changes = _check(input_)
    engine, loop = [], []
    for _ in range(repeat):
        engine.append(_nanoseconds(EngineRunner(input_), input_))
        loop.append(_nanoseconds(BareRunner(input_), input_))
    return Measured(query.name, window, sum(map(len, input_.rows)), changes, engine, loop)


def _nanoseconds(runner: Runner, input_: Input) -> float:
    """CPU time of a row once the windows are full and state has grown to its size."""
    spent, count = 0.0, 0
    for now, rows in input_.steps():
        started = time.process_time()
        runner.step(rows, now)
        if now > input_.steady:
            spent += time.process_time() - started
            count += sum(map(len, rows))
    return 1e9 * spent / count


def _check(input_: Input) -> int:
    """Both give the same changes in every step; how many in all. Kernels are compiled on the way."""
    engine, loop, changes = EngineRunner(input_), BareRunner(input_), 0
    for now, rows in input_.steps():
        mine, theirs = engine.step(rows, now), loop.step(rows, now)
        if len(mine) != len(theirs) or checksum(mine) != checksum(theirs):
            raise SashError(f'"{input_.query.name}" gives other changes than its bare loop before instant {now}')
        changes += len(mine)
    return changes


def checksum(delta: Delta) -> int:
    """The same for the same changes in any order within an instant."""
    state = delta.ts.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for lane in range(delta.rows.shape[1]):
        state = (state ^ delta.rows[:, lane].astype(np.uint64)) * np.uint64(0xBF58476D1CE4E5B9)
        state ^= state >> np.uint64(29)
    return int((state * delta.weight.astype(np.uint64)).sum(dtype=np.uint64))
