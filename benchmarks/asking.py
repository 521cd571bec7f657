"""Questions while rows flow in: what a look-up takes, in the process and over the wire, and how many a core answers in a second.

    1,000 rows ─▶ 50 questions ─▶ 1,000 rows ─▶ …        100,000 rows and 5,000 questions make a second of the stream

The first question after rows came pays for what is not final yet, and for what an index takes in; all others do not. What a core
answers in a second is counted from CPU time: what is left of the second when its 100 pushes are done, by the mean of all
questions. Over the wire client and server share the core.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass

import numpy as np
import pyarrow as pa

import sash
from benchmarks.report import Options, Report
from sash.database.database import Database
from sash.errors import SashError

KEYS = 100_000
RATE = 100_000  # rows a second, by their timestamps
PUSHED = 1_000  # rows at once
ASKED = 50  # questions after each push
ROUNDS, QUICK_ROUNDS = 200, 40
SECONDS = 5  # of the stream before it is measured; the window is as long
STREAM = "CREATE STREAM s (ts TIMESTAMP, k BIGINT, v DOUBLE) TIMESTAMP BY ts;"
VIEW = f"CREATE MATERIALIZED VIEW totals AS SELECT k, COUNT(*) AS n, SUM(v) AS v FROM s [RANGE {SECONDS} SECONDS] GROUP BY k;"
WINDOW = f"s [RANGE {SECONDS} SECONDS]"

Ask = Callable[[int], object]


@dataclass(frozen=True)
class Subject:
    """What is kept, and a question with a place for a key, or none."""

    name: str
    kept: str
    question: str
    is_on_the_wire: bool = False


SUBJECTS = (
    Subject("a row of a view by its key", VIEW, "SELECT n, v FROM totals WHERE k = ?"),
    Subject("the same over the wire", VIEW, "SELECT n, v FROM totals WHERE k = %s", is_on_the_wire=True),
    Subject("rows of a window, USING HASH", f"CREATE INDEX i ON {WINDOW} (k);", f"SELECT ts, v FROM {WINDOW} WHERE k = ?"),
    Subject(
        "the first 10 of a window, USING TREE", f"CREATE INDEX i ON {WINDOW} (v) USING TREE;",
        f"SELECT k, v FROM {WINDOW} ORDER BY v DESC LIMIT 10",
    ),
    Subject(
        "a median of a window, USING GROUP(100)", f"CREATE INDEX i ON {WINDOW} (v) USING GROUP(100);",
        f"SELECT APPROXIMATE MEDIAN(v) FROM {WINDOW}",
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Measured:
    """Seconds: of the clock for the middle question, and of the processor for others."""

    wall_middle: float
    middle: float
    first: float  # after a push, in the middle
    mean: float
    push: float

    @property
    def a_second(self) -> float:
        return max(0.0, 1 - RATE / PUSHED * self.push) / self.mean


class Flow:
    """Rows of one stream after the other, at a steady rate."""

    def __init__(self, db: Database) -> None:
        self._db, self._came, self._chance = db, 0, np.random.default_rng(17)

    def push(self, rows: int) -> None:
        ts = (self._came + np.arange(rows)) * (1_000_000 // RATE)
        self._came += rows
        keys, values = self._chance.integers(0, KEYS, rows), self._chance.random(rows)
        self._db.push("s", pa.table({"ts": pa.array(ts, pa.timestamp("us")), "k": keys, "v": values}))


def run(options: Options) -> list[Report]:
    rounds = options.repeat or (QUICK_ROUNDS if options.quick else ROUNDS)
    measured = []
    for subject in SUBJECTS:
        options.say(subject.name)
        measured.append((subject.name, measure(subject, rounds)))
    lines = [[name, f"{one.a_second:,.0f}", *(f"{1e3 * took:.2f}" for took in asdict(one).values())] for name, one in measured]
    title = f"Questions while {RATE:,} rows a second flow in, {ASKED} after every {PUSHED:,} rows, {rounds} rounds"
    columns = ("question", "a second on one core", "p50 ms, clock", "p50 ms, CPU", "first after rows, ms", "mean ms", "push ms")
    numbers = [{"question": name, "a_second": one.a_second, **asdict(one)} for name, one in measured]
    return [Report(title, columns, lines, numbers)]


def measure(subject: Subject, rounds: int) -> Measured:
    with ExitStack() as stack:
        db = stack.enter_context(sash.connect())
        db.execute(STREAM + subject.kept)
        flow, chance, ask = Flow(db), random.Random(17), asking(subject, db, stack)
        for _ in range(2 * SECONDS):
            flow.push(RATE)
        for _ in range(100):
            ask(chance.randrange(KEYS))
        pushes, clocks, cpu = [], [], []
        for _ in range(rounds):
            started = time.process_time()
            flow.push(PUSHED)
            pushes.append(time.process_time() - started)
            for _ in range(ASKED):
                key, started, clock = chance.randrange(KEYS), time.process_time(), time.perf_counter()
                ask(key)
                clocks.append(time.perf_counter() - clock)
                cpu.append(time.process_time() - started)
    middle = statistics.median
    return Measured(middle(clocks), middle(cpu), middle(cpu[::ASKED]), statistics.mean(cpu), middle(pushes))


def asking(subject: Subject, db: Database, stack: ExitStack) -> Ask:
    if subject.is_on_the_wire:
        return over_the_wire(subject.question, db, stack)
    if "?" not in subject.question:
        return lambda key: db.query(subject.question)
    return db.prepare(subject.question).query


def over_the_wire(question: str, db: Database, stack: ExitStack) -> Ask:
    try:
        import psycopg
    except ImportError:
        raise SashError("psycopg asks over the wire, and is not installed", "pip install 'psycopg[binary]'") from None
    door = db.serve(0)
    stack.callback(door.close)
    client = stack.enter_context(psycopg.connect(f"host=127.0.0.1 port={door.port} dbname=sash user=sash", autocommit=True))
    return lambda key: client.execute(question, (key,)).fetchall()
