"""What a user pays: rows pushed as Arrow batches, changes taken out, through the public interface alone.

Beside it the engine alone, over the same rows in the same steps, and, where there is one, the bare loop: how much of what the
engine can do reaches the user is the first figure. All of them go on in turns, a few steps each, over windows that are full, in
CPU time of the process; a ratio is that of one turn. The readers:

    nobody         changes come and nobody looks
    subscription   what has come is read after every push
    arrow          `changes` is asked for now and then, as a table
    live           a subscription, and now and then the answer
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Protocol

import numpy as np
import pyarrow as pa

from benchmarks import engine
from benchmarks.bare import two_inputs as bare_two
from benchmarks.bare.loops import LIMIT
from benchmarks.report import Options, Report, span
from benchmarks.windows import GAP, STREAMS, BareRunner, Input, Query, make_input
from sash.database.embedded import EmbeddedDatabase
from sash.deltas import Delta, Int64s
from sash.operators.net_changes import NetChanges
from sash.operators.spec import PortSpec
from sash.runtime.graph import Feed, Graph
from sash.scalar.failures import Failures
from sash.schema import FOREVER
from sash.stores.arena import Arena
from sash.stores.interner import Interner

WINDOW = 60_000  # rows of a stream, a minute of them
NOW_AND_THEN = 100_000  # rows of all streams between two looks at an answer, or at the table of changes
HISTORY = "4 MB"  # of changes: full before anything is measured, so that every push drops what another one brought
FILLING = 10_000  # rows of a push before the windows are full
TURNS, QUICK_TURNS = 7, 3
PUSHES = {1: 200, 100: 100, 1_000: 40, 10_000: 10, 100_000: 2}  # of every stream in a turn, by the rows of a push
READERS = ("nobody", "subscription", "arrow", "live")
USUAL = 10_000
SMALL = (1, 1_000)  # rows of a push in a quick run
VIEWS = (1, 10, 100)
COLUMNS = ("workload", "views", "rows a push", "reader", "of engine", "ns/row", "engine ns/row", "of bare loop", "changes/row")


@dataclass(frozen=True)
class Workload:
    """Views over one or two streams; the loop that can do only this, if somebody has written it."""

    name: str
    sql: tuple[str, ...]
    streams: int
    keys: int
    window: int = WINDOW
    bare: Query | None = None

    @property
    def statements(self) -> str:
        declared = STREAMS.split("CREATE MATERIALIZED VIEW")[0]
        views = (f"CREATE MATERIALIZED VIEW answer{number} AS {sql};" for number, sql in enumerate(self.sql))
        return declared + "".join(views)

    def copies(self, count: int) -> Workload:
        """So many views, each of which lets other rows through."""
        (sql,) = self.sql
        others = (sql.replace("FROM a []", f"FROM a [] WHERE v <> {number}") for number in range(count))
        return replace(self, sql=tuple(windowed(one, self.window) for one in others), bare=None)

    def parts(self, count: int) -> Workload:
        """So many views, of which every row changes one."""
        (sql,) = self.sql
        span = -(-2 * LIMIT // count)
        ranges = (f"WHERE v >= {place * span} AND v < {(place + 1) * span}" for place in range(count))
        some = tuple(windowed(sql.replace("FROM a []", f"FROM a [] {one}"), self.window) for one in ranges)
        return replace(self, name=f"{self.name}, a part each", sql=some, bare=None)


def windowed(sql: str, window: int) -> str:
    return sql.replace("[]", f"[RANGE {window * GAP} MICROSECONDS]")


def _of_one(name: str, sql: str, keys: int, streams: int = 1) -> Workload:
    return Workload(name, (windowed(sql, WINDOW),), streams, keys)


def _of_bare(query: Query) -> Workload:
    return Workload(query.name, (windowed(query.sql, WINDOW),), query.streams, query.keys or WINDOW, bare=query)


BARE = {query.name: query for query in engine.WORKLOADS}
COUNT_AND_SUM = _of_bare(BARE["count and sum"])
WORKLOADS = (
    COUNT_AND_SUM,
    _of_bare(BARE["join"]),
    _of_bare(BARE["distinct"]),
    _of_bare(BARE["except all"]),
    _of_one("median per key", "SELECT k, MEDIAN(v) AS m FROM a [] GROUP BY k", 10_000),
    _of_one("top 10 of sums", "SELECT k, SUM(v) AS s FROM a [] GROUP BY k ORDER BY s DESC LIMIT 10", 10_000),
    _of_bare(BARE["min and max"]),
)
JOINS = Workload(
    "8 joins at once", tuple(windowed(engine.JOIN, seconds * 1000) for seconds in engine.SECONDS), 2, engine.KEYS,
    engine.SECONDS[-1] * 1000,
)
ONE_OF_MANY = replace(COUNT_AND_SUM, sql=(BARE["count and sum"].sql,))


@dataclass(frozen=True)
class Step:
    """Rows of every stream, as lanes and as Arrow batches."""

    lanes: list[Int64s]
    batches: list[pa.RecordBatch]

    @property
    def rows(self) -> int:
        return sum(map(len, self.lanes))


class Runner(Protocol):
    """Works off a step."""

    def step(self, step: Step) -> None: ...


class Alone:
    """The engine with nothing around it: a graph that is fed with deltas, and the net changes of every view."""

    def __init__(self, workload: Workload) -> None:
        database, interner = EmbeddedDatabase(), Interner(arena := Arena.anonymous())
        database.execute(workload.statements)
        job = database.planned(1)
        self._ports = [port.spec for port in sorted(job.ports, key=lambda port: str(port.stream))]
        self._views = list(dict.fromkeys(view.spec for view in job.views))
        self._graph = Graph(self._views, arena, interner, Failures())
        self._nets = [NetChanges(view.layout, interner) for view in self._views]
        self.changes = 0

    def step(self, step: Step) -> None:
        for delta in self.deltas(step):
            self.changes += len(delta)

    def deltas(self, step: Step) -> list[Delta]:
        """The changes of every view."""
        feeds: dict[PortSpec, Feed] = {}
        for port, lines in zip(self._ports, step.lanes, strict=True):
            ts, ones = np.ascontiguousarray(lines[:, 0]), np.ones(len(lines), np.int64)
            feeds[port] = Feed(Delta(lines, ts, np.full(len(lines), FOREVER), ones), int(ts[-1]) + 1)
        made = self._graph.step(feeds, self._views, {})
        return [net.per_instant(made[view].delta) for net, view in zip(self._nets, self._views, strict=True)]


class Public:
    """What a user calls."""

    def __init__(self, workload: Workload, reader: str = "nobody", history: str = HISTORY) -> None:
        self.db, self.changes = EmbeddedDatabase(history=history), 0
        self.db.execute(workload.statements)
        self._views = [f"answer{number}" for number in range(len(workload.sql))]
        self._streams = ("a", "b")[: workload.streams]
        self._read: Callable[[], None] = getattr(self, f"_{reader}")
        self._rows = 0
        is_read = reader in ("subscription", "live")
        self._subscriptions = [self.db.subscribe(view, timeout=0) for view in self._views] if is_read else []

    def step(self, step: Step) -> None:
        for name, batch in zip(self._streams, step.batches, strict=True):
            self.db.push(name, batch)
            self._rows += batch.num_rows
            self._read()

    def _nobody(self) -> None:
        pass

    def _subscription(self) -> None:
        for subscription in self._subscriptions:
            for batch in subscription:
                self.changes += batch.num_rows

    def _arrow(self) -> None:
        for view in self._now_and_then():
            self.db.changes(view)

    def _live(self) -> None:
        self._subscription()
        for view in self._now_and_then():
            self.db.view(view).to_arrow()

    def _now_and_then(self) -> list[str]:
        if self._rows < NOW_AND_THEN:
            return []
        self._rows = 0
        return self._views


class Bare:
    """The loop that can do nothing but this query."""

    def __init__(self, input_: Input, longest: int) -> None:
        steps = [(0, [lines[:longest] for lines in input_.rows])]
        self._runner = BareRunner(input_, steps)

    def step(self, step: Step) -> None:
        self._runner.step(step.lanes, int(step.lanes[0][-1, 0]) + 1)


@dataclass(frozen=True)
class Measured:
    """Nanoseconds of a row in every turn."""

    workload: str
    views: int
    batch: int
    reader: str
    public: list[float]
    engine: list[float]
    bare: list[float]
    changes: float  # a row

    @property
    def shares(self) -> list[float]:
        """Of the engine's speed, turn by turn."""
        return [mine / theirs for mine, theirs in zip(self.engine, self.public, strict=True)]

    @property
    def line(self) -> list[str]:
        of_bare = [mine / theirs for mine, theirs in zip(self.bare, self.public, strict=False)]
        return [
            self.workload, f"{self.views}", f"{self.batch:,}", self.reader, span(self.shares, ".2f"), span(self.public),
            span(self.engine), f"{statistics.median(of_bare):.2f}" if of_bare else "", f"{self.changes:.1f}",
        ]

    @property
    def numbers(self) -> dict[str, object]:
        return {**asdict(self), "ratio": statistics.median(self.shares)}


def run(options: Options) -> Iterator[Report]:
    turns = options.repeat or (QUICK_TURNS if options.quick else TURNS)
    title = f"Through the public interface, windows of 60 s, {turns} turns, CPU time"
    for name, jobs in (_quick_jobs() if options.quick else _jobs()).items():
        measured: list[Measured] = []
        for workload, batch, readers in jobs:
            options.say(f"{name}: {workload.name}, {batch:,} rows")
            measured += measure(workload, batch, readers, turns, options.rows)
        yield Report(f"{title}: {name}", COLUMNS, [one.line for one in measured], [one.numbers for one in measured])


Jobs = dict[str, list[tuple[Workload, int, Sequence[str]]]]


def _jobs() -> Jobs:
    return {
        "workloads": [*((one, USUAL, READERS) for one in WORKLOADS), (JOINS, USUAL, ("nobody", "live"))],
        "pushes": [(one, batch, ("nobody", "subscription", "arrow")) for one in WORKLOADS[:4] for batch in PUSHES],
        "views": [
            *((ONE_OF_MANY.copies(views), batch, ("nobody", "subscription")) for views in VIEWS for batch in PUSHES),
            *((ONE_OF_MANY.parts(views), 1, ("nobody", "subscription")) for views in VIEWS[1:]),
        ],
    }


def _quick_jobs() -> Jobs:
    return {
        "workloads": [(one, USUAL, ("nobody", "live")) for one in WORKLOADS],
        "pushes": [(COUNT_AND_SUM, batch, ("subscription",)) for batch in SMALL],
        "views": [(ONE_OF_MANY.copies(10), 1, ("subscription",)), (ONE_OF_MANY.parts(100), 1, ("nobody", "subscription"))],
    }


def measure(
    workload: Workload, batch: int, readers: Sequence[str] = READERS, turns: int = TURNS, rows: int | None = None
) -> list[Measured]:
    """Engine, bare loop and every reader in turns, a few steps each; `rows` of a turn, if they are not to be as usual."""
    pushes = max(1, (rows or batch * PUSHES[batch]) // batch)
    warm = workload.window + 2 * FILLING
    input_ = strict_input(workload, warm + (turns + 1) * pushes * batch)
    alone = Alone(workload)
    runners: dict[str, Runner] = {"engine": alone} | {reader: Public(workload, reader) for reader in readers}
    if workload.bare is not None:
        runners["bare"] = Bare(input_, max(batch, FILLING))
    for step in steps(input_, 0, warm, FILLING):
        for runner in runners.values():
            runner.step(step)
    spent: dict[str, list[float]] = {name: [] for name in runners}
    came, of_turns = 0, steps(input_, warm, len(input_.rows[0]), batch)
    for turn in range(turns + 1):  # the first one is for what must grow
        work = list(islice(of_turns, pushes))
        for name, runner in runners.items():
            taken = _nanoseconds(runner, work)
            spent[name] += [taken] if turn else []
        came += sum(step.rows for step in work) if turn else 0
        alone.changes = alone.changes if turn else 0
    changes = alone.changes / came
    return [
        Measured(workload.name, len(workload.sql), batch, reader, spent[reader], spent["engine"], spent.get("bare", []), changes)
        for reader in readers
    ]


def _nanoseconds(runner: Runner, work: Sequence[Step]) -> float:
    started = time.process_time()
    for step in work:
        runner.step(step)
    return 1e9 * (time.process_time() - started) / sum(step.rows for step in work)


def strict_input(workload: Workload, rows: int) -> Input:
    """Rows as the engine's benchmark has them, no two of a stream at one instant: so a step may end after any of them."""
    query = workload.bare or Query(workload.name, "", bare_two.bare_join, workload.streams, workload.keys)
    input_ = make_input(replace(query, keys=workload.keys), workload.window, rows)
    for lines in input_.rows:
        lines[:, 0] += np.arange(len(lines))
    return input_


def steps(input_: Input, first: int, last: int, batch: int) -> Iterator[Step]:
    """So many rows of every stream at a time."""
    for start in range(first, last, batch):
        lanes = [lines[start : min(start + batch, last)] for lines in input_.rows]
        yield Step(lanes, [_arrow(lines) for lines in lanes])


def _arrow(lines: Int64s) -> pa.RecordBatch:
    ts, k, v = (pa.array(np.ascontiguousarray(lines[:, lane])) for lane in range(3))
    return pa.RecordBatch.from_arrays([ts.view(pa.timestamp("us")), k, v], names=["ts", "k", "v"])
